"""Gemini CLI chat recordings: one JSON document, or from 0.40 on a log of upserts, patches and rewinds.

A step is one message of type `gemini` (`model` in old files); it holds its calls and their results. In the log a
message is written again, whole, whenever it grows: its first place and its last content count. `{"$set": {"messages"}}`
is the model's new context (a compression, masked results), `{"$rewindTo": id}` drops that message and all after it,
`{"$set": {"sessionId"}}` is a resume.
"""

from collections.abc import Iterator

from refold.events._blocks import Block, Reasoning, Text, ToolUse
from refold.events._errors import FormatError
from refold.events._events import ToolResult, Usage
from refold.events.formats._falls import falls
from refold.events.formats._fields import Object, arguments, millis, obj, objects, part_of, text, tokens, usage
from refold.events.formats._gemini_parts import Response, block, parts_of, responses, retold
from refold.events.formats._journal import Journal
from refold.events.formats._lines import glance, records
from refold.events.formats._source import Format, Session, Source

MODEL = ("gemini", "model")
# What the harness tells the model in the user's place.
CONTEXT = ("<session_context>", "<hook_context>", "<state_snapshot>", "This is the Gemini CLI.")


def detect(source: Source) -> bool:
    first = next(glance(source, 1), None)
    if first is None and source.start.startswith(b"{"):
        try:
            first = obj(source.document())
        except FormatError:
            return False
    return first is not None and _is_header(first)


def _is_header(record: Object) -> bool:
    if not isinstance(record.get("sessionId"), str) or "uuid" in record:
        return False
    return isinstance(record.get("projectHash"), str) or any(m.get("type") in MODEL for m in _messages(record))


def _messages(record: Object) -> list[Object]:
    return objects(record.get("messages"))


def read(source: Source) -> tuple[Session, ...]:
    """The one session of a recording. Raises FormatError where there is no header, or no message after it."""
    if next(glance(source, 1), None) is None:
        found, damage = [obj(source.document())], list[str]()
    else:
        lines, damage = records(source)
        found = [record for _, record in lines]
    if not found or not _is_header(found[0]):
        raise FormatError(f"{source.name}: no Gemini CLI recording: it does not start with sessionId and projectHash")
    reader = _Reader()
    for complaint in damage:
        reader.journal.damaged(complaint)
    for change in _changes(found):
        reader.change(change)
    if not reader.journal.events and not reader.journal.nodes:
        raise FormatError(f"{source.name}: a Gemini CLI recording without a message")
    if found[0].get("kind") == "subagent":
        reader.journal.note("a sub-agent's recording: it does not name the session that started it")
    reader.journal.end_turn()
    for fall in falls(reader.journal.events):
        reader.journal.note(fall)
    return (reader.journal.session(text(found[0].get("sessionId"))),)


def _changes(found: list[Object]) -> list[Object]:
    """The records in the order of what they tell, each message once: where it first stood, as it was last written."""
    changes: list[Object] = []
    places: dict[str, int] = {}
    for record in found:
        if isinstance(record.get("id"), str) and "type" in record:
            if record["id"] in places:
                changes[places[record["id"]]] = record
                continue
            places[record["id"]] = len(changes)
        elif "messages" in record:
            changes += _messages(record)
            continue
        elif "$rewindTo" in record or "messages" in obj(record.get("$set")):
            places = {}
        changes.append(record)
    return changes


