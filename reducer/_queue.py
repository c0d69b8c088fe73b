"""The queue of each part: who is a candidate, who is ripe, and the running sums.

Candidates stand in order of admission. Stamps never fall along the queue and odometers never fall in time, so the
ripe entries are a prefix, whose end moves in the fold: a plan only reads. A node leaves through `leave`, whoever
takes it away, and takes its share of every sum along.
"""

from operator import sub

from msgspec.structs import replace

from refold.events import Block, Text, ToolResult
from refold.reducer import _weights as weights
from refold.reducer._measure import Meter
from refold.reducer._policy import Part
from refold.reducer._view import Counters, Entry, Latch, Node, PartState, State
from refold.reducer.ripe import only_unseen, reading, stamp
from refold.reducer.which import code_points


def counters(state: State, part: PartState) -> Counters:
    return Counters(state.steps, state.turns, state.results, part.admitted, part.admitted_tokens, part.spans)


def is_frozen(part: PartState, node: Node) -> bool:
    """Did this part's latch find the node, or what it is a rewrite of, already there?"""
    return part.latch is not None and node.born <= part.latch.seq


def cut_content(part: Part, meter: Meter, node: Node) -> tuple[tuple[Block, ...], int] | None:
    """What `how` makes of the node, and its price; None where that is nothing new, or nothing smaller."""
    content = part.how.content(node)
    if content is None or content == node.content or not isinstance(node.message, ToolResult):
        return None
    tokens = meter.estimator.message(replace(node.message, content=content))
    if part.grow:
        return content, tokens
    if tokens >= node.tokens:
        return None
    drops = any(type(block) is not Text and block not in content for block in node.content)
    if not drops and code_points(content) >= code_points(node.content):
        return None
    return content, tokens


def admit(state: State, parts: tuple[Part, ...], meter: Meter, slot: int, node: Node, old: Node | None) -> Node:
    """The node with its tickets: admitted to each queue it belongs in, as the heir of `old` where it has one."""
    places: list[int] | None = None
    for index, part in enumerate(parts):
        now = state.parts[index]
        if node.cut_by >= index or not part.when.admits(now) or is_frozen(now, node) or part.which.refuses(node):
            continue
        cut = cut_content(part, meter, node)
        matter = part.which.matter(node)
        if cut is None or matter in now.matters:
            continue
        if matter is not None:
            now.matters = now.matters.add(matter)
        places = places or [-1] * len(parts)
        gain = (node.tokens - cut[1], code_points(node.content) - code_points(cut[0]))
        heir_of = old.tickets[index] if old is not None and old.tickets else -1
        places[index] = _enter(state, now, part, Entry(slot, (), *gain), heir_of, node.tokens if old is None else None)
    return replace(node, tickets=tuple(places)) if places else node


def _enter(state: State, now: PartState, part: Part, entry: Entry, heir_of: int, born_tokens: int | None) -> int:
    """Put an entry into a queue; gives its place. `born_tokens` is None for a rewrite, which counts as no birth."""
    meters = part.ripe.odometers()
    inherited = now.entries[heir_of].stamps if heir_of >= 0 else None
    if inherited is not None and not any(meter.fresh for meter in meters):
        now.entries.set(heir_of, replace(entry, stamps=inherited))
        _count(now, heir_of, 1)
        return heir_of
    before = counters(state, now)
    if born_tokens is not None:
        now.admitted += 1
        now.admitted_tokens += born_tokens
        now.spans += state.span != now.span
        now.span = state.span
    after = counters(state, now)
    stamps = tuple(stamp(meter, after if meter.own else before) for meter in meters)
    if inherited is not None:
        pairs = zip(meters, stamps, inherited, strict=True)
        stamps = tuple(new if meter.fresh else kept for meter, new, kept in pairs)
    if now.end:
        stamps = tuple(map(max, stamps, now.entries[now.end - 1].stamps))
    now.entries.append(replace(entry, stamps=stamps))
    now.end += 1
    _count(now, now.end - 1, 1)
    return now.end - 1


