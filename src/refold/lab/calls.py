"""The calls of a session under a policy: what each one's prompt weighed, and how much of the last one it began with."""

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from refold.events import (
    AssistantMessage,
    Block,
    Event,
    Reasoning,
    StepStart,
    SurfaceEvent,
    Text,
    ToolResult,
    ToolUse,
    Usage,
)
from refold.prefix import Prompt, common_text
from refold.reducer import Reducer, View
from refold.reducer import _queue as queue
from refold.reducer._view import Header
from refold.replay import asked


class Call(msgspec.Struct, frozen=True):
    """One model call. All sizes are tokens; places are those at which a prompt cache can look, a few to a message.

    `answer` is what the model said, as the next prompt has it. `prefix` tokens are the same as at the head of the call
    before and its answer, to the token inside the first block that differs; of these `whole` are in whole messages.
    `places` and `prefix_places` count the prompt and the whole messages in places. `waiting` tokens in
    `waiting_places` stand before the first result that a later call may cut, None where there is none. `frame` is the
    system prompt with the tools, which stands before all messages; `reframed` says that it changed, so that nothing is
    the same. `time` is the call's start in Unix milliseconds, 0 where the log has none. `cuts` are the results cut for
    this call. `usage` is what the provider reported of the call as it really was.
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
    waiting: int | None = None
    waiting_places: int = 0
    cuts: tuple[int, ...] = ()
    usage: Usage | None = None


def calls(reducer: Reducer, events: Iterable[Event]) -> tuple[Call, ...]:
    """Every call of a log under a reducer, in order; tokens by its meter's estimator. Raises SurfaceError."""
    tracker = Tracker(reducer)
    return tuple(tracker.call(*step) for step in asked(reducer, events, tracker.follow))


class Tracker:
    """The prompt of one replay in tokens and in places. It follows every fold and is asked at every call."""

    def __init__(self, reducer: Reducer) -> None:
        self._price, self._estimator = reducer.price, reducer.meter.estimator
        self._tokens = Prompt[Header](self._length, self._alike)
        self._places = Prompt[Header](_Places().of, lambda one, other: 0)
        self._reframed = self._asked = False
        self._model = ""

    def follow(self, event: Event, before: View, after: View) -> None:
        frame = _frame(after)
        for prompt in (self._tokens, self._places):
            prompt.follow(event, before, after)
            if isinstance(event, AssistantMessage):
                prompt.stretch()
            if frame is not None:
                prompt.frame(frame)
        self._reframed |= frame != _frame(before)

    def call(self, start: StepStart, answer: AssistantMessage | None, view: View) -> Call:
        kept, looks = self._tokens.take(), self._places.take()
        reframed, self._reframed = self._reframed and self._asked, False
        self._asked = True
        if answer is not None:
            self._model = answer.model
        waiting = min((self.before(seq) for seq in _waiting(view)), default=None)
        return Call(
            seq=start.seq,
            turn=start.turn,
            step=start.step,
            time=start.time,
            model=self._model,
            prompt=kept.total,
            answer=0 if answer is None else self._price(answer),
            prefix=kept.whole + kept.part,
            whole=kept.whole,
            places=looks.total,
            prefix_places=looks.whole,
            frame=view.header.tokens if view.header is not None else 0,
            reframed=reframed,
            waiting=waiting and waiting[0],
            waiting_places=waiting[1] if waiting else 0,
            cuts=view.enforced,
            usage=None if answer is None else answer.usage,
        )

    def before(self, seq: int) -> tuple[int, int]:
        """Tokens and places before a message of the prompt."""
        return self._tokens.before(seq), self._places.before(seq)

    def _length(self, item: SurfaceEvent | Header) -> int:
        return item.tokens if isinstance(item, Header) else self._price(item)

    def _alike(self, one: SurfaceEvent | Header, other: SurfaceEvent | Header) -> int:
        if isinstance(one, Header) or isinstance(other, Header):
            return 0
        return self._estimator.blocks(common_blocks(one, other))


def _waiting(view: View) -> Iterator[int]:
    """The first candidate of each part's queue."""
    for index, part in enumerate(view.parts):
        nodes = (queue.holder(view, index, place) for place in range(part.head, part.end))
        yield from (node.seq for node in islice(filter(None, nodes), 1))


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


def common_blocks(one: SurfaceEvent, other: SurfaceEvent) -> tuple[Block, ...]:
    """What two messages begin with: blocks that are equal, and what the first two that differ have in common."""
    if type(one) is not type(other):
        return ()
    common: list[Block] = []
    for old, new in zip(one.content, other.content, strict=False):
        if old == new:
            common.append(old)
            continue
        if isinstance(old, Text | Reasoning) and type(old) is type(new):
            common.append(type(old)(old.text[: common_text(old.text, new.text)]))
        break
    return tuple(common)
