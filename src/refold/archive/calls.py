"""Which call does a result answer?"""

from refold.events import AssistantMessage, Event, ToolCall, ToolResult, ToolUse
from refold.reducer._view import Call

Calls = tuple[Call, ...]
"""The calls of the newest assistant message that wait for their results, as `View.calls`."""


def answered(calls: Calls, result: ToolResult) -> Call | None:
    """The call that a result answers, None for an orphan.

    Real logs repeat call ids and leave them empty: the tool/call that the result cites counts first, an id only among
    the calls of the newest assistant message.
    """
    cited = result.sources or ()
    found = next((call for call in calls if call.seq in cited), None)
    return found or next((call for call in calls if call.id == result.call_id), None)


def follow(calls: Calls, event: Event) -> Calls:
    """The calls that wait after one more event."""
    if isinstance(event, AssistantMessage):
        return tuple(Call(-1, use.id, use.name, use.arguments) for use in event.content if isinstance(use, ToolUse))
    if isinstance(event, ToolCall):
        started = Call(event.seq, event.call_id, event.name, event.arguments)
        for place, call in enumerate(calls):
            if call.seq < 0 and call.id == event.call_id:
                return (*calls[:place], started, *calls[place + 1 :])
        return (*calls, started)
    if isinstance(event, ToolResult) and event.replaces is None:
        done = answered(calls, event)
        return tuple(call for call in calls if call is not done)
    return calls
