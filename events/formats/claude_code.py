"""Claude Code transcripts: one JSON line a content block, and much beside them that no model sees.

A step is one `message.id`, however many lines it is spread over and whatever stands between them; its usage is
repeated on each line and counted once, from the last. The file is only ever appended to: a compaction, a
micro-compaction and a rewind leave the old lines where they are, so each becomes the reset that it was. A sub-agent
is a session of its own, whether it has its own lines (`isSidechain`) or travels inside `progress` lines.
"""

from collections import Counter, defaultdict

from refold.events._blocks import Block, Opaque, Text
from refold.events._errors import FormatError
from refold.events._events import Overflow, ToolResult
from refold.events.formats._claude_parts import (
    Answer,
    answer_of,
    content_of,
    digest,
    is_made_up,
    message_blocks,
)
from refold.events.formats._claude_threads import MAIN, Threads
from refold.events.formats._falls import falls
from refold.events.formats._fields import Object, array, compact, millis, obj, objects, result_blocks, text
from refold.events.formats._journal import Journal
from refold.events.formats._lines import Records, glance
from refold.events.formats._source import Format, Session, Source

# Claude Code's words for a result without its content. What it really sent is not in the transcript.
CLEARED = (Text("[Old tool result content cleared]"),)
INTERRUPTED = "[Request interrupted by user"
TASK_NOTIFICATION = "<task-notification>"
LOCAL_OUTPUT = ("<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>")
TOO_LONG = "prompt is too long"

# Records that only Claude Code itself reads.
LOCAL_RECORDS = frozenset(
    {
        *("agent-name", "ai-title", "atis-latch", "bridge-session", "custom-title", "file-history-snapshot"),
        *("frame-link", "last-prompt", "mode", "permission-mode", "pr-link", "progress", "queue-operation"),
        *("relocated", "result", "started", "summary", "worktree-state"),
    }
)
# Attachments that Claude Code keeps from the model.
LOCAL_ATTACHMENTS = frozenset(
    {
        *("already_read_file", "command_permissions", "dynamic_skill", "edited_image_file", "hook_cancelled"),
        *("hook_error_during_execution", "hook_non_blocking_error", "hook_permission_decision"),
        *("hook_system_message", "structured_output"),
    }
)


def detect(source: Source) -> bool:
    return any(_tells(line) for line in glance(source))


def _tells(line: Object) -> bool:
    if "sessionId" not in line or "systemPayload" in line:
        return False
    kind = line.get("type")
    if kind in ("user", "assistant"):
        message = obj(line.get("message"))
        return "content" in message and "parts" not in message
    return kind in ("progress", "system", "attachment") and "isSidechain" in line and "parentUuid" in line


def read(source: Source) -> tuple[Session, ...]:
    """The main session, then its sub-agents. A file may start in mid-session. Raises FormatError where none is told.

    The lines are read twice: what a line means can depend on those behind it.
    """
    lines = Records(source)
    readers: dict[str, _Reader] = defaultdict(_Reader)
    threads = Threads()
    told = False
    for _, line in lines:
        for thread, record in threads.whose(line):
            readers[thread].expect(record)
            told = told or "content" in obj(record.get("message"))
    again = Threads()
    for _, line in lines:
        for thread, record in again.whose(line):
            readers[thread].line(record)
    sessions = _sessions(readers, threads, source.name, lines.damage)
    if not sessions or not told:
        raise FormatError(f"{source.name}: no Claude Code transcript: it holds no message of a user or a model")
    return sessions


def _sessions(readers: dict[str, "_Reader"], threads: Threads, name: str, damage: list[str]) -> tuple[Session, ...]:
    parent = threads.session_id or threads.child_session_id
    found: list[Session] = []
    for thread in sorted(readers, key=lambda thread: thread != MAIN):
        reader = readers[thread]
        for complaint in damage if not found else ():
            reader.journal.damaged(complaint)
        reader.finish()
        if not reader.journal.events:
            continue
        if thread == MAIN:
            found.append(reader.journal.session(threads.session_id or name))
        elif parent in (thread, f"agent-{thread}"):
            reader.journal.note("a sub-agent's file: it does not name the session that started it")
            found.append(reader.journal.session(thread))
        else:
            found.append(reader.journal.session(thread, parent or name))
    return tuple(found)


