"""The laws of the queue's books: the boundary and the sums, recomputed from scratch after every event."""

from refold.events import ToolResult
from refold.laws.case import Case, LawBroken
from refold.reducer import Part, Reducer, View
from refold.reducer import _queue as queue
from refold.reducer import _surface as surface
from refold.reducer._view import PartState
from refold.reducer.ripe import reading
from refold.reducer.which import code_points


def prefix(case: Case) -> None:
    """An entry is ripe if and only if it stands before the boundary of its queue."""
    for reducer, _, views in case.logs:
        for view in views:
            for part, now in zip(reducer.policy.parts, view.parts, strict=True):
                _ripe_before_boundary(view, part, now)


def _ripe_before_boundary(view: View, part: Part, now: PartState) -> None:
    known, meters = queue.counters(view, now), part.ripe.odometers()
    shown = tuple(reading(meter, known, now.samples) for meter in meters)
    for place, entry in enumerate(now.entries):
        advances = tuple(after - stamp for after, stamp in zip(shown, entry.stamps, strict=True))
        if part.ripe.reached(advances) != (place < now.boundary):
            raise LawBroken(
                "prefix",
                f"before event {view.position}, part {part.name}: entry {place} of {now.end} moved by {advances}, "
                f"and the boundary is at {now.boundary}",
            )


def sums(case: Case) -> None:
    """The running sums equal those recomputed from surface and queue."""
    for reducer, _, views in case.logs:
        for view in views:
            for name, kept, counted in _sums(case, reducer, view):
                if kept != counted:
                    raise LawBroken("sums", f"before event {view.position}: {name} is {kept}, counted {counted}")


def _sums(case: Case, reducer: Reducer, view: View) -> list[tuple[str, object, object]]:
    nodes = [node for _, node in surface.nodes(view)]
    found: list[tuple[str, object, object]] = [
        ("alive", view.alive, len(nodes)),
        ("tokens", view.tokens, sum(case.price(node.message) for node in nodes)),
        ("freed", view.freed, sum(node.freed for node in nodes)),
        ("ghost", view.ghost, sum(node.ghost for node in nodes)),
    ]
    for index, (part, now) in enumerate(zip(reducer.policy.parts, view.parts, strict=True)):
        live = []
        for node in nodes:
            place = node.tickets[index] if node.tickets else -1
            if place >= 0 and isinstance(node.message, ToolResult):
                cut = case.cut(index, node)
                gain = (node.tokens - cut[1], code_points(node.content) - code_points(cut[0])) if cut else (0, 0)
                live.append((place, *gain))
        ripe = [(place, tokens) for place, tokens, _ in live if place < now.boundary]
        found += [
            (f"{part.name}: live", now.live, len(live)),
            (f"{part.name}: chars", now.chars, sum(chars for _, _, chars in live)),
            (f"{part.name}: ripe", now.ripe, len(ripe)),
            (f"{part.name}: gain", now.gain, sum(tokens for _, tokens in ripe)),
            (f"{part.name}: moment", now.moment, sum(tokens * now.since[place] for place, tokens in ripe)),
            (f"{part.name}: end", now.end, len(now.entries)),
            (f"{part.name}: boundary", now.boundary, len(now.since)),
            (f"{part.name}: gone before the head", 0, sum(place < now.head for place, _, _ in live)),
        ]
    return found
