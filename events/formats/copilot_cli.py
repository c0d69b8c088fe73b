"""Copilot CLI session events: `{"type", "data", "id", "timestamp", "parentId"}`, one JSON object a line.

A step is one assistant.message (chunks of one API call are one). The log tells output tokens alone, so no usage is
read. Events that name a `parentToolCallId` are a sub-agent's. A compaction runs beside the work: what was said after
its start stands behind the summary. A truncation drops the oldest messages. Rules: the event schema of GitHub's
copilot-sdk.
"""

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events._errors import FormatError
from refold.events._events import AssistantMessage, ToolResult
from refold.events.formats._fields import Object, arguments, compact, millis, number, obj, objects, result_blocks, text
from refold.events.formats._journal import Journal
from refold.events.formats._lines import glance, records
from refold.events.formats._source import Format, Session, Source

MAIN = ""
FAMILIES = frozenset(
    {
        *("abort", "assistant", "command", "elicitation", "external_tool", "hook", "mcp", "model", "permission"),
        *("session", "skill", "subagent", "system", "tool", "user", "user_input"),
    }
)


def detect(source: Source) -> bool:
    return any(_tells(record) for record in glance(source))


def _tells(record: Object) -> bool:
    kinds = ("session.start", "session.resume", "user.message", "assistant.message", "assistant.turn_start")
    return record.get("type") in kinds and isinstance(record.get("data"), dict) and "parentId" in record


def read(source: Source) -> tuple[Session, ...]:
    """The main session, then its sub-agents. Raises FormatError where no message is told."""
    found, damage = records(source)
    threads: dict[str, list[Object]] = {MAIN: []}
    session_id = ""
    for _, record in found:
        data = obj(record.get("data"))
        session_id = session_id or text(data.get("sessionId"))
        side = text(data.get("parentToolCallId")) or text(record.get("agentId"))
        threads.setdefault(side, []).append(record)
    session_id = session_id or source.name
    sessions: list[Session] = []
    for side, events in threads.items():
        reader = _Reader(events)
        for complaint in damage if not sessions else ():
            reader.journal.damaged(complaint)
        reader.read()
        if reader.journal.events:
            sessions.append(reader.journal.session(side or session_id, session_id if side else None))
    if not sessions:
        raise FormatError(f"{source.name}: no Copilot CLI session: it holds no message of a user or a model")
    return tuple(sessions)


