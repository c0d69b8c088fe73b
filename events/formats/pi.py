"""pi's session files (badlogic/pi-mono, also openclaw and kimchi): one record a line, v3 a tree of them.

Rules: pi's own `buildSessionContext` and `transformMessages`. A step is one assistant line. An aborted or failed
answer is no part of any later prompt, so it is taken off the surface again. After a compaction the context is the
summary and the entries from the first kept one on, which stand before its line.
"""

from collections.abc import Hashable
from typing import Any

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events._errors import FormatError
from refold.events.formats._falls import falls
from refold.events.formats._fields import (
    Object,
    arguments,
    blocks,
    compact,
    millis,
    number,
    obj,
    objects,
    result_blocks,
    text,
    usage,
)
from refold.events.formats._journal import Journal, Node
from refold.events.formats._lines import glance, records
from refold.events.formats._source import Format, Session, Source

ROOT = ""  # the parent of the first entry


def detect(source: Source) -> bool:
    header = next(glance(source, 1), {})
    return header.get("type") == "session" and isinstance(header.get("timestamp"), str) and "id" in header


def read(source: Source) -> tuple[Session, ...]:
    """The one session of a file. Raises FormatError where no header stands first."""
    if not detect(source):
        raise FormatError(f"{source.name}: no pi session: the first line is no session header with id and timestamp")
    found, damage = records(source)
    header = found[0][1]
    reader = _Reader(header)
    for problem in damage:
        reader.journal.damaged(problem)
    for index, (_, entry) in enumerate(found[1:], 1):
        reader.entry(index, entry)
    reader.finish()
    return (reader.journal.session(text(header.get("id")) or source.name),)


