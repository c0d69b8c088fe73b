"""The numbers a policy turns on: what its sessions have to stand just before, at and just behind."""

from collections.abc import Iterator

from msgspec import Struct

from refold.reducer import Part, Policy
from refold.reducer.when import Batch, Idle, Pressure

CONTEXT_WINDOW = 100_000
MOST_COUNT = 12
"""A number of a `ripe` up to this counts steps, turns or results; a larger one tokens."""
MOST_POINTS = 400_000
"""No longer text is made, however large a policy's numbers are."""


class Numbers(Struct, frozen=True):
    """`small` and `large` sizes of a result in code points, which a policy leaves and may cut; `aims` of reported
    tokens, `counts` of steps, turns or results that ripen one, `tools` by name, `pauses` in milliseconds."""

    small: tuple[int, ...]
    large: tuple[int, ...]
    aims: tuple[int, ...]
    counts: tuple[int, ...]
    tools: tuple[str, ...]
    pauses: tuple[int, ...]


def numbers(policy: Policy) -> Numbers:
    """What a policy turns on, found in its own fields and those of its members."""
    small, large, aims, counts, pauses = {0, 1}, {300}, {1000}, {1}, {60_000}
    tools = ["unlisted"]
    for part in policy.parts:
        line = max(part.which.over_chars, _kept(part))
        small |= {line - 1, line, _kept(part), part.which.over_chars}
        large |= {line + 1, 3 * line + 3}
        for owner, number in _ints(part.ripe):
            if number <= MOST_COUNT:
                counts.add(number)
            else:
                large |= {2 * number, 4 * number + 8}
        for owner, number in _ints(part.when):
            if isinstance(owner, Idle):
                pauses |= {number * 1000 - 1, number * 1000, number * 1000 + 1}
            elif isinstance(owner, Pressure):
                aims |= _around(CONTEXT_WINDOW * number // 1000)
            else:
                aims |= _around(number)
            if isinstance(owner, Batch):
                large |= {2 * number, 4 * number + 200}
        tools += [glob.replace("*", "x").replace("?", "x") for glob in (*part.which.tools, *part.which.deny)]
    return Numbers(
        tuple(sorted(size for size in small if size >= 0)),
        tuple(sorted({min(size, MOST_POINTS) for size in large})),
        tuple(sorted(aims)),
        tuple(sorted(counts)),
        tuple(dict.fromkeys(tools)),
        tuple(sorted(pauses)),
    )


def _kept(part: Part) -> int:
    """The code points that a `how` leaves, 0 where it does not say."""
    kept = getattr(part.how, "kept", 0)
    return kept if isinstance(kept, int) else 0


def _around(line: int) -> set[int]:
    return {max(0, line - 1), line, line + 1, 2 * line}


def _ints(value: object) -> Iterator[tuple[object, int]]:
    """Every positive number in a member and in the members inside it, with the one it belongs to."""
    if isinstance(value, Struct):
        for field in value.__struct_fields__:
            inner = getattr(value, field)
            if isinstance(inner, int) and not isinstance(inner, bool) and inner > 0:
                yield value, inner
            elif isinstance(inner, tuple | Struct):
                yield from _ints(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from _ints(inner)
