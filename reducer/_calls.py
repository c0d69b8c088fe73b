"""Which call does a result answer?

Real logs repeat call ids and leave them empty: the tool/call that a result cites counts first, an id only among the
calls of the newest assistant message, each once.
"""

from refold.events import AssistantMessage, ToolCall, ToolResult, ToolUse
from refold.reducer._view import Call

Calls = tuple[Call, ...]
"""The calls of the newest assistant message that wait for their results."""


def asked(message: AssistantMessage) -> Calls:
    """The calls that wait behind an answer."""
    return tuple(
        [Call(-1, block.id, block.name, block.arguments) for block in message.content if type(block) is ToolUse]
    )


def started(calls: Calls, event: ToolCall) -> Calls:
    """The calls once one of them has its tool/call."""
    place = 0
    for waiting in calls:
        if waiting.seq < 0 and waiting.id == event.call_id:
            break
        place += 1
    opens_turn = place < len(calls) and calls[place].opens_turn
    call = Call(event.seq, event.call_id, event.name, event.arguments, opens_turn)
    return (*calls[:place], call, *calls[place + 1 :])


def answered(calls: Calls, result: ToolResult) -> Call | None:
    """The call that a result answers, None for an orphan."""
    cited = result.sources or ()
    for call in calls:
        if call.seq in cited:
            return call
    for call in calls:
        if call.id == result.call_id:
            return call
    return None


def without(calls: Calls, done: Call | None) -> Calls:
    """The calls that still wait."""
    return tuple([call for call in calls if call is not done])
