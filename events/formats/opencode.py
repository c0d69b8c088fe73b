"""OpenCode: one export (`{info, messages: [{info, parts}]}`), or its storage directory packed by `pack_tree`.

A directory is one document of path to record (`session/...`, `message/<session>/...`, `part/<message>/...`) and may
hold several sessions, sub-agents among them (`parentID`). Rules: OpenCode's own `toModelMessages` and
`filterCompacted`. A step is one assistant message, or where a message holds several, what
stands between a step-finish and the next step-start. A tool part is the call and its result in one.
"""

from heapq import heappop, heappush
from types import MappingProxyType
from typing import Any

import msgspec

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events._errors import FormatError
from refold.events._events import Usage
from refold.events.formats._falls import falls
from refold.events.formats._fields import Object, arguments, array, compact, number, obj, objects, text, tokens, usage
from refold.events.formats._journal import Journal
from refold.events.formats._source import Format, Session, Source
from refold.events.formats._tree import natural

CLEARED = (Text("[Old tool result content cleared]"),)
SPOKEN = MappingProxyType(
    {"compaction": "What did we do so far?", "subtask": "The following tool was executed by the user"}
)


class Record(msgspec.Struct):
    """A session or a message, and what hangs below it: messages, or parts."""

    info: Object
    below: list[Any]


def detect(source: Source) -> bool:
    if not source.start.startswith(b"{"):
        return False
    try:
        document = source.document()
    except FormatError:
        return False
    return _is_export(document) or _is_storage(document)


