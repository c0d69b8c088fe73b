"""Committing: the operations due on a log as it stands, worked out until nothing is due."""

from refold.events import Block, CompactionPrune, Event, Replacement, ToolResult, TurnEnd, TurnStart
from refold.reducer import DshEstimator, Operation, Reducer, View


class Commit:
    """The operations that a host would append now, in order, each against what stands after the ones before it.

    A plan targets a node at most once; a later part of a policy may take up what an earlier one has cut at the next
    pre-step. Nothing stands between here and that pre-step, so the plan is asked again until it is empty: the log that
    comes out has nothing due. `view` is the view of that log, `written[i]` the seq of the
    replacement that commits operation i, `contents` what stands in the end for each result that was on the surface.
    Shadow prices are by DSH's estimator for the log's format `version`, whatever the reducer's meter.
    """

    def __init__(self, reducer: Reducer, view: View, version: int) -> None:
        self.operations: list[Operation] = []
        self.replacements: list[Replacement] = []
        self.written: list[int] = []
        self.contents: dict[int, tuple[Block, ...]] = {}
        self.view = view
        self._original: dict[int, int] = {}
        self._reducer, self._estimator = reducer, DshEstimator(version)
        closed = not view.turn_open
        operations = reducer.plan(view)
        if closed and operations:
            self._fold(TurnStart(self.view.position, view.time, view.turn + 1))
        while operations:
            for operation in operations:
                self._commit(operation)
            operations = reducer.plan(self.view)
        if closed and self.operations:
            self._fold(TurnEnd(self.view.position, view.time, self.view.turn))

    def _commit(self, operation: Operation) -> None:
        before, time = operation.before, self.view.time
        price = self._estimator.message(before)
        self.operations.append(operation)
        original = self._original.pop(operation.seq, operation.seq)
        self._original[self.view.position + 1] = original
        self.contents[original] = operation.content
        self.written.append(self.view.position + 1)
        self.replacements.append(Replacement(operation.seq, operation.content, price))
        self._fold(CompactionPrune(self.view.position, time, (operation.seq,), price))
        self._fold(
            ToolResult(
                self.view.position,
                time,
                operation.content,
                before.turn,
                before.step,
                before.call_id,
                before.is_error,
                before.envelope,
                (operation.seq, operation.seq),
                (operation.seq,),
            )
        )

    def _fold(self, event: Event) -> None:
        self.view = self._reducer.fold(self.view, event)
