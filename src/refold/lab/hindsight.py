"""Hindsight: what the best schedule would have cost, known only when the session is over.

A policy's candidates ripen whatever it does with them, so one replay that cuts nothing tells all that a schedule can
choose from. `hindsight` is the cheapest choice of calls at which everything ripe is cut; `best_subset` may also leave
the oldest of them whole for good. Both by dynamic programming over call x first candidate that is still whole.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Literal

import msgspec
from msgspec.structs import replace

from refold.events import AssistantMessage, Event, StepStart, ToolResult
from refold.lab.calls import Call, Tracker, common_blocks
from refold.lab.ledger import Ledger, Prices, charged
from refold.lab.sizes import Sizes
from refold.reducer import Part, Policy, Reducer, View
from refold.reducer import _queue as queue
from refold.reducer._view import PartState
from refold.replay import asked


class Held(msgspec.Struct, frozen=True, tag=True):
    """A `when` under which nothing is ever due, but what its parts would admit is a candidate all the same."""

    parts: tuple[Any, ...]
    unit: ClassVar[Literal["tokens", "chars"]] = "tokens"
    weighs: ClassVar[bool] = False
    revision: ClassVar[int] = 1

    def quota(self, facts: object) -> int:
        return 0

    def admits(self, part: PartState) -> bool:
        return all(rule.admits(part) for rule in self.parts)


class Standing(msgspec.Struct, frozen=True):
    """A candidate that stands in a call's prompt. `at` tokens and `places` are before it; its cut takes the `gain`
    tokens behind the first `common` ones, which stay."""

    at: int
    places: int
    common: int
    gain: int


class Chance(msgspec.Struct, frozen=True):
    """A call with nothing cut, the candidates in its prompt by their place in the queue, and how many are ripe."""

    call: Call
    standing: dict[int, Standing]
    ripe: int


class Schedule(msgspec.Struct, frozen=True):
    """A schedule's cost in thousandths of an input token, and the places of the calls at which it cuts."""

    cost: int
    cuts: tuple[int, ...]
