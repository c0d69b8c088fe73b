"""The calls of a session under a policy: what each one's prompt weighed, and how much of the last one it began with."""

from collections.abc import Iterable

import msgspec

from refold.events import AssistantMessage, Event, Reasoning, SurfaceEvent, Text, ToolResult, ToolUse, Usage
from refold.prefix import Prompt, common_text
from refold.reducer import Reducer, View
from refold.reducer._view import Header
from refold.replay import asked


class Call(msgspec.Struct, frozen=True):
    """One model call. All sizes are tokens; places are those at which a prompt cache can look, a few to a message.

    `answer` is what the model said, as the next prompt has it. `prefix` tokens are the same as at the head of the call
    before and its answer, to the token inside the first block that differs; of these `whole` are in whole messages.
    `places` and `prefix_places` count the prompt and the whole messages in places. `frame` is the system prompt with
    the tools, which stands before all messages; `reframed` says that it changed, so that nothing is the same. `time` is the call's start in Unix milliseconds, 0 where the log has none. `cuts` are the results cut
    for this call. `usage` is what the provider reported of the call as it really was.
    """

    seq: int
    turn: int
    step: int
    time: int
    model: str
    prompt: int
    answer: int
    prefix: int
    whole: int
    places: int
    prefix_places: int
    frame: int
    reframed: bool = False
    cuts: tuple[int, ...] = ()
    usage: Usage | None = None


def calls(reducer: Reducer, events: Iterable[Event]) -> tuple[Call, ...]:
    """Every call of a log under a reducer, in order; tokens by its meter's estimator. Raises SurfaceError."""
    estimator = reducer.meter.estimator

    def tokens(item: SurfaceEvent | Header) -> int:
        return item.tokens if isinstance(item, Header) else reducer.price(item)

    def alike(one: SurfaceEvent | Header, other: SurfaceEvent | Header) -> int:
        if isinstance(one, Header) or isinstance(other, Header):
            return 0
        return estimator.blocks(common_blocks(one, other))

    prompt, places = Prompt[Header](tokens, alike), Prompt[Header](_Places().of, lambda one, other: 0)
    reframed = False

    def follow(event: Event, before: View, after: View) -> None:
        nonlocal reframed
        prompt.follow(event, before, after)
        places.follow(event, before, after)
        if isinstance(event, AssistantMessage):
            prompt.stretch()
            places.stretch()
        frame = _frame(after)
        if frame != _frame(before):
            reframed = True
            prompt.frame(frame)
            places.frame(frame)

    found: list[Call] = []
    model = ""
    for start, answer, view in asked(reducer, events, follow):
        kept, looks = prompt.take(), places.take()
        model = answer.model if answer is not None else model
        found.append(
            Call(
                start.seq,
                start.turn,
                start.step,
                start.time,
                model,
                kept.total,
                reducer.price(answer) if answer is not None else 0,
                kept.whole + kept.part,
                kept.whole,
                looks.total,
                looks.whole,
                view.header.tokens if view.header is not None else 0,
                reframed and bool(found),
                view.enforced,
                answer.usage if answer is not None else None,
            )
        )
        reframed = False
    return tuple(found)


def _frame(view: View) -> Header | None:
    """The header as far as it stands in a prompt: other settings are no text."""
    header = view.header
    return None if header is None else Header(header.system, header.tools, "", header.tokens)


class _Places:
    """How many places of a message a cache can end at: a block each, but a run of calls, or of results, is one.

    Anthropic's rule ("a run of tool_use blocks counts as one position and so does a run of tool_result blocks").
    """

    def __init__(self) -> None:
        self._step: tuple[int, int] | None = None

    def of(self, item: SurfaceEvent | Header) -> int:
        step = (item.turn, item.step) if isinstance(item, ToolResult) else None
        goes_on = step is not None and step == self._step
        self._step = step
        if step is not None:
            return 0 if goes_on else 1
        if isinstance(item, Header):
            return 0
        if not isinstance(item, AssistantMessage):
            return 1
        calls = any(isinstance(block, ToolUse) for block in item.content)
        return sum(not isinstance(block, ToolUse) for block in item.content) + calls


def common_blocks(one: SurfaceEvent, other: SurfaceEvent) -> tuple[Text | Reasoning, ...]:
    """What two messages begin with: blocks that are equal, and what the first two that differ have in common."""
    if type(one) is not type(other):
        return ()
    common = []
    for old, new in zip(one.content, other.content, strict=False):
        if old == new:
            common.append(old)
            continue
        if isinstance(old, Text | Reasoning) and type(old) is type(new):
            common.append(type(old)(old.text[: common_text(old.text, new.text)]))
        break
    return tuple(common)
