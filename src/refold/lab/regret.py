"""Regret: was what a policy cut needed again? docs/regret.md says what that means.

The session was recorded with everything in the prompt, so this tells what can be seen of a need, not what the model
would have done without.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from refold.events import AssistantMessage, Event, Reasoning, SurfaceEvent, Text, ToolResult, ToolUse
from refold.lab.touches import Touch, arguments_of, same_file, texts, touches

Signal = Literal["rerun", "reread", "write", "strings"]
SIGNALS: tuple[Signal, ...] = ("rerun", "reread", "write", "strings")


class Cut(msgspec.Struct, frozen=True):
    """A result that a policy cut: its event, the first call that was sent it cut, and what its cut removed.

    `freed` is in tokens of the meter; `removed` is the text that no longer stands, `tool` and `arguments` the call's.
    """

    result: int
    call: int
    tool: str
    arguments: str
    removed: str
    freed: int


class Need(msgspec.Struct, frozen=True):
    """An answer that shows that a cut result was needed again: its event, by which sign, and the text that shows it."""

    cut: Cut
    answer: int
    signal: Signal
    shown: str


def needs(events: Sequence[Event], cuts: Iterable[Cut], signals: Sequence[Signal] = SIGNALS) -> tuple[Need, ...]:
    """The cuts that were needed again, each with the first answer that shows it."""
    record = Record(events)
    found = (record.need(cut, signals) for cut in cuts)
    return tuple(need for need in found if need is not None)


class _Asked(msgspec.Struct, frozen=True):
    """A tool call: the answer that made it, and what it was answered."""

    answer: int
    tool: str
    arguments: str
    result: str
    touched: tuple[Touch, ...]


class Record:
    """What a session said, indexed: where each rare word stands, what was called when, which files were touched."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._asked: list[_Asked] = []
        self._again: dict[tuple[str, str], list[_Asked]] = {}
        self._answers: list[tuple[int, str]] = []
        self._said: dict[str, int] = {}
        self._told: dict[str, list[int]] = {}
        results = _answered(events)
        for event in events:
            if not isinstance(event, SurfaceEvent):
                continue
            if isinstance(event, ToolResult):
                for word in rare_words(said(event)):
                    self._told.setdefault(word, []).append(event.seq)
                continue
            text = said(event)
            for word in rare_words(text):
                self._said.setdefault(word, event.seq)
            if isinstance(event, AssistantMessage):
                self._answers.append((event.seq, text))
                self._call(event, results)

    def _call(self, event: AssistantMessage, results: dict[tuple[int, str], str]) -> None:
        for block in event.content:
            if isinstance(block, ToolUse):
                touched = touches(block.name, block.arguments)
                asked = _Asked(event.seq, block.name, block.arguments, results.get((event.seq, block.id), ""), touched)
                self._asked.append(asked)
                self._again.setdefault((block.name, block.arguments), []).append(asked)

    def need(self, cut: Cut, signals: Sequence[Signal] = SIGNALS) -> Need | None:
        """The first answer that shows a need, None for none; of several signs in one answer, the first in order."""
        signs = {"rerun": self._rerun, "reread": self._reread, "write": self._write, "strings": self._strings}
        found = [need for name in signals if (need := signs[name](cut)) is not None]
        return min(found, key=lambda need: (need.answer, SIGNALS.index(need.signal)), default=None)

    def _rerun(self, cut: Cut) -> Need | None:
        """The same call again, answered the same."""
        for asked in self._again.get((cut.tool, cut.arguments), ()):
            if asked.answer > cut.call and cut.removed and cut.removed in asked.result:
                return Need(cut, asked.answer, "rerun", f"{asked.tool} {asked.arguments}"[:200])
        return None

    def _reread(self, cut: Cut) -> Need | None:
        """A read of the same lines of a file that nobody has written since."""
        mine = [touch for touch in touches(cut.tool, cut.arguments) if not touch.writes]
        for asked in self._after(cut.result) if mine else ():
            for touch in asked.touched:
                if touch.writes:
                    mine = [other for other in mine if not same_file(touch.path, other.path)]
                elif asked.answer > cut.call and any(touch.covers(other) for other in mine):
                    return Need(cut, asked.answer, "reread", f"{asked.tool} {asked.arguments}"[:200])
        return None

    def _write(self, cut: Cut) -> Need | None:
        """A write to the file that was read, quoting a line of what was removed and of nothing newer."""
        mine = [touch for touch in touches(cut.tool, cut.arguments) if not touch.writes]
        for asked in self._after(cut.call) if mine else ():
            if any(touch.writes and same_file(touch.path, other.path) for touch in asked.touched for other in mine):
                quoted = self._quoted(cut, asked)
                if quoted:
                    return Need(cut, asked.answer, "write", quoted[:200])
        return None

    def _quoted(self, cut: Cut, asked: _Asked) -> str:
        stands = [text for seq, text in self._answers if seq < asked.answer]
        stands += [other.result for other in self._asked if cut.result < other.answer < asked.answer]
        for text in texts(arguments_of(asked.arguments)):
            for line in text.splitlines():
                line = line.removeprefix("-").strip()
                if len(line) >= QUOTE and line in cut.removed and not any(line in other for other in stands):
                    return line
        return ""

    def _strings(self, cut: Cut) -> Need | None:
        """Rare strings of the removed part that come back, having stood nowhere else in between."""
        back: dict[int, list[str]] = {}
        for word in rare_words(cut.removed):
            answer = self._said.get(word, -1)
            if answer > cut.call and not self._stood(word, cut.result, answer):
                back.setdefault(answer, []).append(word)
        for answer in sorted(back):
            if len(back[answer]) >= STRINGS:
                return Need(cut, answer, "strings", " ".join(sorted(back[answer]))[:200])
        return None

    def _stood(self, word: str, after: int, before: int) -> bool:
        places = self._told.get(word, [])
        at = bisect_right(places, after)
        return at < len(places) and places[at] < before

    def _after(self, seq: int) -> Iterator[_Asked]:
        return (asked for asked in self._asked if asked.answer > seq)


QUOTE = 12  # code points of a line that an edit must share with what was removed
STRINGS = 2
_WORD = re.compile(r"[A-Za-z0-9_./:-]{6,}")
_CODE = re.compile(r"[0-9_]|[a-z][A-Z]|[A-Za-z0-9][./:][A-Za-z0-9]")


def rare_words(text: str) -> set[str]:
    """Runs of at least six letters, digits and `_ . / : -` that hold a sign of code, without marks at their ends."""
    found = (word.strip("./:-") for word in _WORD.findall(text))
    return {word for word in found if len(word) >= 6 and _CODE.search(word)}


def said(event: SurfaceEvent) -> str:
    """A message's text, its calls with their arguments as the tools got them."""
    parts: list[str] = []
    for block in event.content:
        if isinstance(block, Text | Reasoning):
            parts.append(block.text)
        elif isinstance(block, ToolUse):
            parts += [block.name, *texts(arguments_of(block.arguments))]
    return "\n".join(parts)


def _answered(events: Sequence[Event]) -> dict[tuple[int, str], str]:
    """What each call was answered, by the answer that made it and the call's id."""
    found: dict[tuple[int, str], str] = {}
    asking = -1
    for event in events:
        if isinstance(event, AssistantMessage):
            asking = event.seq
        elif isinstance(event, ToolResult) and event.replaces is None:
            found.setdefault((asking, event.call_id), said(event))
    return found
