"""pi's session files (badlogic/pi-mono, also openclaw and kimchi): one record a line, v3 a tree of them.

Rules: pi's own `buildSessionContext` and `transformMessages`. A step is one assistant line. An aborted or failed
answer is no part of any later prompt, so it is taken off the surface again. After a compaction the context is the
summary and the entries from the first kept one on, which stand before its line.
"""

from typing import Any

import msgspec

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
    reader = _Reader(header, source.name)
    for problem in damage:
        reader.journal.damaged(problem)
    for index, (_, entry) in enumerate(found[1:], 1):
        reader.entry(index, entry)
    reader.finish()
    return (reader.journal.session(text(header.get("id")) or source.name),)


class _Place(msgspec.Struct):
    """Where an entry stands in the tree: its parent, the nearest message above it, and the last compaction on the path
    to it, itself counted; how deep, and how many messages are sent up to it."""

    parent: str
    above: str
    compaction: str
    depth: int
    size: int = 0


class _Reader:
    def __init__(self, header: Object, name: str) -> None:
        self.header = header
        self.journal = Journal(name)
        self.order: list[str] = []
        self.tree = {ROOT: _Place(ROOT, ROOT, ROOT, 0)}
        self.summaries: dict[str, str] = {}  # the key of each compaction: the key of the first entry it kept
        self.seen: dict[str, Node] = {}
        self.in_order = True  # no result has come while a message before it still waits
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
        newest = self.journal.newest
        self.seen.update((key, node) for node in newest if node.key == key)
        self.in_order &= len(newest) < 2 or newest[0].key != key
        if key not in self.summaries:
            place = self.tree[key]
            place.size = self.tree[place.parent].size + (key in self.seen)

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
        elif not isinstance(parent, str) or parent not in self.tree:
            self.journal.note("an entry names an unknown parent; it is read as following the line before")
            parent = self.leaf
        if key in self.tree:
            self.journal.note("two entries have the same id; the second is known by its place")
            key = f"{key}#{index}"
        compaction = key if entry.get("type") == "compaction" else self.tree[parent].compaction
        self.tree[key] = _Place(parent, self._told(parent), compaction, self.tree[parent].depth + 1)
        self.order.append(key)
        if parent != self.leaf:
            self._turn_to(parent, time)
        self.leaf = key
        return key

    def _told(self, key: str) -> str:
        """This entry, or the nearest one above it, that is a message."""
        return key if key == ROOT or key in self.seen else self.tree[key].above

    def _turn_to(self, leaf: str, time: int) -> None:
        """Bring the surface to what is sent at a leaf: drop what is behind the common beginning, restore the rest."""
        journal = self.journal
        journal.settle()
        keep, back = self._nearby(leaf) or self._compared(leaf)
        journal.end_turn(time)
        journal.rewind(time, keep)
        journal.restore(time, [self.seen[key] for key in back])

    def _nearby(self, leaf: str) -> tuple[int, list[str]] | None:
        """How many messages stay and which come back, found by what changes alone; None where that does not tell.

        It does not behind another compaction, or where the surface has another order than the tree.
        """
        start = self.tree[leaf].compaction
        if start != self.tree[self.leaf].compaction or not self.in_order:
            return None
        back: list[str] = []
        at = self._told(leaf)
        while at != start and not self.journal.holds(at):
            back.append(at)
            at = self.tree[at].above
        return self.tree[at].size, back[::-1]

    def _compared(self, leaf: str) -> tuple[int, list[str]]:
        """The same by comparing all that is sent at the leaf (what `buildSessionContext` collects) with the surface."""
        start = self.tree[leaf].compaction
        wanted: list[str] = []
        at = self._told(leaf)
        while at != start:
            wanted.append(at)
            at = self.tree[at].above
        wanted += () if start == ROOT else (*reversed(self._kept(start)), start)
        wanted.reverse()
        now = self.journal.upcoming
        keep = 0
        while keep < min(len(now), len(wanted)) and now[keep].key == wanted[keep]:
            keep += 1
        return keep, wanted[keep:]

    def _kept(self, compaction: str) -> list[str]:
        """The messages before a compaction that it kept, in order."""
        first = self.summaries[compaction]
        if first not in self.tree or first == ROOT:
            return []
        kept: list[str] = []
        at = compaction
        while self.tree[at].depth > self.tree[first].depth:
            at = self.tree[at].parent
            if at in self.seen and at not in self.summaries:
                kept.append(at)
        return kept[::-1] if at == first else []

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
        self.journal.settle()
        tail = self._kept(key)
        self.tree[key].size = 1 + len(tail)
        now = [node.key for node in self.journal.upcoming]
        dropped = len(now) - len(tail)
        summary = blocks(entry.get("summary"))
        if 0 < dropped <= len(self.journal.nodes) and now[dropped:] == tail:
            self.journal.end_step(time)
            self.journal.replace(time, 0, dropped - 1, summary, "compaction", key)
            self.seen[key] = self.journal.nodes[0]
            return
        self.journal.end_turn(time)
        self.journal.rewind(time, 0)
        self.journal.user(time, summary, "compaction", key)
        self.seen.update((key, node) for node in self.journal.newest if node.key == key)
        self.journal.restore(time, [self.seen[known] for known in tail])


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