class _Reader:
    """One thread, in file order: first all of it is expected, then all of it told."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.parents: dict[str, str] = {}
        self.known: Counter[str] = Counter()
        self.keys: dict[str, str] = {}  # the uuid of an answer's line: the answer
        self.told: set[str] = set()  # answers that are written
        self.answers: dict[str, Answer] = defaultdict(Answer)
        self.repeats: set[int] = set()  # a resumed process writes the last record again
        self.summaries: dict[int, Object] = {}  # the place of a compaction's boundary: its summary line
        self.summary_places: set[int] = set()
        self.prompted: set[str] = set()
        self.version = ""
        self.asked = False  # a model call since the start, or since the last resume
        self.clock = 0
        self._expected = self._place = 0
        self._contents: dict[str, bytes] = {}
        self._boundary: int | None = None

    def expect(self, line: Object) -> None:
        place, uuid = self._expected, text(line.get("uuid"))
        self._expected += 1
        self.parents[uuid] = text(line.get("parentUuid"))
        self.known[uuid] += 1
        if line.get("type") in ("user", "assistant") and uuid:
            said = digest(content_of(line))
            if self._contents.get(uuid) == said:
                self.repeats.add(place)
                return
            self._contents[uuid] = said
        if line.get("type") == "assistant":
            self._boundary = None
            if not is_made_up(line):
                self.answers[answer_of(line)].add(line)
        elif line.get("subtype") == "compact_boundary":
            self._boundary = place
        elif line.get("isCompactSummary") is True and self._boundary is not None:
            self.summaries[self._boundary] = line
            self.summary_places.add(place)
            self._boundary = None

    def line(self, line: Object) -> None:
        self._line(self._place, line)
        self._place += 1
        self.clock = millis(line.get("timestamp")) or self.clock

    def finish(self) -> None:
        self.journal.end_turn()
        for fall in falls(self.journal.events):
            self.journal.note(fall)
        started = sum(not answer.stopped for answer in self.answers.values())
        if started:
            self.journal.note(
                f"output_tokens of {started} of {len(self.answers)} calls may be those of the stream's first event: "
                "no stop reason was logged"
            )

    def _line(self, place: int, line: Object) -> None:
        match line.get("type"):
            case "user" | "assistant" if place in self.repeats:
                self._resumed(line)
                self.journal.note("a record that stands in the file twice was taken once")
            case "user":
                self._resumed(line)
                self._user(place, line)
            case "assistant":
                self._resumed(line)
                self._assistant(line)
            case "attachment":
                self._attachment(line)
            case "system":
                self._system(place, line)
            case "progress" if obj(line.get("data")).get("hookName") == "SessionStart:resume":
                self._end_seed()
            case str(kind) if kind in LOCAL_RECORDS:
                pass
            case kind:
                self.journal.note(f"records of type {kind!r}, unknown to this reader, are left out")

    def _resumed(self, line: Object) -> None:
        """Another version in the same file is another process: the session was resumed."""
        version = text(line.get("version"))
        if version and self.version and version != self.version:
            self._end_seed()
        self.version = version or self.version

    def _end_seed(self) -> None:
        if self.asked:
            self.journal.end_seed(self.clock, inherited=False)
            self.asked = False

    def _user(self, place: int, line: Object) -> None:
        content = obj(line.get("message")).get("content")
        if not isinstance(content, str | list):
            self.journal.damaged("a user record without message content is left out")
            return
        if line.get("isCompactSummary") is True:
            if place not in self.summary_places:
                self._compact({}, line)
            return
        if line.get("isVisibleInTranscriptOnly") is True:
            return
        time, key = millis(line.get("timestamp")), text(line.get("uuid"))
        results = [part for part in objects(content) if part.get("type") == "tool_result"]
        for part in results:
            self.journal.result(
                time,
                text(part.get("tool_use_id")),
                result_blocks(part.get("content")),
                is_error=part.get("is_error") is True,
                key=key,
            )
        rest = message_blocks(content)
        if results:
            rest = message_blocks([part for part in array(content) if not any(part is result for result in results)])
        if rest:
            self._said(line, time, rest, key, beside_results=bool(results))

    def _said(self, line: Object, time: int, content: tuple[Block, ...], key: str, *, beside_results: bool) -> None:
        start = content[0].text.lstrip() if isinstance(content[0], Text) else ""
        journal = self.journal
        if beside_results:
            journal.user(time, content, "tool", key)
        elif line.get("isMeta") is True:
            journal.user(time, content, "meta", key)
        elif start.startswith(LOCAL_OUTPUT):
            journal.user(time, content, "local-command", key)
        elif start.startswith(INTERRUPTED):
            journal.end_turn(time, "aborted")
            journal.user(time, content, "interruption", key)
        elif start.startswith(TASK_NOTIFICATION):
            journal.user(time, content, "task-notification", key)
        else:
            self._branched(line, time)
            journal.prompt(time, content, key)

    def _branched(self, line: Object, time: int) -> None:
        """Two prompts under one record: the person went back to it. (Every other fork is a parallel call.)"""
        parent = text(line.get("parentUuid"))
        if parent in self.prompted and self.known[parent] == 1:
            keep = self._height(parent)
            if keep is None:
                self.journal.note("a prompt branches off at a record that is not on the surface")
            elif keep < self.journal.size:
                self.journal.end_turn()
                self.journal.rewind(time, keep)
        if parent:
            self.prompted.add(parent)

    def _height(self, uuid: str) -> int | None:
        """How many nodes stand up to and with the record, or with the nearest one before it that has a node."""
        seen = set()
        while uuid and uuid not in seen:
            seen.add(uuid)
            key = self.keys.get(uuid, uuid)
            if self.journal.holds(key):
                return self.journal.behind(key)
            uuid = self.parents.get(uuid, "")
        return None

    def _assistant(self, line: Object) -> None:
        if is_made_up(line):
            self._made_up(line)
            return
        answer, uuid = answer_of(line), text(line.get("uuid"))
        self.keys[uuid] = answer
        if answer in self.told:
            return
        self.told.add(answer)
        self.asked = True
        found = self.answers[answer]
        self.journal.request(self.clock or millis(line.get("timestamp")))
        self.journal.answer(
            found.time,
            tuple(block for _, block in found.parts),
            usage=found.usage,
            interrupted=found.interrupted,
            model=text(obj(line.get("message")).get("model")),
            key=answer,
        )
        for time, block in found.parts:
            self.journal.calls(time, (block,))
        found.parts.clear()

    def _made_up(self, line: Object) -> None:
        self.journal.note("answers that Claude Code wrote itself (model <synthetic>, API errors) are left out")
        said = " ".join(block.text for block in message_blocks(content_of(line)) if isinstance(block, Text))
        if line.get("isApiErrorMessage") is True and TOO_LONG in said.casefold():
            time = millis(line.get("timestamp"))
            self.journal.request(self.clock or time)
            self.journal.add(Overflow, time, turn=self.journal.turn, step=self.journal.step)
            self.journal.end_step(time)

    def _attachment(self, line: Object) -> None:
        attachment = obj(line.get("attachment"))
        kind = text(attachment.get("type"))
        time, key = millis(line.get("timestamp")), text(line.get("uuid"))
        if kind == "queued_command":
            self.journal.user(time, message_blocks(attachment.get("prompt")), "user", key)
        elif kind not in LOCAL_ATTACHMENTS and not (kind == "hook_success" and not attachment.get("content")):
            self.journal.user(time, (Opaque(compact(attachment)),), f"attachment/{kind}", key)

    def _system(self, place: int, line: Object) -> None:
        time = millis(line.get("timestamp"))
        match line.get("subtype"):
            case "compact_boundary":
                self._compact(line, self.summaries.get(place))
            case "microcompact_boundary":
                self._micro_compact(obj(line.get("microcompactMetadata")), time)
            case "turn_duration":
                self.journal.end_turn(time)
        if line.get("retractedMessageUuids"):
            self.journal.note("messages that a refusal retracted stay on the surface")

    def _compact(self, boundary: Object, summary: Object | None) -> None:
        """The summary takes the place of everything, or of what stands before the segment that the boundary keeps."""
        journal = self.journal
        journal.end_step()
        journal.settle()
        time = millis((summary or boundary).get("timestamp"))
        gone = len(journal.nodes)
        segment = obj(obj(boundary.get("compactMetadata")).get("preservedSegment"))
        if segment:
            head, tail = self._height(text(segment.get("headUuid"))), self._height(text(segment.get("tailUuid")))
            if head is None or tail is None:
                journal.note("a compaction kept messages that are not in the file")
            elif head <= tail:
                journal.rewind(time, tail)
                gone = head - 1
        if summary is None:
            journal.note("a compaction left no summary")
            content: tuple[Block, ...] = ()
        else:
            content = message_blocks(content_of(summary))
        key = text((summary or boundary).get("uuid"))
        if not content and gone == len(journal.nodes):
            journal.rewind(time, 0)
        elif gone:
            journal.replace(time, 0, gone - 1, content, "compact", key)
        elif content:
            journal.user(time, content, "compact", key)
            journal.settle()

    def _micro_compact(self, report: Object, time: int) -> None:
        """The results it names are sent without their content from here on; without names it changed nothing."""
        named = {text(call_id) for call_id in array(report.get("compactedToolIds"))}
        if not named:
            return
        self.journal.end_step()
        self.journal.settle()
        for at, node in enumerate(self.journal.nodes):
            if isinstance(node.event, ToolResult) and node.event.call_id in named:
                named.discard(node.event.call_id)
                self.journal.clear(time, at, CLEARED, node.key)
        if named:
            self.journal.note(f"a micro-compaction names {len(named)} results that are not on the surface")
        if report.get("clearedAttachmentUUIDs"):
            self.journal.note("attachments that a micro-compaction cleared stay on the surface")


FORMAT = Format(
    "claude_code",
    "Claude Code transcript",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
