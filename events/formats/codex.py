"""OpenAI Codex CLI rollouts: `{"timestamp", "type", "payload"}`, one JSON object a line.

`response_item` is what went to the model or came from it, `event_msg` is a copy for people. No record says where a
model call begins, so several signs are taken together: a new usage report, a turn_context, an input after an output.
Usage stands before the items it belongs to (0.57 to 0.58) or after them (before and since), and is repeated; a call
takes the first report that is new. `compacted` holds the whole new context. Rules: Codex's rollout reconstruction.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from refold.events._blocks import Block, Text
from refold.events._errors import FormatError
from refold.events._events import Overflow, SurfaceEvent, Usage, UserMessage
from refold.events.formats._codex_parts import answered, failed, output_of, parts, retold, usage_of
from refold.events.formats._falls import falls
from refold.events.formats._fields import Object, array, compact, millis, number, obj, objects, text
from refold.events.formats._journal import Journal
from refold.events.formats._lines import Records, glance
from refold.events.formats._source import Format, Session, Source

KINDS = ("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state")
ITEMS = ("function_call", "function_call_output", "local_shell_call", "custom_tool_call")
LOCAL = ("world_state", "inter_agent_communication_metadata")
# What the harness tells the model in the user's place.
CONTEXT = (
    *("# AGENTS.md instructions", "<environment_context>", "<user_instructions>", "<permissions instructions>"),
    *("<turn_aborted>", "<skill>", "<subagent_notification>", "<user_shell_command>"),
)
OVERFLOW = "context_window_exceeded"


def detect(source: Source) -> bool:
    return any(_is_record(record) for record in glance(source))


def _is_record(record: Object) -> bool:
    return record.get("type") in KINDS and isinstance(record.get("payload"), dict)


def _is_rollout(record: Object) -> bool:
    """Is it a record, or an item as the oldest rollouts have it, without one around it?"""
    spoken = record.get("type") == "message" and isinstance(record.get("content", record.get("message")), str | list)
    return _is_record(record) or spoken or record.get("type") in ITEMS


def read(source: Source) -> tuple[Session, ...]:
    """The one session of a rollout. Raises FormatError where no message is told."""
    rollout = Records(source)
    if not any(_is_rollout(record) for _, record in rollout):
        raise FormatError(f"{source.name}: no Codex rollout: no line is a record or an item of one")
    resumes = _resumes(_Line.of(record) for _, record in rollout)
    reader = _Reader()
    for place, (_, record) in enumerate(rollout):
        reader.line(_Line.of(record), resumed=place in resumes)
    for complaint in rollout.damage:
        reader.journal.damaged(complaint)
    reader.finish()
    if not reader.journal.events:
        raise FormatError(f"{source.name}: no Codex rollout: it holds no message of a user or a model")
    return (reader.journal.session(reader.id or source.name, reader.parent),)


class _Line(msgspec.Struct, frozen=True):
    """A record; the oldest rollouts, and some of the newest, write an item without the payload around it."""

    kind: str
    body: Object
    type: str
    time: int

    @classmethod
    def of(cls, record: Object) -> "_Line":
        time = millis(record.get("timestamp", record.get("created_at")))
        if "payload" in record:
            body = obj(record["payload"])
            return cls(text(record.get("type")), body, text(body.get("type")), time)
        return cls("response_item", record, text(record.get("type")) or ("message" if "role" in record else ""), time)


class _Call(msgspec.Struct):
    """A model call whose items are still coming. `early`: its usage stood before them. `heard`: a result came since."""

    start: int
    usage: Usage | None
    early: bool
    time: int = 0
    content: list[Block] = []
    results: list[tuple[int, str, tuple[Block, ...], bool]] = []
    heard: bool = False


class _Reader:
    def __init__(self) -> None:
        self.journal = Journal()
        self.id = ""
        self.parent: str | None = None
        self.model = ""
        self.call: _Call | None = None
        self.ahead: Usage | None = None  # a report that waits for its items
        self.fresh = True  # a request was prepared since the last item
        self.total: Object = {}
        self.bare = 0  # so many messages at the surface's beginning are known to hold no prompt
        self.clock = 0

    def line(self, line: _Line, *, resumed: bool) -> None:
        if resumed:
            self._close()
            self.journal.end_seed(self.clock, inherited=False)
        self._line(line)
        self.clock = line.time or self.clock

    def finish(self) -> None:
        self._close()
        self._unspoken()
        self.journal.end_turn()
        for fall in falls(self.journal.events):
            self.journal.note(fall)

    def _line(self, line: _Line) -> None:
        match line.kind:
            case "session_meta":
                self._meta(line.body)
            case "turn_context":
                self.model = text(line.body.get("model")) or self.model
                self.fresh = True
            case "response_item":
                self._item(line)
            case "event_msg":
                self._event(line)
            case "compacted":
                self._compact(line)
            case kind if kind not in LOCAL:
                self.journal.note(f"records of type {kind!r}, unknown to this reader, are left out")

    def _meta(self, meta: Object) -> None:
        session = text(meta.get("id")) or text(meta.get("session_id"))
        if self.id:
            if session != self.id:
                self.journal.note("the header of another session stands inside: where its history ends is not told")
            return
        self.id = session
        spawned = obj(obj(obj(meta.get("source")).get("subagent")).get("thread_spawn"))
        self.parent = text(meta.get("parent_thread_id")) or text(spawned.get("parent_thread_id")) or None
        system = text(obj(meta.get("base_instructions")).get("text"))
        tools = array(meta.get("dynamic_tools"))
        if system or tools:
            self.journal.header(system=system or None, tools=compact(tools) if tools else "")
        self.journal.context(provider=text(meta.get("model_provider")))

    def _event(self, line: _Line) -> None:
        body = line.body
        window = number(body.get("model_context_window")) or number(obj(body.get("info")).get("model_context_window"))
        if window:
            self.journal.context(context_window=window)
        match line.type:
            case "token_count":
                self._usage(obj(body.get("info")), line.time)
            case "task_complete" | "turn_complete":
                self._close()
                self.journal.end_turn(line.time)
            case "turn_aborted":
                self._close()
                self.journal.end_turn(line.time, "aborted")
            case "thread_rolled_back":
                self._roll_back(number(body.get("num_turns")), line.time)
            case "error" if body.get("codex_error_info") == OVERFLOW:
                self._close()
                self.journal.request(self.clock or line.time)
                self.journal.add(Overflow, line.time, turn=self.journal.turn, step=self.journal.step)
                self.journal.end_step(line.time)

    def _usage(self, info: Object, time: int) -> None:
        total, found = obj(info.get("total_token_usage")), usage_of(obj(info.get("last_token_usage")))
        if found is None or total == self.total:
            return
        self.total = total
        if self.call is not None and self.call.usage is None and not self.fresh:
            self.call.usage = found
        else:
            self._unspoken()
            self.ahead = found

    def _unspoken(self) -> None:
        """A call was paid for whose items are not in the log: its answer is empty."""
        if self.ahead is None:
            return
        found, self.ahead = self.ahead, None
        self._close()
        self.journal.request(self.clock)
        self.journal.answer(self.clock, (), usage=found, model=self.model)
        self.journal.note("a call has usage and no items")

    def _item(self, line: _Line) -> None:
        body = line.body
        match line.type:
            case "message" if body.get("role") == "assistant":
                self._say(line, parts(body.get("content", body.get("message"))))
            case "message":
                self._told(line, text(body.get("role")), parts(body.get("content", body.get("message"))))
            case "agent_message":
                self._close()
                self.journal.user(line.time, parts(body.get("content")), "agent")
            case "ghost_snapshot" | "":
                pass
            case str(kind) if kind.endswith(("_output", "_result")):
                self._result(line)
            case _:
                self._say(line, (answered(line.type, body),))

    def _told(self, line: _Line, role: str, content: tuple[Block, ...]) -> None:
        self._close()
        self.fresh = True
        if not content:
            return
        start = content[0].text.lstrip() if isinstance(content[0], Text) else ""
        if role != "user":
            self.journal.developer(line.time, content)
        elif start.startswith(CONTEXT):
            self.journal.user(line.time, content, "context")
        else:
            self.journal.prompt(line.time, content)

    def _say(self, line: _Line, content: tuple[Block, ...]) -> None:
        """An item of the model's. It begins a call, unless the open one can still be speaking."""
        call = self.call
        if call is None or self.ahead or self.fresh or (call.heard and not call.early):
            self._close()
            call = self.call = _Call(self.clock or line.time, self.ahead, self.ahead is not None)
            self.ahead, self.fresh = None, False
        call.time = line.time
        call.content += content

    def _result(self, line: _Line) -> None:
        body = line.body
        told = body.get("output", body.get("result", body.get("tools")))
        result = (line.time, text(body.get("call_id")), output_of(told), failed(told))
        if self.call is None:
            self._write(result)
        else:
            self.call.results.append(result)
            self.call.heard = True

    def _write(self, result: tuple[int, str, tuple[Block, ...], bool]) -> None:
        time, call_id, content, failed = result
        self.journal.result(time, call_id, content, is_error=failed)

    def _close(self) -> None:
        """Write the open call down: all it said, then its tools, then their results."""
        call, self.call = self.call, None
        if call is None:
            return
        self.journal.context(model=self.model)
        self.journal.request(call.start)
        self.journal.answer(call.time, tuple(call.content), usage=call.usage, model=self.model)
        self.journal.calls(call.time, tuple(call.content))
        for result in call.results:
            self._write(result)

    def _compact(self, line: _Line) -> None:
        self._close()
        self.fresh = True
        if self.ahead is not None:
            self.ahead = None
            self.journal.note("the usage of a compaction's own call is left out")
        journal, history = self.journal, line.body.get("replacement_history")
        self.bare = 0
        journal.end_step()
        journal.settle()
        if isinstance(history, list):
            content = tuple(part for item in objects(history) for part in retold(item))
        else:
            content = parts(line.body.get("message"))
            journal.note("a compaction does not tell the new context: its summary alone was taken")
        if journal.nodes and content:
            journal.replace(line.time, 0, len(journal.nodes) - 1, content, "compact")
        elif content:
            journal.user(line.time, content, "compact")
        else:
            journal.rewind(line.time, 0)

    def _roll_back(self, turns: int, time: int) -> None:
        self._close()
        self.journal.end_turn()
        self.journal.settle()
        nodes, left = self.journal.nodes, turns
        keep = at = len(nodes)
        while left and at > self.bare:  # from the end: it costs no more than what is rolled back
            at -= 1
            if _is_prompt(nodes[at].event):
                keep, left = at, left - 1
        if left:
            self.bare = keep
            self.journal.note("a rollback goes back further than the surface does")
        if keep < len(nodes):
            self.journal.rewind(time, keep)


def _is_prompt(event: SurfaceEvent) -> bool:
    return isinstance(event, UserMessage) and event.source == "user" and event.replaces is None


def _resumes(lines: Iterable[_Line]) -> set[int]:
    """Where a rollout was taken up again: its header repeats, or the sum of the usage starts anew."""
    found: set[int] = set()
    first: Any = None
    since: int | None = None  # the first record after the last report that can begin a request
    known = False
    before = 0
    for place, line in enumerate(lines):
        if line.kind == "session_meta":
            if known and line.body.get("id") == first:
                found.add(place)
            elif not known:
                known, first = True, line.body.get("id")
        total = number(obj(obj(line.body.get("info")).get("total_token_usage")).get("total_tokens"))
        if line.type == "token_count" and total:
            if total < before:
                found.add(place if since is None else since)
            since, before = None, total
        elif since is None and (
            line.kind == "turn_context"
            or line.type in ("token_count", "user_message")
            or (line.type == "message" and line.body.get("role") == "user")
        ):
            since = place
    return found


FORMAT = Format(
    "codex",
    "Codex CLI rollout",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
