"""Ripe: has a result been seen, or passed by, enough?

Every member reads odometers: counters that only rise. An entry is stamped with the readings at its admission and is
ripe when each has moved far enough since. Stamps never fall along the queue, so what is ripe is a prefix of it.
"""

from typing import ClassVar, Protocol

import msgspec

from refold.events import PolicyError
from refold.reducer._checks import some, whole_number
from refold.reducer._view import Counters


class Odometer(Protocol):
    """A leaf of a ripeness rule. `counter` is a field of Counters; `settled` reads it as it stood so many turns ago.

    `fresh` says that a rewrite by someone else starts the count again (the model has not read the new bytes);
    otherwise the new node takes over the old one's place. `own` stamps behind the entry's own admission.
    """

    counter: ClassVar[str]
    fresh: ClassVar[bool]
    own: ClassVar[bool]

    @property
    def settled(self) -> int: ...


class Ripe(Protocol):
    """A ripeness rule: its odometers in order, and whether their advances since an entry's stamps suffice."""

    def odometers(self) -> tuple[Odometer, ...]: ...

    def reached(self, advances: tuple[int, ...]) -> bool:
        """`advances[i]` is how far odometer i has moved since the entry was stamped."""
        ...


class _Leaf(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    n: int
    settled: int = 0

    counter: ClassVar[str]
    fresh: ClassVar[bool] = False
    own: ClassVar[bool] = True
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number(f"{type(self).__name__}.n", self.n, 1)
        whole_number(f"{type(self).__name__}.settled", self.settled, 0, 8)

    def odometers(self) -> tuple[Odometer, ...]:
        return (self,)

    def reached(self, advances: tuple[int, ...]) -> bool:
        return advances[0] >= self.n


class Views(_Leaf, frozen=True):
    """The model was sent it `n` times: n step/starts came after it."""

    counter: ClassVar[str] = "steps"
    fresh: ClassVar[bool] = True


class Turns(_Leaf, frozen=True):
    """`n` turns that had a step have ended since it was born, its own among them."""

    counter: ClassVar[str] = "turns"


class KeepLast(_Leaf, frozen=True):
    """`n` candidates were admitted after it."""

    counter: ClassVar[str] = "admitted"


class KeepResults(_Leaf, frozen=True):
    """`n` tool results of any kind were born after it."""

    counter: ClassVar[str] = "results"


class KeepTokens(_Leaf, frozen=True):
    """More than `n` tokens of candidates were admitted from it on, its own among them."""

    counter: ClassVar[str] = "admitted_tokens"
    own: ClassVar[bool] = False

    def reached(self, advances: tuple[int, ...]) -> bool:
        return advances[0] > self.n


class KeepSpans(_Leaf, frozen=True):
    """`n` spans (an assistant message with its results) that hold a candidate came after its own."""

    counter: ClassVar[str] = "spans"


class Now(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """At once, even before the model has seen it."""

    revision: ClassVar[int] = 1

    def odometers(self) -> tuple[Odometer, ...]:
        return ()

    def reached(self, advances: tuple[int, ...]) -> bool:
        return True


class Unseen(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Before the model has seen it, or never: what a step/start finds uncut is no candidate any more."""

    revision: ClassVar[int] = 1

    def odometers(self) -> tuple[Odometer, ...]:
        return ()

    def reached(self, advances: tuple[int, ...]) -> bool:
        return True


class AllRipe(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Ripe when every part is."""

    parts: "tuple[RipeRule, ...]"
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        some("AllRipe.parts", self.parts, "at least one member")

    def odometers(self) -> tuple[Odometer, ...]:
        return tuple(meter for part in self.parts for meter in part.odometers())

    def reached(self, advances: tuple[int, ...]) -> bool:
        return all(_each(self.parts, advances))


class AnyRipe(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Ripe when one part is. `Unseen` is no such part: what is ripe would then be no prefix of the queue."""

    parts: "tuple[RipeRule, ...]"
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        some("AnyRipe.parts", self.parts, "at least one member")
        if any(only_unseen(part) for part in self.parts):
            raise PolicyError("Unseen joins others with & alone; give it a part of its own instead", field="ripe")

    def odometers(self) -> tuple[Odometer, ...]:
        return tuple(meter for part in self.parts for meter in part.odometers())

    def reached(self, advances: tuple[int, ...]) -> bool:
        return any(_each(self.parts, advances))


RipeRule = Views | Turns | KeepLast | KeepResults | KeepTokens | KeepSpans | Now | Unseen | AllRipe | AnyRipe


def only_unseen(ripe: RipeRule) -> bool:
    """Is a candidate's time over once the model has seen it?"""
    return isinstance(ripe, Unseen) or (isinstance(ripe, AllRipe) and any(map(only_unseen, ripe.parts)))


def _each(parts: "tuple[RipeRule, ...]", advances: tuple[int, ...]) -> list[bool]:
    answers, at = [], 0
    for part in parts:
        width = len(part.odometers())
        answers.append(part.reached(advances[at : at + width]))
        at += width
    return answers


def stamp(odometer: Odometer, now: Counters) -> int:
    """What an entry is stamped with: the counter as it stands, however settled it will be read."""
    return int(getattr(now, odometer.counter))


def reading(odometer: Odometer, now: Counters, samples: tuple[Counters, ...]) -> int:
    """What the odometer shows: now, or as it stood `settled` turn/starts ago (0 before there were so many)."""
    if odometer.settled == 0:
        return int(getattr(now, odometer.counter))
    if odometer.settled > len(samples):
        return 0
    return int(getattr(samples[-odometer.settled], odometer.counter))