class _Reader:
    """One thread, in file order."""

    def __init__(self, events: list[Object]) -> None:
        self.events = events
        self.journal = Journal()
        self.parents = {text(event.get("id")): text(event.get("parentId")) for event in events}
        self.calls: set[str] = set()
        self.model = ""
        self.thought: Object = {}
        self.compacting: int | None = None  # the seq of the last node that a running compaction reads
        self.asked = False
        self.clock = 0

    def read(self) -> None:
        answers: dict[str, list[Object]] = {}
        for place, event in enumerate(self.events):
            if event.get("type") == "assistant.message":
                answers.setdefault(_call(place, event), []).append(event)
        for place, event in enumerate(self.events):
            data, time = obj(event.get("data")), millis(event.get("timestamp"))
            if event.get("type") == "assistant.message":
                if _call(place, event) in answers:
                    self._answer(answers.pop(_call(place, event)), time)
            else:
                self._event(text(event.get("type")), data, time, text(event.get("id")))
            self.clock = time or self.clock
        self.journal.end_turn()

    def _event(self, kind: str, data: Object, time: int, key: str) -> None:
        journal = self.journal
        match kind:
            case "session.start" | "session.resume":
                self.model = text(data.get("selectedModel")) or self.model
                if self.asked:
                    journal.end_seed(time, inherited=False)
                    self.asked = False
            case "session.model_change":
                self.model = text(data.get("newModel")) or self.model
            case "system.message" if data.get("role") == "developer":
                journal.developer(time, _said(data.get("content")), key)
            case "system.message":
                journal.header(system=text(data.get("content")))
            case "system.notification":
                journal.user(time, _said(data.get("content")), "notification", key)
            case "user.message":
                self._user(data, time, key)
            case "assistant.reasoning":
                self.thought = data
            case "tool.execution_start":
                if text(data.get("toolCallId")) not in self.calls:
                    journal.note("a tool that no answer asked for was run")
            case "tool.execution_complete":
                self._result(data, time, key)
            case "abort":
                journal.end_turn(time, "aborted")
            case "session.compaction_start":
                self.compacting = self._spoken()
            case "session.compaction_complete" if data.get("success") is True:
                self._compact(text(data.get("summaryContent")), time, key)
            case "session.truncation":
                self._truncate(number(data.get("messagesRemovedDuringTruncation")), time, key)
            case "session.snapshot_rewind":
                self._rewind(text(data.get("upToEventId")), time)
            case _ if kind.split(".")[0] not in FAMILIES:
                journal.note(f"events of type {kind!r}, unknown to this reader, are left out")

    def _user(self, data: Object, time: int, key: str) -> None:
        content = (
            *_said(data.get("transformedContent") or data.get("content")),
            *(Opaque(compact(attachment)) for attachment in objects(data.get("attachments"))),
        )
        source = text(data.get("source"))
        if not content:
            return
        if source in ("", "user"):
            self.journal.prompt(time, content, key)
        else:
            self.journal.user(time, content, source, key)

    def _answer(self, chunks: list[Object], time: int) -> None:
        self.asked = True
        model, thought = self.model, self.thought
        self.thought = {}
        content: list[Block] = []
        for chunk in chunks:
            data = obj(chunk.get("data"))
            model = text(data.get("model")) or model
            reasoning = text(data.get("reasoningText")) or text(thought.get("content"))
            proof = text(data.get("reasoningOpaque")) or text(data.get("encryptedContent"))
            if reasoning or proof:
                content.append(Reasoning(reasoning, proof))
            content += _said(data.get("content"))
            content += (
                ToolUse(text(call.get("toolCallId")), text(call.get("name")), arguments(call.get("arguments")))
                for call in objects(data.get("toolRequests"))
            )
            thought = {}
        self.calls |= {part.id for part in content if isinstance(part, ToolUse)}
        self.journal.request(self.clock or time)
        at = millis(chunks[-1].get("timestamp"))
        self.journal.answer(at, tuple(content), model=model, key=text(chunks[0].get("id")))
        self.journal.calls(at, tuple(content))

    def _result(self, data: Object, time: int, key: str) -> None:
        told = obj(data.get("result"))
        content = result_blocks(told.get("content"))
        content += tuple(Opaque(compact(part)) for part in objects(told.get("contents")) if part.get("type") != "text")
        if not told:
            content = _said(obj(data.get("error")).get("message"))
        failed = data.get("success") is False
        self.journal.result(time, text(data.get("toolCallId")), content, is_error=failed, key=key)

    def _spoken(self) -> int | None:
        """The seq of the last node before the open step: a call and its results are not torn apart."""
        self.journal.settle()
        nodes = self.journal.nodes
        if self.journal.in_step:
            opened = next(at for at in range(len(nodes) - 1, -1, -1) if isinstance(nodes[at].event, AssistantMessage))
            nodes = nodes[:opened]
        return nodes[-1].event.seq if nodes else None

    def _compact(self, summary: str, time: int, key: str) -> None:
        if self.compacting is None:
            self.compacting = self._spoken()
        self.journal.settle()
        seqs = [node.event.seq for node in self.journal.nodes]
        if not summary:
            self.journal.note("a compaction left no summary")
        if self.compacting in seqs:
            self.journal.replace(time, 0, seqs.index(self.compacting), _said(summary), "compact", key)
        elif summary:
            self.journal.user(time, _said(summary), "compact", key)
        self.compacting = None

    def _truncate(self, count: int, time: int, key: str) -> None:
        """The log tells how many messages went, not which: the oldest are taken, and the results of a call with it."""
        if not count:
            self.journal.note("a truncation tells no number of messages: they stay on the surface")
            return
        self.journal.settle()
        nodes = self.journal.nodes
        count = min(count, len(nodes))
        while count < len(nodes) and isinstance(nodes[count].event, ToolResult):
            count += 1
        if count:
            self.journal.note("a truncation does not tell which messages it dropped: the oldest were taken")
            self.journal.replace(time, 0, count - 1, (), "truncation", key)

    def _rewind(self, event: str, time: int) -> None:
        self.journal.end_turn()
        self.journal.settle()
        places = {node.key: at for at, node in enumerate(self.journal.nodes, 1)}
        seen = set()
        while event and event not in places and event not in seen:
            seen.add(event)
            event = self.parents.get(event, "")
        self.journal.rewind(time, places.get(event, 0))


def _call(place: int, event: Object) -> str:
    """What the chunks of one API call have in common; a message that is whole is a call of its own."""
    data = obj(event.get("data"))
    shared = text(data.get("apiCallId")) or text(data.get("messageId"))
    return f"call {shared}" if shared and number(data.get("chunkCount")) > 1 else f"event {place}"


def _said(content: object) -> tuple[Block, ...]:
    return (Text(content),) if isinstance(content, str) and content else ()


FORMAT = Format(
    "copilot_cli",
    "Copilot CLI session events",
    frozenset({"reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