def _is_export(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    info, messages = obj(document.get("info")), document.get("messages")
    if not isinstance(messages, list) or not isinstance(info.get("id"), str):
        return False
    return "directory" in info or any("parts" in message and "info" in message for message in objects(messages)[:1])


def _is_storage(document: Any) -> bool:
    return isinstance(document, dict) and any(
        path.startswith("session/") and isinstance(record, dict) and "projectID" in record
        for path, record in document.items()
    )


def read(source: Source) -> tuple[Session, ...]:
    """Every session of the document, those without a parent first. Raises FormatError where there is none."""
    document = source.document()
    if _is_export(document):
        sessions = [Record(document["info"], [_from_export(each) for each in array(document["messages"])])]
        damage: list[str] = []
    elif _is_storage(document):
        sessions, damage = _from_storage(document)
    else:
        raise FormatError(
            f"{source.name}: no OpenCode session: neither an export (info and messages) nor a storage directory "
            "as one object of path to record, with a session/ record in it"
        )
    sessions.sort(key=lambda each: (bool(each.info.get("parentID")), _created(each.info), text(each.info.get("id"))))
    return tuple(_Reader(each, damage, source.name).read(source.name) for each in sessions)


def _from_export(message: Any) -> Record | None:
    if not isinstance(message, dict) or not isinstance(message.get("info"), dict):
        return None
    return Record(message["info"], array(message.get("parts")))


def _from_storage(document: Object) -> tuple[list[Record], list[str]]:
    """Sessions with their messages in time's order; legacy parts say only by their path which message is theirs."""
    sessions, messages = {}, {}
    damage = [f"{path} is no JSON object; it is left out" for path, record in document.items() if _broken(path, record)]
    records = [(path, document[path]) for path in sorted(document, key=natural) if isinstance(document[path], dict)]
    for path, record in records:
        if path.startswith("session/"):
            sessions[text(record.get("id"))] = Record(record, [])
    for path, record in records:
        if path.startswith("message/"):
            message = messages[text(record.get("id"))] = Record(record, [])
            owner = sessions.get(text(record.get("sessionID"))) or sessions.get(_folder(path))
            if owner is None:
                damage.append(f"{path} belongs to no session here; it is left out")
            else:
                owner.below.append(message)
    for path, record in records:
        if path.startswith("part/"):
            owner = messages.get(text(record.get("messageID"))) or messages.get(_folder(path))
            if owner is None:
                damage.append(f"{path} belongs to no message here; it is left out")
            else:
                owner.below.append(record)
    for session in sessions.values():
        session.below.sort(key=lambda each: (_created(each.info), text(each.info.get("id"))))
    return list(sessions.values()), damage


def _broken(path: str, record: Any) -> bool:
    return path.startswith(("session/", "message/", "part/")) and not isinstance(record, dict)


def _folder(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]


def _created(info: Object) -> int:
    return number(obj(info.get("time")).get("created"))


class _Reader:
    def __init__(self, session: Record, damage: list[str], name: str) -> None:
        self.record = session
        self.journal = Journal(name)
        self.messages: dict[str, Record] = {}
        self.first: dict[str, int] = {}  # of each message id: where it stands, or if it is there twice,
        self.last: dict[str, int] = {}  # where it does first and last
        for at, message in enumerate(session.below):
            if isinstance(message, Record):
                named = text(message.info.get("id"))
                self.messages.setdefault(named, message)
                self.first.setdefault(named, at)
                self.last[named] = at
        self.pruned: list[tuple[int, str]] = []  # a heap: when, and the key of the result that was cleared then
        for problem in damage:
            self.journal.damaged(problem)

    def read(self, name: str) -> Session:
        info = self.record.info
        for message in self.record.below:
            if not isinstance(message, Record):
                self.journal.damaged("a message is no object with an info; it is left out")
                continue
            self._prune(_created(message.info))
            match message.info.get("role"):
                case "user":
                    self._user(message)
                case "assistant":
                    self._assistant(message)
                case other:
                    self.journal.note(f"a message of unknown role {compact(other)}")
        self._prune(2**53)
        self._revert(obj(info.get("revert")))
        for fall in falls(self.journal.events):
            self.journal.note(fall)
        return self.journal.session(text(info.get("id")) or name, text(info.get("parentID")) or None)

    def _user(self, message: Record) -> None:
        content: list[Block] = []
        asked = False
        for part in objects(message.below):
            match part.get("type"):
                case "text" if part.get("ignored") is not True:
                    content.append(Text(text(part.get("text"))))
                    asked |= part.get("synthetic") is not True
                case "file" if part.get("mime") not in ("text/plain", "application/x-directory"):
                    content.append(Opaque(compact(part)))
                    asked = True
                case "compaction" | "subtask" as kind:
                    content.append(Text(SPOKEN[kind]))
                    asked |= kind == "subtask"
        key, time = text(message.info.get("id")), _created(message.info)
        if not content:
            self.journal.other(time, "message without parts")
        elif asked:
            self.journal.prompt(time, tuple(content), key)
        else:
            compacts = any(part.get("type") == "compaction" for part in objects(message.below))
            self.journal.user(time, tuple(content), "compaction" if compacts else "opencode", key)

    def _assistant(self, message: Record) -> None:
        info, journal = message.info, self.journal
        system = [part for part in array(info.get("system")) if isinstance(part, str)]
        if system:
            journal.header(system="\n".join(system))
        journal.context(provider=_asked_for(info, "providerID"), model=_asked_for(info, "modelID"))
        before, key = journal.size, text(info.get("id"))
        steps = _steps(objects(message.below))
        for parts in steps:
            self._step(info, parts, key, alone=len(steps) == 1)
        if _is_left_out(message):
            journal.rewind(journal.time, before)
        elif info.get("summary") is True and info.get("finish"):
            self._compaction(text(info.get("parentID")), key)
        if obj(info.get("error")):
            journal.outcome = "aborted" if info["error"].get("name") == "MessageAbortedError" else "error"

    def _step(self, info: Object, parts: list[Object], key: str, *, alone: bool) -> None:
        journal, times = self.journal, obj(info.get("time"))
        content = _answer_blocks(parts)
        finish = next((part for part in reversed(parts) if part.get("type") == "step-finish"), {})
        spent = _usage(finish.get("tokens")) or (_usage(info.get("tokens")) if alone else None)
        journal.request(_created(info))
        done = number(times.get("completed"))
        journal.answer(
            _answered(parts) or done or _created(info),
            content,
            usage=spent,
            interrupted=bool(obj(info.get("error"))),
            model=_asked_for(info, "modelID"),
            key=key,
        )
        tools = [part for part in parts if part.get("type") == "tool"]
        for part in tools:
            start = number(obj(obj(part.get("state")).get("time")).get("start"))
            name, state = text(part.get("tool")), obj(part.get("state"))
            journal.call(start, text(part.get("callID")), name, _input(state))
        for part in tools:
            self._result(part, f"{key}/{text(part.get('id'))}")
        journal.end_step(done)

    def _result(self, part: Object, key: str) -> None:
        state, call_id = obj(part.get("state")), text(part.get("callID"))
        times = obj(state.get("time"))
        end = number(times.get("end"))
        match state.get("status"):
            case "completed":
                files = tuple(Opaque(compact(each)) for each in array(state.get("attachments")))
                self.journal.result(end, call_id, (Text(text(state.get("output"))), *files), key=key)
                if number(times.get("compacted")):
                    heappush(self.pruned, (number(times["compacted"]), key))
            case "error":
                told = obj(state.get("metadata"))
                kept = told.get("output") if told.get("interrupted") is True else None
                shown = kept if isinstance(kept, str) else text(state.get("error"))
                self.journal.result(end, call_id, (Text(shown),), is_error=True, key=key)

    def _prune(self, now: int) -> None:
        """Results that OpenCode's pruning had cleared by then are sent as a placeholder from then on."""
        if not self.pruned or self.pruned[0][0] > now:
            return
        self.journal.settle()
        places = {node.key: at for at, node in reversed([*enumerate(self.journal.nodes)])}
        while self.pruned and self.pruned[0][0] <= now:
            time, key = heappop(self.pruned)
            if key in places:
                self.journal.clear(time, places[key], CLEARED, key)

    def _compaction(self, asked: str, summary: str) -> None:
        """A finished summary: what stood before its request goes, but for a tail, which then follows the summary."""
        journal = self.journal
        if not journal.holds(asked) or not journal.holds(summary):
            journal.note("a compaction's request is not on the surface; nothing is dropped")
            return
        keys = [node.key for node in journal.nodes]
        at = keys.index(asked)
        part = next((each for each in self._parts_of(asked) if each.get("type") == "compaction"), {})
        tail_id = text(part.get("tail_start_id"))
        start = self._message_start(tail_id, keys[:at]) if tail_id else at
        tail, answer = journal.nodes[start:at], journal.nodes[keys.index(summary)]
        request = journal.nodes[at].event.content
        journal.end_step()
        if not tail:
            journal.replace(journal.time, 0, at, request, "compaction", asked)
            return
        journal.rewind(journal.time, start)
        if start:
            journal.replace(journal.time, 0, start - 1, request, "compaction", asked)
        else:
            journal.user(journal.time, request, "compaction", asked)
        journal.restore(journal.time, [answer, *tail])

    def _parts_of(self, message_id: str) -> list[Object]:
        found = self.messages.get(message_id)
        return objects(found.below) if found else []

    def _message_start(self, message_id: str, keys: list[Any]) -> int:
        """Where the first node of this message or of a later one stands."""
        start = self.first.get(message_id, len(self.record.below))
        places = (self.last.get(str(key).partition("/")[0], -1) for key in keys)
        return next((at for at, place in enumerate(places) if place >= start), len(keys))

    def _revert(self, revert: Object) -> None:
        """The session stands reverted to a message: it and what follows are not sent again."""
        message_id = text(revert.get("messageID"))
        if message_id:
            self.journal.settle()
            keys = [node.key for node in self.journal.nodes]
            self.journal.end_turn()
            self.journal.rewind(self.journal.time, self._message_start(message_id, keys))


def _is_left_out(message: Record) -> bool:
    """A failed message is not sent again, unless it was aborted after it had said or done something."""
    error = obj(message.info.get("error"))
    did = any(part.get("type") not in ("step-start", "reasoning") for part in objects(message.below))
    return bool(error) and not (error.get("name") == "MessageAbortedError" and did)


def _steps(parts: list[Object]) -> list[list[Object]]:
    steps: list[list[Object]] = [[]]
    for part in parts:
        if part.get("type") == "step-start" and any(done.get("type") == "step-finish" for done in steps[-1]):
            steps.append([])
        steps[-1].append(part)
    return steps


def _answer_blocks(parts: list[Object]) -> tuple[Block, ...]:
    content: list[Block] = []
    for part in parts:
        match part.get("type"):
            case "text":
                content.append(Text(text(part.get("text"))))
            case "reasoning":
                content.append(Reasoning(text(part.get("text"))))
            case "tool":
                state = obj(part.get("state"))
                content.append(ToolUse(text(part.get("callID")), text(part.get("tool")), _input(state)))
    return tuple(content)


def _input(state: Object) -> str:
    raw = state.get("raw")
    return raw if isinstance(raw, str) and raw else arguments(state.get("input"))


def _answered(parts: list[Object]) -> int:
    """When the model had said everything: the tools start then at the earliest."""
    tools = [obj(part.get("state")) for part in parts if part.get("type") == "tool"]
    starts = [number(obj(state.get("time")).get("start")) for state in tools]
    return min((start for start in starts if start), default=0)


def _asked_for(info: Object, key: str) -> str:
    return text(info.get(key)) or text(obj(info.get("model")).get(key))


def _usage(told: Any) -> Usage | None:
    """OpenCode counts cached tokens beside input, and reasoning beside output; where `total` says otherwise, within."""
    report, cache = obj(told), obj(obj(told).get("cache"))
    said, thought = tokens(report.get("output")), tokens(report.get("reasoning"))
    found = usage(report.get("input"), said + thought, cache.get("read"), cache.get("write"))
    if found and thought and tokens(report.get("total")) == found.total - thought:
        found = usage(report.get("input"), said, cache.get("read"), cache.get("write"))
    return found


FORMAT = Format(
    "opencode",
    "OpenCode (export, or storage directory)",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
