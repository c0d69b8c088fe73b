"""The numbers a policy turns on: what its sessions have to stand just before, at and just behind."""

from collections.abc import Iterator

from msgspec import Struct

from refold.reducer import Part, Policy
from refold.reducer.when import Batch, Idle, Pressure

CONTEXT_WINDOW = 100_000
MOST_POINTS = 400_000
"""No longer text is made, however large a policy's numbers are."""


class Numbers(Struct, frozen=True):
    """`sizes` of a result in code points, `aims` of reported tokens, `counts` of steps, turns or results that ripen
    one, `tools` by name, `pauses` in milliseconds."""

    sizes: tuple[int, ...]
    aims: tuple[int, ...]
    counts: tuple[int, ...]
    tools: tuple[str, ...]
    pauses: tuple[int, ...]


def numbers(policy: Policy) -> Numbers:
    """What a policy turns on, found in its own fields and those of its members."""
    sizes, aims, counts, pauses = [0, 1, 300], [1000], [1], [60_000]
    tools = ["unlisted"]
    for part in policy.parts:
        sizes += [size for line in (part.which.over_chars, *_hows(part)) if line for size in _around(line, 3)]
        counts += [count for _, count in _ints(part.ripe) if count <= 12]
        sizes += [size for _, tokens in _ints(part.ripe) if tokens > 12 for size in (2 * tokens, 4 * tokens + 8)]
        for owner, number in _ints(part.when):
            if isinstance(owner, Idle):
                pauses += [number * 1000 - 1, number * 1000, number * 1000 + 1]
            elif isinstance(owner, Pressure):
                aims += _around(CONTEXT_WINDOW * number // 1000, 2)
            else:
                aims += _around(number, 2)
            if isinstance(owner, Batch):
                sizes += [2 * number, 4 * number + 200]
        tools += [glob.replace("*", "x").replace("?", "x") for glob in (*part.which.tools, *part.which.deny)]
    return Numbers(
        tuple(sorted({min(size, MOST_POINTS) for size in sizes})),
        tuple(sorted(set(aims))),
        tuple(sorted(set(counts))),
        tuple(dict.fromkeys(tools)),
        tuple(sorted(set(pauses))),
    )


def _hows(part: Part) -> Iterator[int]:
    """The lengths a `how` keeps, one by one and together."""
    found = [number for _, number in _ints(part.how)]
    yield from found
    kept = getattr(part.how, "kept", None)
    yield kept if isinstance(kept, int) else sum(found)


def _around(line: int, times: int) -> list[int]:
    return [max(0, line - 1), line, line + 1, times * line]


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
