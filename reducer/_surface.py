"""The surface: the ordered nodes the model sees.

Slot i is the i-th append. A replacement takes the slot of the first node it shadows, so position is slot order and
nothing is ever moved. A node is found by bisecting `births` (appends) or `moved` (replacements), both ascending.
Append and single replacement cost O(log n), a range O(nodes shadowed), a walk O(nodes alive): a dead run is skipped
in one hop, because its first slot names where the walk goes on. Rules: DSH's surface fold, spec'd by its official
package (`foldSurface`); positions decide, not numbers.
"""

from bisect import bisect_left
from collections.abc import Iterator

from refold.events import SurfaceError, SystemMessage, ToolResult
from refold.reducer import _weights as weights
from refold.reducer._view import Message, Node, State


def nodes(state: State, start: int = 0) -> Iterator[tuple[int, Node]]:
    """Each living node with its slot, in surface order."""
    slots, end = state.slots, len(state.slots)
    at = start
    while at < end:
        found = slots[at]
        if isinstance(found, Node):
            yield at, found
            at += 1
        else:
            at = found


def slot_of(state: State, seq: int) -> int | None:
    """The slot of the living node whose current event is `seq`, None where there is none."""
    births, moved = state.births, state.moved
    at = bisect_left(births, seq)
    if at < len(births) and births[at] == seq:
        slot = at
    else:
        at = bisect_left(moved, (seq, 0))
        if at == len(moved) or moved[at][0] != seq:
            return None
        slot = moved[at][1]
    found = state.slots[slot]
    return slot if isinstance(found, Node) and found.seq == seq else None


def node_at(state: State, seq: int) -> Node | None:
    """The living node whose current event is `seq`."""
    slot = slot_of(state, seq)
    if slot is None:
        return None
    found = state.slots[slot]
    return found if isinstance(found, Node) else None


def shadowed(state: State, event: Message) -> list[tuple[int, Node]]:
    """The living nodes that `event.replaces` names, with their slots; checks every rule before anything changes.

    Raises SurfaceError.
    """
    assert event.replaces is not None
    start, end = event.replaces
    first, last = slot_of(state, start), slot_of(state, end)
    if first is None or last is None:
        name, seq = ("start", start) if first is None else ("end", end)
        raise SurfaceError(f"replaces {name} seq {seq}, which is not found on the surface", seq=event.seq)
    if first > last:
        raise SurfaceError(f"replaces from seq {start} to seq {end}, but {start} stands after {end}", seq=event.seq)
    if first == last:
        found = state.slots[first]
        assert isinstance(found, Node)
        gone = [(first, found)]
    else:
        gone = []
        for slot, node in nodes(state, first):
            if slot > last:
                break
            gone.append((slot, node))
    sources = event.sources or ()
    missing = [node.seq for _, node in gone if node.seq not in sources]
    if missing:
        raise SurfaceError(f"shadows seq {missing[0]}, which its sourceEventSeqs do not cite", seq=event.seq)
    if isinstance(event, ToolResult):
        _check_rewrite(event, gone)
    for _, node in gone:
        if isinstance(node.message, SystemMessage) and not (isinstance(event, SystemMessage) and len(gone) == 1):
            raise SurfaceError(f"shadows seq {node.seq}, a system message: only another one may", seq=event.seq)
    return gone


def _check_rewrite(event: ToolResult, gone: list[tuple[int, Node]]) -> None:
    if len(gone) != 1:
        raise SurfaceError("a tool/result must replace exactly one current node", seq=event.seq)
    old = gone[0][1].message
    if not isinstance(old, ToolResult):
        raise SurfaceError(f"a tool/result replaces seq {old.seq}, which is no tool/result", seq=event.seq)
    same = (old.turn, old.step, old.call_id, old.is_error) == (event.turn, event.step, event.call_id, event.is_error)
    if not (same and old.envelope.same_as(event.envelope)):
        raise SurfaceError(f"replaces tool/result {old.seq} and may change only content", seq=event.seq)


def append(state: State, node: Node) -> None:
    """Put a node at the end."""
    state.slots.append(node)
    state.births.append(node.seq)
    state.alive += 1
    state.tokens += node.tokens
    for part in state.parts:
        if part.weights is not None:
            weights.append(part.weights, node.tokens)


def put(state: State, slot: int, old: Node, node: Node) -> None:
    """Let `node` stand where `old` stood."""
    state.slots.set(slot, node)
    state.sent = min(state.sent, slot)
    if node.seq != old.seq:
        state.moved.append((node.seq, slot))
    _weigh(state, slot, node.tokens - old.tokens)
    state.tokens += node.tokens - old.tokens
    state.freed += node.freed - old.freed
    state.ghost += node.ghost - old.ghost


def kill(state: State, gone: list[tuple[int, Node]], end: int) -> None:
    """Take nodes away that follow one another up to, not including, slot `end`; a walk hops over them."""
    after = end
    while after < len(state.slots):
        found = state.slots[after]
        if isinstance(found, Node):
            break
        after = found
    for slot, node in gone:
        state.slots.set(slot, after)
        state.sent = min(state.sent, slot)
        _weigh(state, slot, -node.tokens)
        state.tokens -= node.tokens
        state.freed -= node.freed
        state.ghost -= node.ghost
    state.alive -= len(gone)


def _weigh(state: State, slot: int, change: int) -> None:
    for part in state.parts:
        if part.weights is not None:
            weights.add(part.weights, slot, change)
