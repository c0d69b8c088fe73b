"""The stateless use: a host passes its whole message list before each model call and sends what it gets back.

Nothing is remembered between two calls and nothing has to be: the list's own history is folded again each time, so the
same results are cut at the same calls as in a session that is folded live. Pass the original list, never a shaped one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from refold.events import Event, FormatError, PolicyError, ToolResult
from refold.events.formats import anthropic_messages, openai_chat
from refold.events.formats._conversation import Conversation, Request
from refold.events.formats._messages import Path, native, parts
from refold.reducer import Counted, Meter, Policy, Reducer, Reported, when


def events_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Event, ...]:
    """The events that a list of OpenAI-chat or Anthropic messages tells, detected by its shape.

    A list that ends with a prompt or with results is about to be sent: the events end in the open step that sends it.
    Times are 0, and there is no usage. Raises FormatError for what is no message.
    """
    return tuple(_told(messages).journal.events)


def shape(messages: Sequence[Mapping[str, Any]], policy: Policy, meter: Meter | None = None) -> list[Mapping[str, Any]]:
    """The list to send now: the messages that the policy leaves alone are the same objects, a message whose result it
    cuts is a copy with only that content changed. What is cut is what a `derive` fold of `events_of` cuts.

    `meter` is Counted() where none is given. Raises FormatError for what is no message, and for a list that starts with
    a tool result, whose call the host has dropped: results must not change their place in history from call to call.
    Raises PolicyError for a policy or meter that needs usage, times or a context window, which no list tells.
    """
    meter = Counted() if meter is None else meter
    _check(policy, meter)
    told = _told(messages)
    first = next((message for message in told.said if message.role not in ("system", "developer")), None)
    if first is not None and first.role == "tool":
        raise FormatError(
            f"the list starts with a tool result (call id {first.call_id!r}) and holds no call for it: "
            "pass the whole list, or cut it before an assistant message"
        )
    reducer = Reducer(policy, meter, mode="derive")
    view = reducer.fold_all(reducer.start(), told.journal.events)
    shaped: list[Any] = list(messages)
    for shown in reducer.messages(view):
        if isinstance(shown, ToolResult):
            before = told.journal.events[shown.seq]
            if isinstance(before, ToolResult) and before.content != shown.content:
                place, *inner = told.origins[shown.seq]
                shaped[int(place)] = _changed(shaped[int(place)], tuple(inner), shown)
    return shaped


def _told(messages: Sequence[Mapping[str, Any]]) -> Conversation:
    items = [dict(message) if isinstance(message, Mapping) else message for message in messages]
    complaints: list[str] = []
    read = anthropic_messages.messages if any(map(anthropic_messages.is_own, items)) else openai_chat.messages
    found = read(items, (), complaints.append)
    if complaints:
        raise FormatError(complaints[0])
    told = Conversation("messages")
    told.ask(Request(messages=found))
    told.settle()
    if found and found[-1].role != "assistant":
        told.open_step()
    return told


def _changed(value: Any, path: Path, shown: ToolResult) -> Any:
    """A copy of a message, or of what is in it, in which the content at the path says what is shown."""
    if not path:
        return native(value, parts(value), shown.content)
    key = path[0]
    if isinstance(value, Mapping):
        return {**value, key: _changed(value[key], path[1:], shown)}
    return [_changed(each, path[1:], shown) if place == key else each for place, each in enumerate(value)]


def _check(policy: Policy, meter: Meter) -> None:
    if isinstance(meter, Reported):
        raise PolicyError("Reported needs the usage of each answer, which no message list tells", field="meter")
    for part in policy.parts:
        members = [part.when]
        for member in members:
            members += getattr(member, "parts", ())
            wanted = _missing(member)
            if wanted:
                raise PolicyError(
                    f"{type(member).__name__} needs {wanted}, which no message list tells; fold the session's events "
                    "instead",
                    field=f"{part.name}.when",
                )


def _missing(member: object) -> str:
    """What a member cannot do without and a list does not hold, "" for nothing."""
    match member:
        case when.Idle():
            return "event times"
        case when.Debt(idle_seconds=seconds) if seconds:
            return "event times (it does without them with idle_seconds=0)"
        case when.Pressure():
            return "the model's context window"
        case when.OnOverflow():
            return "the provider's refusals"
    return ""
