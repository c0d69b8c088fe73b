"""What other hands write into a log that is under way: the events by which they rewrite, compact and take back.

Made from the view alone, to be logged from its position on. Positions are counted round, as in `refold.laws.script`.
"""

from msgspec import structs

from refold.events import (
    CompactionEnd,
    CompactionStart,
    CompactionSummary,
    Event,
    SurfaceRewind,
    SystemMessage,
    Text,
    ToolResult,
    UserMessage,
)
from refold.laws.script import Compact, Rewrite, blocks
from refold.reducer import View
from refold.reducer import _surface as surface
from refold.reducer._view import Node


def rewritten(view: View, act: Rewrite, labels: dict[int, tuple[int, int]], time: int) -> ToolResult | None:
    """The result that takes another's place, None where there is none; `labels` order the results by their calls."""
    found = [node for _, node in surface.nodes(view) if isinstance(node.message, ToolResult)]
    if not found:
        return None
    old = sorted(found, key=lambda node: labels[node.seq])[act.at % len(found)]
    assert isinstance(old.message, ToolResult)
    place = (old.seq,)
    return structs.replace(
        old.message, seq=view.position, time=time, content=blocks(act.pieces), replaces=place * 2, sources=place
    )


def compacted(view: View, act: Compact, name: str, turn: int | None, time: int) -> tuple[Event, ...]:
    """A whole compaction by that name; nothing where the surface is empty."""
    found = _groups(view)
    if not found:
        return ()
    first = act.at % len(found)
    gone = [node for group in found[first : first + act.count] for node in group]
    seqs = tuple(node.seq for node in gone)
    start = view.position
    summary = Text(f"Summary of {len(seqs)} messages.")
    cited = (start, start + 1, *seqs)
    return (
        CompactionStart(start, time, name, turn),
        CompactionSummary(start + 1, time, name, seqs, sum(node.tokens for node in gone)),
        UserMessage(start + 2, time, (summary,), "compact", (seqs[0], seqs[-1]), cited),
        CompactionEnd(start + 3, time, name),
    )


def taken_back(view: View, at: int, time: int) -> SurfaceRewind | None:
    """Everything behind group `at` is taken back; None where the surface is empty."""
    found = _groups(view)
    return SurfaceRewind(view.position, time, found[at % len(found)][-1].seq) if found else None


def _groups(view: View) -> list[list[Node]]:
    """Messages with the results behind them: what may be taken away without parting a call from its result."""
    groups: list[list[Node]] = []
    for _, node in surface.nodes(view):
        if isinstance(node.message, SystemMessage):
            continue
        if isinstance(node.message, ToolResult) and groups:
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups
