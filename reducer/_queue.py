"""The queue of each part: who is a candidate, who is ripe, and the running sums.

Candidates stand in order of admission. Stamps never fall along the queue and odometers never fall in time, so the
ripe entries are a prefix, whose end moves in the fold: a plan only reads. A node leaves through `leave`, whoever
takes it away, and takes its share of every sum along.
"""

from msgspec.structs import replace

from refold.events import Block, Text, ToolResult
from refold.reducer._measure import Meter
from refold.reducer._policy import Part
from refold.reducer._view import Counters, Entry, Latch, Node, PartState, State
from refold.reducer.ripe import reading
from refold.reducer.which import code_points


def set_part(state: State, index: int, part: PartState) -> None:
    state.parts = (*state.parts[:index], part, *state.parts[index + 1 :])


def counters(state: State, part: PartState) -> Counters:
    return Counters(state.steps, state.turns, state.results, part.admitted, part.admitted_tokens, part.spans)


def is_frozen(part: PartState, node: Node) -> bool:
    """Did this part's latch find the node, or what it is a rewrite of, already there?"""
    return part.latch is not None and node.born <= part.latch.seq


def cut_content(part: Part, meter: Meter, node: Node) -> tuple[tuple[Block, ...], int] | None:
    """What `how` makes of the node, and its price; None where that is nothing, or nothing smaller."""
    content = part.how.content(node)
    if content is None or not isinstance(node.message, ToolResult):
        return None
    tokens = meter.estimator.message(replace(node.message, content=content))
    if tokens >= node.tokens:
        return None
    drops = any(type(block) is not Text and block not in content for block in node.content)
    if not drops and code_points(content) >= code_points(node.content):
        return None
    return content, tokens


def admit(state: State, parts: tuple[Part, ...], meter: Meter, slot: int, node: Node, old: Node | None) -> Node:
    """The node with its tickets: admitted to each queue it belongs in, as the heir of `old` where it has one."""
    if not isinstance(node.message, ToolResult):
        return node
    places = [-1] * len(parts)
    for index, part in enumerate(parts):
        now = state.parts[index]
        if node.cut_by == index or not part.when.admits(now) or is_frozen(now, node) or part.which.refuses(node):
            continue
        cut = cut_content(part, meter, node)
        if cut is None:
            continue
        gain = (node.tokens - cut[1], code_points(node.content) - code_points(cut[0]))
        heir_of = old.tickets[index] if old is not None else -1
        places[index] = _enter(state, index, part, slot, gain, heir_of, node.tokens if old is None else None)
    return replace(node, tickets=tuple(places))


def _enter(
    state: State, index: int, part: Part, slot: int, gain: tuple[int, int], heir_of: int, born_tokens: int | None
) -> int:
    now = state.parts[index]
    meters = part.ripe.odometers()
    inherited = now.entries[heir_of].stamps if heir_of >= 0 else None
    if inherited is not None and not any(meter.fresh for meter in meters):
        place, entry = heir_of, Entry(slot, inherited, *gain)
        entries = now.entries.set(place, entry)
    else:
        before = counters(state, now)
        if born_tokens is not None:
            now = replace(
                now,
                admitted=now.admitted + 1,
                admitted_tokens=now.admitted_tokens + born_tokens,
                spans=now.spans + (state.span != now.span),
                span=state.span,
            )
        after = counters(state, now)
        stamps = tuple(reading(meter, after if meter.own else before, now.samples) for meter in meters)
        if inherited is not None:
            pairs = zip(meters, stamps, inherited, strict=True)
            stamps = tuple(new if meter.fresh else kept for meter, new, kept in pairs)
        place = len(now.entries)
        if place:
            stamps = tuple(map(max, stamps, now.entries[place - 1].stamps))
        entry = Entry(slot, stamps, *gain)
        entries = now.entries.append(entry)
    set_part(state, index, _count(replace(now, entries=entries), place, entry, 1))
    return place


def _count(part: PartState, place: int, entry: Entry, sign: int) -> PartState:
    """The part with an entry's share added to its sums, or taken out."""
    live, chars = part.live + sign, part.chars + sign * entry.gain_chars
    if place >= len(part.since):
        return replace(part, live=live, chars=chars)
    gain = sign * entry.gain_tokens
    return replace(
        part,
        live=live,
        chars=chars,
        gain=part.gain + gain,
        moment=part.moment + gain * part.since[place],
        ripe=part.ripe + sign,
    )


def leave(state: State, node: Node) -> None:
    """Take a node that leaves the surface, or stands there no more as it was, out of every queue's sums."""
    for index, place in enumerate(node.tickets):
        if place >= 0:
            part = state.parts[index]
            set_part(state, index, _count(part, place, part.entries[place], -1))


def holder(state: State, index: int, place: int) -> Node | None:
    """The living node that holds this place in a part's queue, None where it has left."""
    found = state.slots[state.parts[index].entries[place].slot]
    return found if isinstance(found, Node) and found.tickets and found.tickets[index] == place else None


def ripen(state: State, parts: tuple[Part, ...]) -> None:
    """Move each boundary to the first entry that is not ripe, and each head to the first living entry."""
    for index, part in enumerate(parts):
        now = state.parts[index]
        end = len(now.entries)
        if now.head == end and len(now.since) == end:
            continue
        place = len(now.since)
        if place < end:
            odometers, meters = counters(state, now), part.ripe.odometers()
            readings = tuple(reading(meter, odometers, now.samples) for meter in meters)
            since, gain, count = now.since, 0, 0
            while place < end:
                entry = now.entries[place]
                advances = tuple(shown - stamp for shown, stamp in zip(readings, entry.stamps, strict=True))
                if not part.ripe.reached(advances):
                    break
                if holder(state, index, place):
                    gain, count = gain + entry.gain_tokens, count + 1
                since = since.append(state.steps)
                place += 1
            if place > len(now.since):
                now = replace(
                    now,
                    since=since,
                    gain=now.gain + gain,
                    moment=now.moment + gain * state.steps,
                    ripe=now.ripe + count,
                )
        head = now.head
        while head < end and holder(state, index, head) is None:
            head += 1
        if head != now.head:
            now = replace(now, head=head)
        set_part(state, index, now)


def open_latch(state: State, parts: tuple[Part, ...], index: int, latch: Latch) -> None:
    """Open a part's latch: what stands on the surface is frozen, so its candidates leave the queue."""
    now = state.parts[index]
    set_part(state, index, replace(now, latch=latch))
    for place in range(now.head, len(now.entries)):
        node = holder(state, index, place)
        if node is not None:
            set_part(state, index, _count(state.parts[index], place, now.entries[place], -1))
            slot = now.entries[place].slot
            gone = (*node.tickets[:index], -1, *node.tickets[index + 1 :])
            state.slots = state.slots.set(slot, replace(node, tickets=gone))
    ripen(state, parts)


def sample(state: State, parts: tuple[Part, ...]) -> None:
    """Keep the odometers as they stand at a turn/start, for the members that read them settled."""
    for index, part in enumerate(parts):
        depth = max((meter.settled for meter in part.ripe.odometers()), default=0)
        if depth:
            now = state.parts[index]
            kept = (*now.samples, counters(state, now))[-depth:]
            set_part(state, index, replace(now, samples=kept))
