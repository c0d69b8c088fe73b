"""Sessions in which a policy has something to decide, drawn from a seed or by Hypothesis.

A script is a row of places for acts. Each place is one draw: a few bytes, of which each decides one thing, by picking
from a short list whose first entry is the simplest. So a place of zeros is an empty one, and a failing session shrinks
to the few acts that make it fail. Nothing else is drawn: bytes of a fixed length are the one kind of draw that
Hypothesis does not mix with constants found in the modules that happen to be loaded, so a seed means the same
sessions in any program.
"""

import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from refold.events import Event, Opaque
from refold.laws.live import play
from refold.laws.numbers import CONTEXT_WINDOW, Numbers, numbers
from refold.laws.script import (
    Act,
    Ask,
    Blocked,
    Call,
    Compact,
    EndTurn,
    Header,
    Note,
    Overrun,
    Pause,
    Piece,
    Restart,
    Resume,
    Retry,
    Rewind,
    Rewrite,
    Script,
    Step,
    Window,
    Words,
)
from refold.reducer import Dsh, Policy, Reducer
from refold.reducer.presets import none

T = TypeVar("T")

# Plain; two that JSON escapes; CJK; an emoji; a base with a combining mark; lone surrogates that never meet, and few of
# them, since Python encodes each by a call of its own.
UNITS = ("x", "log line\n", 'a\\"\t', "漢字", "😀", "e\u0301", "\ud83d" + "-" * 40, "-" * 40 + "\udc00")
IMAGE = Opaque('{"type":"image","attachment":{"mediaType":"image/png","bytes":97}}')
UNKNOWN = Opaque('{"type":"x-chart","payload":[1.0,"漢",{"a":null}]}')
IDS = ("call", "call", "", "call-2", "電話")
KINDS = (
    *("nothing", *("tools",) * 14),
    *(
        "answer",
        "answer",
        "ask",
        "ask",
        "end",
        "rewrite",
        "rewrite",
        "compact",
        "compact",
        "compact",
        "blocked",
        "resume",
        "rewind",
    ),
    *("header", "note", "pause", "restart"),
)
HEADERS: tuple[Act, ...] = (Header("Be brief.", "[]"), Header("Be long."), Window(CONTEXT_WINDOW // 2))
GROUPS = (-1, -1, -1, 0, -2, 1, 2, 5)
MORE_PAUSES = ("pause",) * 6


PLACE = 48  # The bytes of one act, enough for any.


class _Choices:
    """Reads acts out of bytes, around a policy's numbers; behind the last byte everything is the simplest."""

    def __init__(self, known: Numbers, place: bytes) -> None:
        self.known, self._left = known, iter(place)
        self.kinds = KINDS + MORE_PAUSES * (len(known.pauses) > 1)

    def pick(self, options: Sequence[T]) -> T:
        return options[next(self._left, 0) % len(options)]

    def one_in(self, times: int) -> bool:
        return next(self._left, 0) % times == times - 1

    def words(self) -> Words:
        return Words(self.pick(UNITS), self.pick(self.pick((self.known.small, self.known.large, self.known.large))))

    def pieces(self) -> tuple[Piece, ...]:
        """A result's content: most often one text, else with a block before, between or behind."""
        words = self.words()
        half = Words(words.unit, words.points // 2)
        rest = Words(words.unit, words.points - half.points)
        match self.pick(("text", "text", "text", "text", "image", "unknown", "split", "bare", "empty")):
            case "image":
                return (words, IMAGE)
            case "unknown":
                return (half, UNKNOWN, rest)
            case "split":
                return (half, rest)
            case "bare":
                return (IMAGE,)
            case "empty":
                return ()
            case _:
                return (words,)

    def call(self, *, may_not_start: bool) -> Call:
        fate = self.pick(("fine",) * 8 + ("error", "not started" if may_not_start else "error"))
        tool = self.pick(self.known.others if self.one_in(8) else self.known.tools)
        return Call(tool, self.pick(IDS), self.pieces(), fate == "error", fate != "not started")

    def replacement(self) -> Rewrite | Compact:
        return Compact(self.pick(GROUPS), self.pick((1, 1, 2, 4))) if self.one_in(2) else self.rewrite()

    def rewrite(self) -> Rewrite:
        return Rewrite(self.pick(range(8)), self.pieces())

    def failures(self) -> tuple[Retry | Overrun, ...]:
        match self.pick(("none",) * 8 + ("retry", "overrun", "overrun", "both")):
            case "retry":
                return (Retry(Words("x", 40)),)
            case "overrun":
                return (Overrun(tuple(self.replacement() for _ in range(self.pick((0, 0, 1, 2))))),)
            case "both":
                return (Retry(Words("x", 40)), Overrun())
            case _:
                return ()

    def tools(self) -> Step:
        count = self.pick((1, 1, 2, 3))
        # Which call an unstarted result answers can only be told by its id.
        calls = tuple(self.call(may_not_start=count == 1) for _ in range(count))
        return Step(
            (Words("I look. ", 8),),
            calls,
            self.aim(),
            self.failures(),
            together=not self.one_in(2),
            dies=self.pick(range(count)) if self.one_in(20) else None,
        )

    def answer(self) -> Step:
        said = () if self.one_in(6) else (Words("Done. ", 6),)
        return Step(said, (), self.aim(), self.failures(), interrupted=self.one_in(5))

    def aim(self) -> int | None:
        """What is reported: half of all times little, or a latch would open before there is anything to freeze."""
        if self.one_in(8):
            return None
        return self.pick(self.known.aims) if self.one_in(2) else self.known.aims[0]

    def act(self) -> Act | None:
        match self.pick(self.kinds):
            case "tools":
                return self.tools()
            case "answer":
                return self.answer()
            case "ask":
                return Ask((Words(self.pick(UNITS), 12),))
            case "end":
                return EndTurn(self.pick(("aborted", "error", "completed")))
            case "rewrite":
                return self.rewrite()
            case "compact":
                return Compact(self.pick(GROUPS), self.pick((1, 1, 2, 4)))
            case "blocked":
                return Blocked()
            case "resume":
                return Resume(fork=self.one_in(2))
            case "rewind":
                return Rewind(self.pick(GROUPS)) if self.one_in(3) else None
            case "header":
                return self.pick(HEADERS)
            case "note":
                return Note()
            case "pause":
                return Pause(self.pick((*self.known.pauses, *self.known.pauses[-1:] * 2, -60_000)))
            case "restart":
                return Restart(from_dump=self.one_in(2))
            case _:
                return None


def _script(known: Numbers, first: bytes, places: tuple[bytes, ...]) -> Script:
    choices = _Choices(known, first)
    version, timed = choices.pick((4, 0)), not choices.one_in(8)
    acts = tuple(act for place in places if (act := _Choices(known, place).act()) is not None)
    return Script(version, timed, "Be brief.", (Window(CONTEXT_WINDOW), *acts))


def scripts(policy: Policy) -> st.SearchStrategy[Script]:
    """Scripts whose texts, reports and lengths lie around the policy's own numbers."""
    known = numbers(policy)
    places = st.tuples(*[_bytes(PLACE)] * _length(known))
    return st.builds(_script, st.just(known), _bytes(2), places)


def drawn(policy: Policy, count: int, seed: int) -> Iterator[Script]:
    """As many scripts, drawn from a seed independently of each other; Hypothesis makes most of its own alike."""
    known, chance = numbers(policy), random.Random(seed)
    for _ in range(count):
        yield _script(known, chance.randbytes(2), tuple(chance.randbytes(PLACE) for _ in range(_length(known))))


def _length(known: Numbers) -> int:
    return min(60, 16 + 6 * known.wait)


def acts(policy: Policy) -> st.SearchStrategy[Act]:
    """Single acts, for a host that is driven step by step."""
    known = numbers(policy)
    return _bytes(PLACE).map(lambda place: _Choices(known, place).act() or Note())


def sessions(policy: Policy) -> st.SearchStrategy[tuple[Event, ...]]:
    """Whole session logs, as a harness writes them that does not use refold."""
    return scripts(policy).map(lambda script: play(script, Reducer(none(), Dsh(script.version))).events)


def _bytes(length: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=length, max_size=length)
