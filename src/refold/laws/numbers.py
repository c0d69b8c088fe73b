"""The numbers a policy turns on: what its sessions have to stand just before, at and just behind.

A member tells by its fields' names what they count: `..._seconds` of event time, `per_mille` of the context window,
`high` and `low` code points; every other number of a `when` counts tokens, and one of a `ripe` steps, turns or results
where it is small, else tokens. Members of one's own are read in the same way.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from refold.reducer import Policy

CONTEXT_WINDOW = 100_000
MOST_COUNT = 12
"""A number of a `ripe` up to this counts steps, turns or results; a larger one tokens."""
MOST_POINTS = 400_000
"""No longer text is made, however large a policy's numbers are."""


class Numbers(Struct, frozen=True):
    """`small` and `large` sizes of a result in code points, which the policy leaves and may cut; `aims` of reported
    tokens; `wait`, how many steps, turns or results it takes at most until a result is ripe; `tools` that the policy
    cuts and `others`, by name; `pauses` in milliseconds."""

    small: tuple[int, ...]
    large: tuple[int, ...]
    aims: tuple[int, ...]
    wait: int
    tools: tuple[str, ...]
    others: tuple[str, ...]
    pauses: tuple[int, ...]


def numbers(policy: Policy) -> Numbers:
    """What a policy turns on, found in its own fields and those of its members."""
    small, aims, waits, pauses = {0, 1}, {1000}, {1}, {60_000}
    large: set[int] = set()
    tools: list[str] = []
    others = ["unlisted"]
    for part in policy.parts:
        least = max((number for name, number in _ints(part.which) if name.startswith("over_")), default=0)
        line = max(least, _kept(part.how))
        small |= {line - 1, line, _kept(part.how), least}
        large |= {line + 1, 3 * line} if line else {300, 3000}
        ripens = [number for _, number in _ints(part.ripe)]
        large |= {size for number in ripens if number > MOST_COUNT for size in (2 * number, 4 * number + 8)}
        waits.add(sum(number for number in ripens if number <= MOST_COUNT))
        for name, number in _ints(part.when):
            if name.endswith("seconds"):
                pauses |= {number * 1000 - 1, number * 1000, number * 1000 + 1}
            elif name == "per_mille":
                aims |= _around(CONTEXT_WINDOW * number // 1000)
            elif name in ("high", "low"):
                large |= {number // 2 + 1, number // 5 + 1}
            else:
                aims |= _around(number)
                if name == "min_tokens":
                    large |= {2 * number, 4 * number + 200}
        tools += map(_named, part.which.tools)
        others += map(_named, part.which.deny)
    return Numbers(
        tuple(sorted(size for size in small if size >= 0)),
        tuple(sorted({min(size, MOST_POINTS) for size in large or {300}})),
        tuple(sorted(aims)),
        max(waits),
        tuple(dict.fromkeys(tools)) or ("tool",),
        tuple(dict.fromkeys(others)),
        tuple(sorted(pauses)),
    )


def _kept(how: Struct) -> int:
    """The code points that a `how` leaves: as many as it says, or as many as its longest text."""
    kept = getattr(how, "kept", None)
    if isinstance(kept, int):
        return kept
    texts = (getattr(how, field) for field in how.__struct_fields__)
    return max((len(text) for text in texts if isinstance(text, str)), default=0)


def _around(line: int) -> set[int]:
    return {max(0, line - 1), line, line + 1, 2 * line}


def _named(glob: str) -> str:
    """A tool that the glob fits."""
    return re.sub(r"\[(.)[^]]*\]", r"\1", glob).replace("*", "x").replace("?", "x")


def _ints(value: object) -> Iterator[tuple[str, int]]:
    """Every positive number in a member, and in the members inside it, with its field's name."""
    if isinstance(value, Struct):
        for field in value.__struct_fields__:
            inner = getattr(value, field)
            if isinstance(inner, int) and not isinstance(inner, bool) and inner > 0:
                yield field, inner
            else:
                yield from _ints(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from _ints(inner)
