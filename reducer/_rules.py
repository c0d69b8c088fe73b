"""What each event changes: the whole reducer as one table from event type to rule.

A rule works on the mutable twin of a view. It checks before it changes anything, so a refused event leaves the twin
as it was. Types without a rule move the clock and nothing else.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Protocol

from msgspec.structs import replace

from refold.events import (
    AssistantChunks,
    AssistantMessage,
    DeveloperMessage,
    Event,
    Overflow,
    RequestContext,
    RequestHeader,
    StepEnd,
    StepStart,
    SurfaceError,
    SurfaceEvent,
    SurfaceRewind,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from refold.reducer import _calls as calls
from refold.reducer import _queue as queue
from refold.reducer import _surface as surface
from refold.reducer._measure import Meter, Refused, forget_stream, header_of, stream, stream_overflow, tokens_now
from refold.reducer._plan import due
from refold.reducer._policy import Policy
from refold.reducer._view import Call, Latch, Message, Node, Operation, State


class Rules(Protocol):
    """What a rule may know of the reducer it works for."""

    @property
    def policy(self) -> Policy: ...
    @property
    def meter(self) -> Meter: ...
    @property
    def mode(self) -> str: ...
    @property
    def price(self) -> Callable[[SurfaceEvent], int]: ...
    @property
    def latches(self) -> tuple[int | None, ...]: ...


def turn_start(reducer: Rules, state: State, event: TurnStart) -> None:
    _end_turn(state)
    queue.sample(state, reducer.policy.parts)
    state.turn, state.turn_open, state.turn_has_call = event.turn, True, False
    _boundary(reducer, state, event)
    queue.ripen(state, reducer.policy.parts)


def turn_end(reducer: Rules, state: State, event: TurnEnd) -> None:
    state.turn_open = False
    _end_turn(state)
    queue.ripen(state, reducer.policy.parts)


def _end_turn(state: State) -> None:
    """Count a turn when it is over, and only if it had a step: a blocked turn changes nothing for any policy."""
    state.turns += state.turn_has_step
    state.turn_has_step = False


def step_start(reducer: Rules, state: State, event: StepStart) -> None:
    state.enforced = ()
    if reducer.mode != "commit":
        _enforce(reducer, state)
    if state.refusal is None:
        try:
            reducer.meter.started(state, event)
        except Refused as refused:
            state.refusal = str(refused)
    state.steps += 1
    state.step = event.step
    if event.time:
        state.step_time = event.time
    state.step_open = state.turn_has_step = True
    state.overflow = False
    queue.pass_by(state, reducer.policy.parts)
    queue.ripen(state, reducer.policy.parts)


def step_end(reducer: Rules, state: State, event: StepEnd) -> None:
    if state.refusal is None:
        try:
            reducer.meter.ended(state, event)
        except Refused as refused:
            state.refusal = str(refused)
    forget_stream(state)
    state.step_open = state.overflow = False
    _boundary(reducer, state, event)


def _boundary(reducer: Rules, state: State, event: TurnStart | StepEnd) -> None:
    """A pre-step begins: the one moment at which a latch looks at the measure."""
    state.boundary = event.seq
    for index, line in enumerate(reducer.latches):
        if line is None or state.parts[index].latch is not None:
            continue
        tokens = tokens_now(state)
        if tokens is not None and tokens >= line:
            queue.open_latch(state, reducer.policy.parts, index, Latch(event.seq, tokens))


def overflow(reducer: Rules, state: State, event: Overflow) -> None:
    state.overflow = True
    if reducer.meter.streams:
        stream_overflow(state, event)
    if reducer.mode != "commit":
        _enforce(reducer, state)


def chunks(reducer: Rules, state: State, event: AssistantChunks) -> None:
    if reducer.meter.streams:
        stream(state, event)


def header(reducer: Rules, state: State, event: RequestHeader) -> None:
    new = header_of(reducer.meter, event)
    if new == state.header:
        return
    if event.system is None:
        state.system = None
    elif state.header is None or event.system != state.header.system:
        state.system = SystemMessage(event.seq, event.time, (Text(event.system),))
    state.header = new


def context(reducer: Rules, state: State, event: RequestContext) -> None:
    state.context_window = event.context_window


def call(reducer: Rules, state: State, event: ToolCall) -> None:
    state.calls = calls.started(state.calls, event)


def message(reducer: Rules, state: State, event: Message) -> None:
    """A system, developer or user message, appended or put in the place of others."""
    node = Node(event.seq, event, reducer.price(event), event.seq, state.steps)
    if event.replaces is None:
        surface.append(state, node)
    else:
        _replace(reducer, state, node, surface.shadowed(state, event))


def assistant(reducer: Rules, state: State, event: AssistantMessage) -> None:
    tokens = reducer.price(event)
    gone = surface.shadowed(state, event) if event.replaces is not None else []
    if state.refusal is None:
        unsent = state.ghost if reducer.mode == "what-if" else 0
        try:
            reducer.meter.answered(state, event, tokens, unsent)
        except Refused as refused:
            state.refusal = str(refused)
    state.sent = len(state.slots)
    node = Node(event.seq, event, tokens, event.seq, state.steps)
    if gone:
        _replace(reducer, state, node, gone)
    else:
        surface.append(state, node)
    state.calls = calls.asked(event)
    if state.calls and not state.turn_has_call:
        state.turn_has_call = True
        first = state.calls[0].id  # calls that share it cannot be told apart, whatever order they are answered in
        state.calls = tuple([replace(each, opens_turn=each.id == first) for each in state.calls])
    state.span = event.seq
    state.turn_has_step = True
    state.overflow = False


_ORPHAN = Call(-1, "", "", "")


def result(reducer: Rules, state: State, event: ToolResult) -> None:
    tokens = reducer.price(event)
    if event.replaces is not None:
        _rewrite(reducer, state, event, tokens)
        return
    answered = calls.answered(state.calls, event) or _ORPHAN
    state.calls = calls.without(state.calls, answered)
    state.results += 1
    turn, step, place = state.newest
    state.newest = event.turn, event.step, place + 1 if (turn, step) == (event.turn, event.step) else 1
    node = Node(
        event.seq,
        event,
        tokens,
        event.seq,
        state.steps,
        answered.name,
        answered.arguments,
        opens_turn=answered.opens_turn,
        place=state.newest[2],
    )
    parts = reducer.policy.parts
    surface.append(state, queue.admit(state, parts, reducer.meter, len(state.slots), node, None))
    queue.ripen(state, parts)


def _rewrite(reducer: Rules, state: State, event: ToolResult, tokens: int) -> None:
    """A result's content is replaced: by the policy's own cut, which its bytes prove, or by someone else."""
    ((slot, old),) = surface.shadowed(state, event)
    hand = _own_hand(reducer, old, event)
    freed = old.freed + old.tokens - tokens if hand >= 0 else 0
    node = Node(
        event.seq,
        event,
        tokens,
        old.born,
        state.steps,
        old.tool,
        old.arguments,
        True,
        hand,
        freed=freed,
        opens_turn=old.opens_turn,
        place=old.place,
    )
    _stand(reducer, state, slot, old, node)
    state.replace_generation += 1


def _own_hand(reducer: Rules, old: Node, event: ToolResult) -> int:
    """Whose cut a rewrite is, -1 for nobody's. Of parts that make the same it is the last's: none goes on from it."""
    if old.cut_by >= 0 and event.content == old.content:
        return old.cut_by
    for index, part in reversed(tuple(enumerate(reducer.policy.parts))):
        if part.which.refuses(old) is None and part.how.content(old) == event.content:
            return index
    return -1


def _stand(reducer: Rules, state: State, slot: int, old: Node, node: Node) -> None:
    queue.leave(state, old)
    surface.put(state, slot, old, queue.admit(state, reducer.policy.parts, reducer.meter, slot, node, old))
    queue.ripen(state, reducer.policy.parts)
    queue.trim(state)


def _replace(reducer: Rules, state: State, node: Node, gone: list[tuple[int, Node]]) -> None:
    """Any message but a result takes the place of living nodes."""
    slot, old = gone[0]
    for _, leaving in gone:
        queue.leave(state, leaving)
    surface.put(state, slot, old, node)
    surface.kill(state, gone[1:], gone[-1][0] + 1)
    queue.trim(state)
    state.replace_generation += 1


def rewind(reducer: Rules, state: State, event: SurfaceRewind) -> None:
    start = 0
    if event.to_seq >= 0:
        slot = surface.slot_of(state, event.to_seq)
        if slot is None:
            raise SurfaceError(f"rewinds to seq {event.to_seq}, which is not on the surface", seq=event.seq)
        start = slot + 1
    gone = list(surface.nodes(state, start))
    for _, leaving in gone:
        queue.leave(state, leaving)
    surface.kill(state, gone, len(state.slots))
    queue.trim(state)


def _enforce(reducer: Rules, state: State) -> None:
    """Put the plan into force without a log: the nodes keep their seqs."""
    operations = due(reducer.policy, reducer.meter, state)
    state.enforced += tuple(operation.seq for operation in settle(reducer, state, operations))


def settle(reducer: Rules, state: State, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Cut what is due, and go on until nothing is; gives all the operations in surface order.

    One pass over the parts is enough, but where several share a surface: what a later part cuts may make an earlier
    one due that weighs what stands behind its candidates. Asked again, the host would then be told more.
    """
    slots: dict[int, Operation] = {}
    while operations:
        for operation in operations:
            slot = surface.slot_of(state, operation.seq)
            assert slot is not None, "a plan names living nodes"
            slots[slot] = operation
            cut(reducer, state, operation, slot)
        operations = due(reducer.policy, reducer.meter, state)
    return tuple(slots[slot] for slot in sorted(slots))


