"""The laws of the fold: the view depends on the log alone, however and whenever it was folded."""

from itertools import pairwise

import msgspec

from refold.events import Event, Reorder, StepStart, SurfaceError
from refold.laws.case import Case, LawBroken, difference
from refold.laws.live import play
from refold.reducer import Operation, Reducer, View, dump, load

SPLITS = 3


def pure(case: Case) -> None:
    """Fold and plan change no argument and depend on nothing else; equal inputs give equal outputs."""
    for reducer, events, views in case.logs:
        for at in _places(len(events)):
            view, event = views[at], events[at]
            before = dump(view)
            known, twin = (view, event), (load(reducer, before), msgspec.structs.replace(event))
            if reducer.plan(known[0]) != reducer.plan(twin[0]) or reducer.plan(view) != reducer.plan(view):
                raise LawBroken("pure", f"two plans of one view differ, before event {event.seq}")
            if reducer.fold(*known) != reducer.fold(*twin):
                raise LawBroken("pure", f"two folds of event {event.seq} into one view differ")
            reducer.fold_all(view, events[at:])
            if dump(view) != before:
                raise LawBroken("pure", f"the view before event {event.seq} was changed by what was folded into it")


def replay(case: Case) -> None:
    """Folding A and then B gives the view of A + B, and putting the view aside between them changes nothing."""
    for reducer, events, views in case.logs:
        for at in _places(len(events)):
            head = reducer.fold_all(reducer.start(), events[:at])
            _same("replay", views[at], head, f"folded one by one and at once, up to event {at}")
            _same("replay", views[-1], reducer.fold_all(head, events[at:]), f"folded in two parts, split at {at}")
            kept = load(reducer, dump(head))
            _same("replay", head, kept, f"dumped and loaded after {at} events")
            _same("replay", views[-1], reducer.fold_all(kept, events[at:]), f"dumped and loaded after {at} events")


def resume(case: Case) -> None:
    """At every step/start of a log, in each mode, the live run's view is the view folded from the log."""
    for reducer, events, views in case.logs:
        view, done = reducer.start(), 0
        for at, event in enumerate(events, 1):
            if isinstance(event, StepStart):
                view, done = reducer.fold_all(view, events[done:at]), at
                _same("resume", views[at], view, f"{reducer.mode}: live and resumed at step/start {event.seq}")
                if reducer.plan(view) != reducer.plan(views[at]):
                    raise LawBroken("resume", f"{reducer.mode}: another plan after resuming at {event.seq}")


def order(case: Case) -> None:
    """Events fold in seq order only; `Reorder` restores any delivery within its window; parallel results commute."""
    for reducer, events, views in case.logs:
        for at in _places(len(events)):
            for wrong in (events[at - 1 : at] if at else ()) + events[at + 1 : at + 2]:
                _refused(reducer, views[at], wrong)
    _delivered(case)
    _interleaved(case)


def _refused(reducer: Reducer, view: View, event: Event) -> None:
    try:
        reducer.fold(view, event)
    except SurfaceError:
        return
    raise LawBroken("order", f"seq {event.seq} was folded where seq {view.position} was due")


def _delivered(case: Case) -> None:
    events = case.commit.events
    for window in (1, 2, 5):
        for shuffled in (_blocks_reversed(events, window), _each_late(events, window)):
            reorder = Reorder(window)
            ready = [event for arrived in shuffled for event in reorder.push(arrived)]
            reorder.flush()
            if tuple(ready) != events:
                raise LawBroken("order", f"a delivery displaced by at most {window} was not restored")


def _blocks_reversed(events: tuple[Event, ...], window: int) -> list[Event]:
    """Every block of window + 1 events backwards, and every event of it twice."""
    return [
        event
        for start in range(0, len(events), window + 1)
        for event in reversed(events[start : start + window + 1])
        for _ in range(2)
    ]


def _each_late(events: tuple[Event, ...], window: int) -> list[Event]:
    """The first of each window + 1 events comes last."""
    return [
        event
        for start in range(0, len(events), window + 1)
        for event in (*events[start + 1 : start + window + 1], *events[start : start + 1])
    ]


def _interleaved(case: Case) -> None:
    script = case.script
    alive = tuple(msgspec.structs.replace(act, dies=None) if hasattr(act, "dies") else act for act in script.acts)
    if not any(len(getattr(act, "calls", ())) > 1 for act in alive):
        return
    script = msgspec.structs.replace(script, acts=alive)
    runs = [play(script, case.reducer("commit"), number) for number in (0, 1, 5)]
    plans = [[_by_call(beat.operations, run.labels) for beat in run.beats] for run in runs]
    for one, other in pairwise(plans):
        if one != other:
            raise LawBroken("order", "parallel results logged in another order are cut at other steps or otherwise")


def _by_call(operations: tuple[Operation, ...], labels: dict[int, tuple[int, int]]) -> dict[object, object]:
    return {(labels[operation.seq], operation.part): operation.content for operation in operations}


def _places(length: int) -> list[int]:
    """A few places in a log, spread over it, the first among them."""
    return sorted({length * part // SPLITS for part in range(SPLITS)}) if length else []


def _same(law: str, expected: View, found: View, where: str) -> None:
    if expected != found:
        raise LawBroken(law, f"{where}: {difference(expected, found)}")