class _Reader:
    def __init__(self, header: Object) -> None:
        self.header = header
        self.journal = Journal()
        self.parents: dict[str, str] = {}
        self.order: list[str] = []
        self.summaries: dict[str, str] = {}  # the key of each compaction: the key of the first entry it kept
        self.seen: dict[Hashable, Node] = {}
        self.leaf = ROOT
        self.before_header = False

    def entry(self, index: int, entry: Object) -> None:
        """One line after the header, at its place among the lines that can be read, as pi counts them."""
        time = millis(entry.get("timestamp"))
        self._own_history_begins(time)
        key = self._climb(index, entry, time)
        match entry.get("type"):
            case "message":
                self._message(time, obj(entry.get("message")), key)
            case "custom_message":
                content = blocks(entry.get("content"))
                self.journal.user(time, content, text(entry.get("customType")) or "custom", key)
            case "branch_summary":
                self.journal.user(time, blocks(entry.get("summary")), "branch_summary", key)
            case "compaction":
                self._compaction(time, entry, key)
            case "model_change":
                self.journal.context(provider=text(entry.get("provider")), model=text(entry.get("modelId")))
            case "thinking_level_change" | "custom" | "label" | "session_info":
                self.journal.other(time, text(entry["type"]))
            case other:
                self.journal.note(f"a record of unknown type {compact(other)}")

    def finish(self) -> None:
        for fall in falls(self.journal.events):
            self.journal.note(fall)
        if self.before_header:
            self.journal.end_seed(millis(self.header.get("timestamp")), inherited=True)

    def _own_history_begins(self, time: int) -> None:
        """A branched session copies its parent's entries: they are older than its own header."""
        born = millis(self.header.get("timestamp"))
        if 0 < time < born:
            self.before_header = True
        elif self.before_header:
            self.before_header = False
            self.journal.end_seed(born, inherited=True)

    def _climb(self, index: int, entry: Object, time: int) -> str:
        """Name the entry and go to its parent's place in the tree. v1 files are plain lists."""
        key = text(entry.get("id")) or str(index)
        parent = entry.get("parentId", self.leaf) if "id" in entry else self.leaf
        if parent is None or parent == self.header.get("id"):
            parent = ROOT
        elif not isinstance(parent, str) or (parent != ROOT and parent not in self.parents):
            self.journal.note("an entry names an unknown parent; it is read as following the line before")
            parent = self.leaf
        if key in self.parents:
            self.journal.note("two entries have the same id; the second is known by its place")
            key = f"{key}#{index}"
        self.parents[key] = parent
        self.order.append(key)
        if parent != self.leaf:
            self.leaf = parent
            self._show(time, self._context())
        self.leaf = key
        return key

    def _context(self) -> list[Hashable]:
        """The keys of what is sent at the leaf, in order: what `buildSessionContext` would collect."""
        path: list[str] = []
        at = self.leaf
        while at != ROOT:
            path.append(at)
            at = self.parents[at]
        path.reverse()
        last = next((place for place in reversed(range(len(path))) if path[place] in self.summaries), None)
        if last is None:
            return list(path)
        kept = self.summaries[path[last]]
        start = path.index(kept) if kept in path[:last] else last
        rest = path[start:last] + path[last + 1 :]
        return [path[last], *(key for key in rest if key not in self.summaries)]

    def _show(self, time: int, wanted: list[Hashable]) -> None:
        """Bring the surface to the wanted messages: drop what is behind the common beginning, restore the rest."""
        self._remember()
        wanted = [key for key in wanted if key in self.seen]
        now = [node.key for node in self.journal.upcoming]
        keep = 0
        while keep < min(len(now), len(wanted)) and now[keep] == wanted[keep]:
            keep += 1
        self.journal.end_turn(time)
        self.journal.rewind(time, keep)
        self.journal.restore(time, [self.seen[key] for key in wanted[keep:]])

    def _remember(self) -> None:
        self.journal.settle()
        self.seen.update((node.key, node) for node in self.journal.upcoming)

    def _message(self, time: int, message: Object, key: str) -> None:
        at = number(message.get("timestamp")) or time
        match message.get("role"):
            case "user":
                self.journal.prompt(at, blocks(message.get("content")), key)
            case "assistant":
                self._assistant(at, time, message, key)
            case "toolResult":
                content = result_blocks(message.get("content"))
                call_id, failed = text(message.get("toolCallId")), message.get("isError") is True
                self.journal.result(at, call_id, content, is_error=failed, key=key)
            case "bashExecution":
                if message.get("excludeFromContext") is not True:
                    self.journal.user(at, (Text(_bash_text(message)),), "bash", key)
            case "custom" | "hookMessage":
                source = text(message.get("customType")) or "custom"
                self.journal.user(at, blocks(message.get("content")), source, key)
            case other:
                self.journal.note(f"a message of unknown role {compact(other)}")

    def _assistant(self, asked: int, answered: int, message: Object, key: str) -> None:
        journal = self.journal
        failed = message.get("stopReason") in ("aborted", "error")
        model = text(message.get("model"))
        if model:
            journal.context(provider=text(message.get("provider")), model=model)
        content = _answer_blocks(message.get("content"))
        report = obj(message.get("usage"))
        spent = usage(report.get("input"), report.get("output"), report.get("cacheRead"), report.get("cacheWrite"))
        journal.request(asked)
        journal.answer(answered, content, usage=spent, interrupted=failed, model=model, key=key)
        journal.calls(answered, content)
        if failed:
            journal.end_step(answered)
            journal.rewind(answered, len(journal.nodes) - 1)
            journal.outcome = text(message.get("stopReason"))

    def _compaction(self, time: int, entry: Object, key: str) -> None:
        kept = entry.get("firstKeptEntryId")
        if kept is None:
            place = number(entry.get("firstKeptEntryIndex")) - 1  # counted with the header
            kept = self.order[place] if 0 <= place < len(self.order) else ""
        self.summaries[key] = text(kept)
        self._remember()
        wanted = [known for known in self._context() if known == key or known in self.seen]
        now = [node.key for node in self.journal.upcoming]
        dropped = len(now) - (len(wanted) - 1)
        summary = blocks(entry.get("summary"))
        if 0 < dropped <= len(self.journal.nodes) and now[dropped:] == wanted[1:]:
            self.journal.end_step(time)
            self.journal.replace(time, 0, dropped - 1, summary, "compaction", key)
            return
        self.journal.end_turn(time)
        self.journal.rewind(time, 0)
        self.journal.user(time, summary, "compaction", key)
        self.journal.restore(time, [self.seen[known] for known in wanted[1:]])


def _answer_blocks(content: Any) -> tuple[Block, ...]:
    found: list[Block] = []
    for part in objects(content):
        match part.get("type"):
            case "text":
                found.append(Text(text(part.get("text"))))
            case "thinking" if part.get("redacted") is not True:
                found.append(Reasoning(text(part.get("thinking")), text(part.get("thinkingSignature"))))
            case "toolCall":
                found.append(ToolUse(text(part.get("id")), text(part.get("name")), arguments(part.get("arguments"))))
            case _:
                found.append(Opaque(compact(part)))
    return tuple(found)


def _bash_text(message: Object) -> str:
    """A command the user ran himself, in the words pi sends it with."""
    output, code = text(message.get("output")), message.get("exitCode")
    said = f"Ran `{text(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    if message.get("cancelled") is True:
        return said + "\n\n(command cancelled)"
    return said + (f"\n\nCommand exited with code {code}" if isinstance(code, int) and code else "")


FORMAT = Format(
    "pi",
    "pi session (also openclaw, kimchi)",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