def cut(reducer: Rules, state: State, operation: Operation, slot: int) -> None:
    """The one transition by which a derived cut is made; a committed one comes through `_rewrite` to the same end."""
    old = state.slots[slot]
    assert isinstance(old, Node)
    saved = old.tokens - operation.tokens_after
    shown = _with_content(operation.before, operation.content)
    last = operation.part + 1 == len(reducer.policy.parts)
    node = Node(
        old.seq,
        shown,
        operation.tokens_after,
        old.born,
        state.steps,
        old.tool,
        old.arguments,
        True,
        operation.part if last else _own_hand(reducer, old, shown),
        (),
        old.freed + saved,
        old.ghost + saved,
        old.opens_turn,
        old.place,
    )
    _stand(reducer, state, slot, old, node)


def _with_content(before: ToolResult, content: tuple[Any, ...]) -> ToolResult:
    return ToolResult(
        before.seq,
        before.time,
        content,
        before.turn,
        before.step,
        before.call_id,
        before.is_error,
        before.envelope,
        before.replaces,
        before.sources,
    )


Rule = Callable[[Rules, State, Any], None]

RULES: "MappingProxyType[type[Event], Rule]" = MappingProxyType(
    {
        AssistantChunks: chunks,
        AssistantMessage: assistant,
        DeveloperMessage: message,
        Overflow: overflow,
        RequestContext: context,
        RequestHeader: header,
        StepEnd: step_end,
        StepStart: step_start,
        SurfaceRewind: rewind,
        SystemMessage: message,
        ToolCall: call,
        ToolResult: result,
        TurnEnd: turn_end,
        TurnStart: turn_start,
        UserMessage: message,
    }
)