def _count(part: PartState, place: int, sign: int) -> None:
    """Add an entry's share to its queue's sums, or take it out."""
    entry = part.entries[place]
    part.live += sign
    part.chars += sign * entry.gain_chars
    if place < part.boundary:
        gain = sign * entry.gain_tokens
        part.ripe += sign
        part.gain += gain
        part.moment += gain * part.since[place]
        _mark(part, entry.slot, sign)


def _mark(part: PartState, slot: int, sign: int) -> None:
    """Note in the weights that a slot holds a ripe candidate, or no longer does."""
    if part.weights is not None:
        weights.add(part.weights, slot, sign * weights.RIPE)


def leave(state: State, node: Node) -> None:
    """Take a node that leaves the surface, or stands there no more as it was, out of every queue's sums."""
    for part, place in zip(state.parts, node.tickets, strict=False):
        if place >= 0:
            _count(part, place, -1)


def holder(state: State, index: int, place: int) -> Node | None:
    """The living node that holds this place in a part's queue, None where it has left."""
    found = state.slots[state.parts[index].entries[place].slot]
    return found if isinstance(found, Node) and found.tickets and found.tickets[index] == place else None


def ripen(state: State, parts: tuple[Part, ...]) -> None:
    """Move each queue's boundary to its first entry that is not ripe, after an odometer has moved."""
    for index, now in enumerate(state.parts):
        if now.boundary < now.end:
            _move_boundary(state, index, parts[index])


def trim(state: State) -> None:
    """Move each queue's head to its first living entry, after nodes have left."""
    for index, now in enumerate(state.parts):
        while now.head < now.boundary and holder(state, index, now.head) is None:
            now.head += 1


def _move_boundary(state: State, index: int, part: Part) -> None:
    now = state.parts[index]
    odometers = counters(state, now)
    readings = [reading(meter, odometers, now.samples) for meter in part.ripe.odometers()]
    while now.boundary < now.end:
        entry = now.entries[now.boundary]
        if not part.ripe.reached(tuple(map(sub, readings, entry.stamps))):
            break
        now.since.append(state.steps)
        if holder(state, index, now.boundary):
            now.ripe += 1
            now.gain += entry.gain_tokens
            now.moment += entry.gain_tokens * state.steps
            _mark(now, entry.slot, 1)
        now.boundary += 1


def open_latch(state: State, parts: tuple[Part, ...], index: int, latch: Latch) -> None:
    """Open a part's latch: what stands on the surface is frozen, so its candidates leave the queue."""
    state.parts[index].latch = latch
    _dismiss(state, index)


def pass_by(state: State, parts: tuple[Part, ...]) -> None:
    """The model is sent what stands: candidates whose time that was leave the queue, as if they had never come."""
    for index, part in enumerate(parts):
        if only_unseen(part.ripe):
            for node in _dismiss(state, index):
                matter = part.which.matter(node)
                if matter is not None:
                    state.parts[index].matters = state.parts[index].matters.discard(matter)


def _dismiss(state: State, index: int) -> list[Node]:
    """Take every candidate out of a part's queue; they stay on the surface. Gives them."""
    now, gone = state.parts[index], []
    for place in range(now.head, now.end):
        node = holder(state, index, place)
        if node is not None:
            _count(now, place, -1)
            tickets = (*node.tickets[:index], -1, *node.tickets[index + 1 :])
            state.slots.set(now.entries[place].slot, replace(node, tickets=tickets))
            gone.append(node)
    trim(state)
    return gone


def sample(state: State, parts: tuple[Part, ...]) -> None:
    """Keep the odometers as they stand at a turn/start, for the members that read them settled."""
    for now, part in zip(state.parts, parts, strict=True):
        depth = max((meter.settled for meter in part.ripe.odometers()), default=0)
        if depth:
            now.samples = (*now.samples, counters(state, now))[-depth:]
