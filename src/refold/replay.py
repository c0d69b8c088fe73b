"""Replaying a log: what each call's prompt would have been, and how much of the one before it kept.

One prompt a step, taken where the model answers (or where the step ends without an answer).
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from refold.events import AssistantMessage, Event, StepEnd, StepStart, SurfaceEvent
from refold.prefix import Prompt, common_text
from refold.prompt import rendered_text
from refold.reducer import Reducer, View
from refold.reducer._surface import node_at
from refold.reducer.ripe import only_unseen

Follow = Callable[[Event, View, View], None]


class ReplayedStep(msgspec.Struct, frozen=True):
    """One step/start and the prompt its model call was sent.

    `tokens` by the reducer's meter, None where it refused the log; `cuts` the seqs of the results cut for this call;
    `replacements` how far a host's counter of replacements (DSH's `replaceGeneration`) moves between the call before
    and this one: one for each replacement in the log, and in `what-if`, where the host is taken to commit, one for each
    cut of what a model has seen; `prompt_chars` the prompt's length and `prefix_chars` how much of its head equals the
    previous prompt, both in code points of the prompt as `refold messages` prints it, compact.
    """

    turn: int
    step: int
    tokens: int | None
    cuts: tuple[int, ...]
    prefix_chars: int
    prompt_chars: int
    replacements: int


def replay(reducer: Reducer, events: Iterable[Event]) -> Iterator[ReplayedStep]:
    """Each step of the log under the reducer, in order. Raises SurfaceError (and what `events` raises)."""
    prompt = Prompt[SurfaceEvent](_length, _common)

    def follow(event: Event, before: View, after: View) -> None:
        prompt.follow(event, before, after)
        if after.system is not before.system:
            prompt.frame(after.system)

    counted = 0
    for start, _, view in asked(reducer, events, follow):
        kept, tokens = prompt.take(), reducer.measure(view).tokens
        moved = view.replace_generation - counted
        counted = view.replace_generation
        if reducer.mode == "what-if":
            moved += sum(_is_replacement(reducer, view, seq) for seq in view.enforced)
        yield ReplayedStep(start.turn, start.step, tokens, view.enforced, kept.whole + kept.part, kept.total, moved)


def _is_replacement(reducer: Reducer, view: View, seq: int) -> bool:
    """Does a host commit this cut by replacing what its log holds? What is cut unseen is cut before it is logged."""
    node = node_at(view, seq)
    return node is None or not only_unseen(reducer.policy.parts[node.cut_by].ripe)


def asked(
    reducer: Reducer, events: Iterable[Event], follow: Follow
) -> Iterator[tuple[StepStart, AssistantMessage | None, View]]:
    """Each step with its answer, None where it got none, and the view whose prompt was sent; `follow` sees each fold.

    Raises SurfaceError (and what `events` raises).
    """
    view = reducer.start()
    open_step: StepStart | None = None
    for event in events:
        if open_step is not None and isinstance(event, AssistantMessage | StepEnd | StepStart):
            yield open_step, event if isinstance(event, AssistantMessage) else None, view
            open_step = None
        before, view = view, reducer.fold(view, event)
        follow(event, before, view)
        if isinstance(event, StepStart):
            open_step = event
    if open_step is not None:
        yield open_step, None, view


def _length(message: SurfaceEvent) -> int:
    return len(rendered_text(message))


def _common(one: SurfaceEvent, other: SurfaceEvent) -> int:
    return common_text(rendered_text(one), rendered_text(other))
