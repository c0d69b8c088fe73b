"""Qwen Code chat recordings: JSON lines that form a tree by `uuid` and `parentUuid`, messages as Google's contents.

A step is one assistant record (records with one `uuid` are one). A record whose parent is not the record before it
leaves the branch in between: that is how a rewind is written. `system/chat_compression` holds the whole context that
the model saw from then on. Rules: Qwen Code's own session loader (`reconstructHistory`,
`buildApiHistoryFromConversation`) and its usage accounting on resume.
"""

from typing import Any

from refold.events._errors import FormatError
from refold.events._events import Usage
from refold.events.formats._falls import falls
from refold.events.formats._fields import Object, array, millis, number, obj, objects, part_of, text, tokens, usage
from refold.events.formats._gemini_parts import block, parts_of, responses, retold
from refold.events.formats._journal import Journal
from refold.events.formats._lines import glance, records
from refold.events.formats._source import Format, Session, Source

KINDS = ("user", "assistant", "tool_result", "system")
MAIN = ""
# User records that a person wrote while the model worked: they open no turn.
MID_TURN = "mid_turn_user_message"


def detect(source: Source) -> bool:
    return any(_tells(record) for record in glance(source))


def _tells(record: Object) -> bool:
    if record.get("type") not in KINDS or not {"uuid", "parentUuid", "sessionId"} <= record.keys():
        return False
    return "parts" in obj(record.get("message")) or "systemPayload" in record


def read(source: Source) -> tuple[Session, ...]:
    """The main session, then its sub-agents. Raises FormatError where no message is told."""
    found, damage = records(source)
    threads: dict[str, list[Object]] = {}
    for _, record in found:
        side = text(record.get("agentId")) or "sidechain" if record.get("isSidechain") is True else MAIN
        threads.setdefault(side, []).append(record)
    sessions: list[Session] = []
    for side in sorted(threads, key=lambda side: side != MAIN):
        reader = _Reader(threads[side])
        for complaint in damage if not sessions else ():
            reader.journal.damaged(complaint)
        reader.read()
        owner = text(threads[side][0].get("sessionId")) or source.name
        if reader.journal.events:
            sessions.append(reader.journal.session(side or owner, owner if side else reader.parent))
    if not sessions or not any("parts" in obj(record.get("message")) for _, record in found):
        raise FormatError(f"{source.name}: no Qwen Code recording: it holds no message of a user or a model")
    return tuple(sessions)


