"""The public facts of a view: what is frozen, how often each result was sent, and why it is or is not cut."""

from typing import Literal

import msgspec

from refold.events import ToolResult
from refold.reducer import _queue as queue
from refold.reducer import _surface as surface
from refold.reducer._reducer import Reducer
from refold.reducer._view import Message, Node, Operation, View
from refold.reducer.ripe import only_unseen
from refold.reducer.which import code_points

ResultState = Literal[
    "waiting", "due", "cut", "frozen", "small", "error", "tool", "pinned", "rewritten", "no gain", "seen"
]


class Result(msgspec.Struct, frozen=True):
    """A tool result on the surface: `chars` code points of text, sent `views` times as it stands, and its state."""

    seq: int
    call_id: str
    tool: str
    chars: int
    views: int
    state: ResultState


def surface_seqs(view: View) -> tuple[int, ...]:
    """The surface: current seqs in the order in which the model sees them."""
    return tuple(node.seq for _, node in surface.nodes(view))


def message_at(view: View, seq: int) -> Message | None:
    """What stands on the surface for the current event `seq`, None where nothing does."""
    node = surface.node_at(view, seq)
    return node.message if node else None


def frozen(view: View) -> tuple[int, ...] | None:
    """Current seqs of the results that the latch froze and that still stand, None while no latch is open."""
    if view.latch is None:
        return None
    return tuple(
        node.seq
        for _, node in surface.nodes(view)
        if isinstance(node.message, ToolResult) and any(queue.is_frozen(part, node) for part in view.parts)
    )


def views(view: View) -> dict[int, int]:
    """How often the model was sent each result as it stands: step/starts since its bytes were born, by current seq."""
    return {
        node.seq: view.steps - node.steps for _, node in surface.nodes(view) if isinstance(node.message, ToolResult)
    }


def results(reducer: Reducer, view: View) -> tuple[Result, ...]:
    """Every tool result on the surface with the reason why it is, or is not, cut; parts are asked in order."""
    operations = {operation.seq: operation for operation in reducer.plan(view)}
    return tuple(
        Result(
            node.seq,
            node.message.call_id,
            node.tool,
            code_points(node.content),
            view.steps - node.steps,
            _state(reducer, view, node, operations.get(node.seq)),
        )
        for _, node in surface.nodes(view)
        if isinstance(node.message, ToolResult)
    )


def _state(reducer: Reducer, view: View, node: Node, operation: Operation | None) -> ResultState:
    if operation is not None:
        return "due"
    if any(place >= 0 for place in node.tickets):
        return "waiting"
    if node.cut_by >= 0:
        return "cut"
    reasons: list[ResultState] = []
    for part, now in zip(reducer.policy.parts, view.parts, strict=True):
        refusal = part.which.refuses(node)
        if queue.is_frozen(now, node):
            reasons.append("frozen")
        elif refusal is not None:
            reasons.append(refusal)
        elif queue.cut_content(part, reducer.meter, node) is None:
            reasons.append("no gain")
        elif only_unseen(part.ripe):
            reasons.append("seen")
        else:
            reasons.append("waiting")  # the latch is closed: nothing is admitted yet
    return reasons[0] if reasons else "tool"