class _Reader:
    def __init__(self) -> None:
        self.journal = Journal()
        self.told: dict[str, Object] = {}
        self.order: list[str] = []  # the ids of the recording's messages, those that no model sees among them
        self.answered: set[str] = set()
        self.clock = 0

    def change(self, record: Object) -> None:
        update = obj(record.get("$set"))
        if isinstance(record.get("$rewindTo"), str):
            self._rewind(record["$rewindTo"])
        elif "messages" in update:
            self._context(_messages(update))
        elif "sessionId" in update:
            self.journal.end_seed(self.clock, inherited=False)
        elif "type" in record:
            self._message(record)

    def _message(self, record: Object) -> None:
        key = text(record.get("id"))
        if key and key in self.told:
            self._grown(record, key)
            return
        self.told[key] = record
        self.order.append(key)
        match record.get("type"):
            case "user":
                self._user(record, key)
            case "gemini" | "model":
                self._answer(record, key)
            case "info" | "warning" | "error":
                pass
            case kind:
                self.journal.note(f"messages of type {kind!r}, unknown to this reader, are left out")
        self.clock = millis(record.get("timestamp")) or self.clock

    def _grown(self, record: Object, key: str) -> None:
        """Written again after a new context: only its results can be news."""
        for time, response in _results(record):
            if response.call_id not in self.answered:
                self._result(time, response, key)
        self.told[key] = record

    def _user(self, record: Object, key: str) -> None:
        time, parts = millis(record.get("timestamp")), parts_of(record.get("content", record.get("parts")))
        for response in responses(parts):
            # A recording made from the history tells results twice: with their call, and as a message of their own.
            if response.call_id not in self.answered:
                self._result(time, response, key)
        content = tuple(block(part) for part in parts if "functionResponse" not in obj(part))
        if not content:
            return
        start = content[0].text.lstrip() if isinstance(content[0], Text) else ""
        if start.startswith(CONTEXT):
            self.journal.user(time, content, "context", key)
        else:
            self.journal.prompt(time, content, key)

    def _answer(self, record: Object, key: str) -> None:
        time = millis(record.get("timestamp"))
        content = tuple(block(part) for part in parts_of(record.get("content", record.get("parts"))))
        if not any(isinstance(part, Reasoning) for part in content):
            content = (*_thoughts(record), *content)
        named = {part.id for part in content if isinstance(part, ToolUse)}
        calls = tuple(
            ToolUse(text(call.get("id")), text(call.get("name")), arguments(call.get("args")))
            for call in _calls(record)
            if text(call.get("id")) not in named
        )
        self.journal.request(self.clock or time)
        content = (*content, *calls)
        self.journal.answer(time, content, usage=_usage(record), model=text(record.get("model")), key=key)
        self.journal.calls(time, content)
        for at, response in _results(record):
            self._result(at, response, key)

    def _result(self, time: int, response: Response, key: str) -> None:
        if response.call_id:
            self.answered.add(response.call_id)
        self.journal.result(time, response.call_id, response.content, is_error=response.is_error, key=key)

    def _rewind(self, key: str) -> None:
        if key not in self.told:
            self.journal.note("a rewind names a message that is not in the recording")
            return
        journal, gone = self.journal, {key: None}
        while (dropped := self.order.pop()) != key:
            gone[dropped] = None
        for dropped in gone:
            self.told.pop(dropped, None)
        journal.end_turn()
        journal.settle()
        left = set(filter(journal.holds, gone))
        keep = at = len(journal.nodes)
        while at and (left or journal.nodes[at - 1].key in gone):  # from the end: no more than what is dropped
            at -= 1
            if journal.nodes[at].key in gone:
                left.discard(str(journal.nodes[at].key))
                keep = at
        if keep < len(journal.nodes):
            journal.rewind(self.clock, keep)

    def _context(self, messages: list[Object]) -> None:
        """The model's context is this list now. What both ends share stays; what stands between is replaced."""
        journal = self.journal
        journal.end_step()
        journal.settle()
        new = {text(record.get("id")): record for record in messages if _is_seen(record)}
        old = list(dict.fromkeys(str(node.key) for node in journal.nodes))
        keys = list(new)
        head = _shared(old, keys)
        tail = _shared(old[head:][::-1], keys[head:][::-1])
        dropped, added = set(old[head : len(old) - tail]), keys[head : len(keys) - tail]
        self._masked([key for key in old if key not in dropped], new)
        if dropped:
            places = [at for at, node in enumerate(journal.nodes) if node.key in dropped]
            content = tuple(part for key in added for part in retold(new[key].get("content")))
            if content or tail:
                journal.replace(self.clock, places[0], places[-1], content, "compact", added[0] if added else None)
            else:
                journal.rewind(self.clock, places[0])
        elif added and tail:
            journal.note("messages put in before others are left out")
        else:
            for key in added:
                self._appended(new[key], key)
        self.told |= new
        self.order = [text(record.get("id")) for record in messages]
        placed = set(self.order)
        self.told = {key: record for key, record in self.told.items() if key in placed}

    def _appended(self, record: Object, key: str) -> None:
        if record.get("type") == "user" or record.get("tokens"):
            self._message(record)
        else:
            self.journal.user(millis(record.get("timestamp")), retold(record.get("content")), "model", key)

    def _masked(self, kept: list[str], new: dict[str, Object]) -> None:
        """Results whose content the new context tells otherwise."""
        fresh = {
            (key, response.call_id): response.content
            for key in kept
            if key in new and _calls(new[key]) != _calls(self.told.get(key, {}))
            for _, response in _results(new[key])
        }
        for at, node in enumerate(self.journal.nodes):
            if isinstance(node.event, ToolResult):
                content = fresh.get((str(node.key), node.event.call_id), node.event.content)
                if content != node.event.content:
                    self.journal.clear(self.clock, at, content, node.key)


def _shared(mine: list[str], theirs: list[str]) -> int:
    """How many entries two lists share at their start."""
    count = 0
    for one, other in zip(mine, theirs, strict=False):
        if one != other:
            break
        count += 1
    return count


def _is_seen(record: Object) -> bool:
    """Does it stand in the model's context as a message of its own, not as the results of the one before?"""
    if record.get("type") in MODEL:
        return True
    return record.get("type") == "user" and any(
        "functionResponse" not in obj(part) for part in parts_of(record.get("content"))
    )


def _calls(record: Object) -> list[Object]:
    return objects(record.get("toolCalls"))


def _thoughts(record: Object) -> Iterator[Block]:
    for thought in objects(record.get("thoughts")):
        yield Reasoning("\n".join(filter(None, (text(thought.get("subject")), text(thought.get("description"))))))


def _results(record: Object) -> Iterator[tuple[int, Response]]:
    """The results of a message's calls; `resultDisplay` is for people and is not told to the model."""
    for call in _calls(record):
        parts = parts_of(call.get("result"))
        if not parts:
            continue
        told = responses(parts)
        content = [part for response in told for part in response.content]
        content += (block(part) for part in parts if "functionResponse" not in obj(part))
        failed = call.get("status") in ("error", "cancelled") or any(response.is_error for response in told)
        yield millis(call.get("timestamp")), Response(text(call.get("id")), tuple(content), failed)


def _usage(record: Object) -> Usage | None:
    """`input` holds the cached tokens, `output` leaves the thoughts out: total = input + output + thoughts."""
    report = obj(record.get("tokens"))
    prompt = tokens(report.get("input")) + tokens(report.get("tool"))
    cached = part_of(prompt, report.get("cached"))
    return usage(max(0, prompt - cached), tokens(report.get("output")) + tokens(report.get("thoughts")), cached)


FORMAT = Format(
    "gemini_cli",
    "Gemini CLI chat recording",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
