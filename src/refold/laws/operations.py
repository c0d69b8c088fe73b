"""The laws of an operation: when it comes, to whom, what it takes, and that it can be undone."""

from msgspec import structs

from refold.events import Block, Event, StepEnd, StepStart, SurfaceError, Text, ToolResult, TurnStart
from refold.laws.case import Case, LawBroken
from refold.laws.run import Run
from refold.reducer import Operation, Part, View, when
from refold.reducer import _surface as surface
from refold.reducer import frozen as frozen_seqs
from refold.reducer._view import Node
from refold.reducer.ripe import Views
from refold.reducer.when import latch_of


def idempotent(case: Case) -> None:
    """Once its operations are in force the plan is empty; committing one again is refused, and changes nothing.

    After some of them the plan holds none but the rest (all of it, where nothing but a latch says when). That is not
    asked of a part that weighs what other parts leave: after some of their cuts it may have another answer.
    """
    run = case.commit
    for beat in run.beats:
        if due := run.reducer.plan(run.views[beat.done]):
            raise LawBroken("idempotent", f"seq {due[0].seq} is due again after the plan at event {beat.at}")
        for number, operation in enumerate(beat.operations):
            _rest_is_due(case, beat.operations, number, run.views[beat.at + 2 * number + 1])
            again = run.events[beat.at + 2 * number + 1]
            _refused(run, run.views[beat.done], structs.replace(again, seq=run.views[beat.done].position), operation)


def _rest_is_due(case: Case, operations: tuple[Operation, ...], number: int, view: View) -> None:
    rest = {operation.seq: operation.content for operation in operations[number:]}
    due = {operation.seq: operation.content for operation in case.commit.reducer.plan(view)}
    if len(case.policy.parts) > 1 and any(part.when.weighs for part in case.policy.parts):
        return
    steady = all(isinstance(part.when, when.Always | when.Latch) for part in case.policy.parts)
    if not (due == rest if steady else due.items() <= rest.items()):
        raise LawBroken("idempotent", f"after {number} of {len(operations)} operations the plan is not the rest")


def _refused(run: Run, view: View, again: Event, operation: Operation) -> None:
    known = structs.replace(view)
    try:
        run.reducer.fold(view, again)
    except SurfaceError:
        if view != known:
            raise LawBroken("idempotent", f"the refused second cut of seq {operation.seq} changed the view") from None
        return
    raise LawBroken("idempotent", f"seq {operation.seq} could be cut a second time")


def frozen(case: Case) -> None:
    """A latch opens at the first boundary that reaches its line; what is there then is frozen and never cut by it."""
    for run in (case.commit, case.derive):
        for index, part in enumerate(case.policy.parts):
            _latch_opens_in_time(run, index, part)
        for beat in run.beats:
            for operation in beat.operations:
                latch = run.views[beat.at].parts[operation.part].latch
                if latch is not None and run.origins[operation.seq] <= latch.seq:
                    raise LawBroken("frozen", f"seq {operation.seq} was there when the latch opened at {latch.seq}")
        _frozen_set(run)


def _latch_opens_in_time(run: Run, index: int, part: Part) -> None:
    line = latch_of(part.when)
    if line is None:
        return
    opened = None
    for event, view in zip(run.events, run.views[1:], strict=True):
        tokens = run.reducer.measure(view).tokens
        boundary = isinstance(event, TurnStart | StepEnd)
        if opened is None and boundary and tokens is not None and tokens >= line.tokens:
            opened = event.seq
        latch = view.parts[index].latch
        if (latch.seq if latch else None) != opened:
            raise LawBroken("frozen", f"after event {event.seq} the latch is {latch}, and should stand at {opened}")


def _frozen_set(run: Run) -> None:
    view = run.views[-1]
    latches = [part.latch.seq for part in view.parts if part.latch]
    there = [node.seq for _, node in surface.nodes(view) if isinstance(node.message, ToolResult)]
    expected = tuple(seq for seq in there if run.origins[seq] <= max(latches)) if latches else None
    if frozen_seqs(view) != expected:
        raise LawBroken("frozen", f"frozen are {frozen_seqs(view)}, and there when the latch opened were {expected}")