class _Reader:
    """One thread, in file order."""

    def __init__(self, found: list[Object]) -> None:
        self.records = found
        self.journal = Journal()
        self.nearest = {"": ""}  # of each record so far: it, or the nearest one above it, that is a node; "" for none
        self.told: dict[str, list[Any]] = {}  # the records that are nodes: their parts
        self.results: set[str] = set()
        self.leaf: str | None = None
        self.parent: str | None = None
        self.forked = False
        self.clock = 0

    def read(self) -> None:
        answers: dict[str, list[Object]] = {}
        for record in self.records:
            if record.get("type") == "assistant":
                answers.setdefault(text(record.get("uuid")), []).append(record)
        for record in self.records:
            key, time = text(record.get("uuid")), millis(record.get("timestamp"))
            self._branch(record, key)
            self._fork(record)
            match record.get("type"):
                case "user":
                    self._user(record, key, time)
                case "assistant":
                    if key in answers:
                        self._answer(answers.pop(key), key, time)
                case "tool_result":
                    self._result(record, key, time)
                case "system":
                    self._system(record, key, time)
                case kind:
                    self.journal.note(f"records of type {kind!r}, unknown to this reader, are left out")
            above = self.nearest.get(text(record.get("parentUuid")), "")
            self.nearest[key] = key if key in self.told else above
            self.clock = time or self.clock
        self.journal.end_turn()
        for fall in falls(self.journal.events):
            self.journal.note(fall)

    def _branch(self, record: Object, key: str) -> None:
        parent = text(record.get("parentUuid"))
        if self.leaf not in (None, parent, key):
            here, there = self.nearest.get(text(self.leaf)), self.nearest.get(parent)
            if there is None:
                self.journal.note("a record branches off at one that does not stand before it in the file")
            elif there != here:
                self.journal.end_turn()
                self.journal.settle()
                if there and not self.journal.holds(there):
                    self.journal.note("a record branches off at one that is not on the surface any more")
                else:
                    self.journal.rewind(millis(record.get("timestamp")), self.journal.behind(there) if there else 0)
        self.leaf = key

    def _fork(self, record: Object) -> None:
        """A fork starts with copies of its origin's records."""
        if self.forked and "forkedFrom" not in record:
            self.journal.end_seed(self.clock, inherited=True)
        self.forked = "forkedFrom" in record

    def _user(self, record: Object, key: str, time: int) -> None:
        parts = _parts(record)
        kind = text(record.get("subtype"))
        if not parts:
            self.journal.note("a user record without message parts is left out")
            return
        self.told[key] = parts
        content = tuple(map(block, parts))
        if not kind:
            self.journal.prompt(time, content, key)
        else:
            self.journal.user(time, content, "user" if kind == MID_TURN else kind, key)

    def _answer(self, lines: list[Object], key: str, time: int) -> None:
        parts = [part for line in lines for part in _parts(line)]
        content = tuple(map(block, parts))
        self.told[key] = parts
        model = next((text(line.get("model")) for line in reversed(lines) if line.get("model")), "")
        window = number(lines[-1].get("contextWindowSize"))
        if window:
            self.journal.context(model=model, context_window=window)
        self.journal.request(self.clock or time)
        at = millis(lines[-1].get("timestamp"))
        self.journal.answer(at, content, usage=_usage(lines), model=model, key=key)
        self.journal.calls(at, content)

    def _result(self, record: Object, key: str, time: int) -> None:
        parts = _parts(record)
        beside = tuple(block(part) for part in parts if "functionResponse" not in obj(part))
        failed = obj(record.get("toolCallResult")).get("status") in ("error", "cancelled")
        told = responses(parts)
        self.told[key] = parts
        self.results.add(key)
        for response in told:
            content = (*response.content, *beside) if response is told[-1] else response.content
            self.journal.result(time, response.call_id, content, is_error=failed or response.is_error, key=key)
        if not told:
            self.journal.note("a tool_result record without functionResponse is left out")

    def _system(self, record: Object, key: str, time: int) -> None:
        payload = obj(record.get("systemPayload"))
        match record.get("subtype"):
            case "chat_compression" if isinstance(payload.get("compressedHistory"), list):
                self._compress(objects(payload["compressedHistory"]), key, time)
            case "agent_bootstrap":
                self._bootstrap(payload, key, time)
            case "parent_session":
                self.parent = text(payload.get("parentSessionId")) or None

    def _compress(self, history: list[Object], key: str, time: int) -> None:
        """The context is this list now. Its end that still stands stays; the rest takes the place of what it tells."""
        journal = self.journal
        journal.end_step()
        journal.settle()
        old = list(dict.fromkeys(str(node.key) for node in journal.nodes))
        kept = 0
        while kept < min(len(old), len(history)) and self.told.get(old[~kept]) == array(history[~kept].get("parts")):
            kept += 1
        while kept and old[-kept] in self.results:
            kept -= 1  # a result whose call is summarized belongs to the summary
        content = tuple(part for said in history[: len(history) - kept] for part in retold(said.get("parts")))
        gone = set(old[: len(old) - kept])
        places = [at for at, node in enumerate(journal.nodes) if node.key in gone]
        self.told[key] = []
        if places and (content or kept):
            journal.replace(time, 0, places[-1], content, "compact", key)
        elif places:
            journal.rewind(time, 0)
        elif content:
            journal.user(time, content, "compact", key)
            journal.settle()

    def _bootstrap(self, payload: Object, key: str, time: int) -> None:
        """What a forked sub-agent was given before it ran."""
        instruction = payload.get("systemInstruction")
        if instruction:
            parts = parts_of(obj(instruction).get("parts", instruction))
            self.journal.header(system="\n".join(text(obj(part).get("text", part)) for part in parts))
        for said in objects(payload.get("history")):
            self.journal.user(time, retold(said.get("parts")), "bootstrap", key)
        self.told[key] = []
        self.journal.end_seed(time, inherited=True)


def _parts(record: Object) -> list[Any]:
    return array(obj(record.get("message")).get("parts"))


def _usage(lines: list[Object]) -> Usage | None:
    """`promptTokenCount` holds the cached tokens. The output is what the total has beyond the prompt; without a total
    it is the candidates, with the thoughts where these are more and so cannot be part of them."""
    report = next((found for line in reversed(lines) if (found := obj(line.get("usageMetadata")))), {})
    prompt, total = tokens(report.get("promptTokenCount")), tokens(report.get("totalTokenCount"))
    said, thought = tokens(report.get("candidatesTokenCount")), tokens(report.get("thoughtsTokenCount"))
    cached = part_of(prompt, report.get("cachedContentTokenCount"))
    output = total - prompt if total > prompt else said if said >= thought else said + thought
    return usage(prompt - cached, output, cached)


FORMAT = Format(
    "qwen_code",
    "Qwen Code chat recording",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