def once(case: Case) -> None:
    """A part targets a version of a node at most once, and never its own replacement; a later part may take that up."""
    own: dict[int, int] = {}
    for beat in case.commit.beats:
        for number, operation in enumerate(beat.operations):
            if own.get(operation.seq, -1) >= operation.part:
                raise LawBroken("once", f"seq {operation.seq} is the policy's own cut, and is cut again")
            own[case.commit.events[beat.at + 2 * number + 1].seq] = operation.part
    cut: set[tuple[int, int]] = set()
    for beat in case.derive.beats:
        for operation in beat.operations:
            if (operation.seq, operation.part) in cut:
                raise LawBroken("once", f"seq {operation.seq} is cut a second time")
            cut.add((operation.seq, operation.part))
    for beat in (*case.commit.beats, *case.derive.beats):
        seqs = [operation.seq for operation in beat.operations]
        if len(set(seqs)) < len(seqs):
            raise LawBroken("once", f"one plan targets a node twice: {seqs}")


def shrink(case: Case) -> None:
    """An operation lowers the node's price, and its code points where it drops nothing but text."""
    for run in (case.commit, case.derive):
        for beat in run.beats:
            for operation in beat.operations:
                _smaller(case, operation)


def _smaller(case: Case, operation: Operation) -> None:
    cut = structs.replace(operation.before, content=operation.content)
    tokens = tuple(case.meter.estimator.message(message) for message in (operation.before, cut))
    chars = tuple(_points(message.content) for message in (operation.before, cut))
    told = (operation.tokens_before, operation.tokens_after), (operation.chars_before, operation.chars_after)
    if told != (tokens, chars):
        raise LawBroken("shrink", f"the cut of seq {operation.seq} says {told} tokens and chars: {tokens}, {chars}")
    if tokens[1] >= tokens[0]:
        raise LawBroken("shrink", f"the cut of seq {operation.seq} costs {tokens[1]} tokens, uncut {tokens[0]}")
    if not operation.dropped and chars[1] >= chars[0]:
        raise LawBroken("shrink", f"the cut of seq {operation.seq} has {chars[1]} code points, uncut {chars[0]}")


def exact_views(case: Case) -> None:
    """Under `Always` or an open latch exactly n step/starts pass between a result's birth and its cut by `Views(n)`."""
    run = case.commit
    starts = [event.seq for event in run.events if isinstance(event, StepStart)]
    for beat in run.beats:
        view = run.views[beat.at]
        targeted = {operation.seq: operation for operation in beat.operations}
        for index, part in enumerate(case.policy.parts):
            if (
                not isinstance(part.ripe, Views)
                or part.ripe.settled
                or not isinstance(part.when, when.Always | when.Latch)
            ):
                continue
            for _, node in surface.nodes(view):
                seen = sum(node.seq < start < view.position for start in starts)
                due = targeted[node.seq].part == index if node.seq in targeted else False
                if due and seen != part.ripe.n:
                    raise LawBroken("exact views", f"seq {node.seq} is cut after {seen} step/starts, not {part.ripe.n}")
                if node.seq not in targeted and seen >= part.ripe.n and _may_cut(case, view, index, part, node):
                    raise LawBroken("exact views", f"seq {node.seq} is not cut after {seen} step/starts")


def _may_cut(case: Case, view: View, index: int, part: Part, node: Node) -> bool:
    """Is it in reach of the law: a result that the part may cut, that nobody has cut, and that no latch holds back?"""
    latch = view.parts[index].latch
    held = isinstance(part.when, when.Latch) and (latch is None or case.commit.origins.get(node.seq, -1) <= latch.seq)
    if held or node.cut_by >= 0 or part.which.refuses(node) is not None:
        return False
    return case.cut(index, node) is not None


def kept(case: Case) -> None:
    """The original can be recovered from the log for every operation."""
    for run in (case.commit, case.derive):
        for beat in run.beats:
            for operation in beat.operations:
                _recoverable(run, operation)
    for beat in case.commit.beats:
        for number, operation in enumerate(beat.operations):
            written = case.commit.events[beat.at + 2 * number + 1]
            if not isinstance(written, ToolResult) or operation.seq not in (written.sources or ()):
                raise LawBroken("kept", f"what replaced seq {operation.seq} does not cite it")


def _recoverable(run: Run, operation: Operation) -> None:
    original = run.by_seq.get(run.origins[operation.seq])
    logged = run.by_seq.get(operation.seq)
    if not isinstance(original, ToolResult) or not isinstance(logged, ToolResult):
        raise LawBroken("kept", f"the log holds no result for the cut seq {operation.seq}")
    first_cut = run.reducer.mode == "commit" or operation.before is logged
    if first_cut and logged.content != operation.before.content:
        raise LawBroken("kept", f"the log holds other content for seq {operation.seq} than the operation replaces")


def _points(content: tuple[Block, ...]) -> int:
    return sum(len(block.text) for block in content if isinstance(block, Text))
