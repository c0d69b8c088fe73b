"""The stateless use: a host passes its whole message list before each model call and sends what it gets back.

Nothing is remembered between two calls and nothing has to be: the list's own history is folded again each time, so the
same results are cut at the same calls as in a session that is folded live. Pass the original list, never a shaped one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from refold.bridges.history import Fold, applied, change_json, conversation, refuse, tell
from refold.bridges.untold import check
from refold.events import Event
from refold.events.formats import anthropic_messages, openai_chat
from refold.events.formats._conversation import Conversation
from refold.reducer import Counted, Meter, Policy, Reducer


def events_of(messages: Sequence[Any]) -> tuple[Event, ...]:
    """The events that a list of OpenAI-chat or Anthropic messages tells, detected by its shape.

    A list that ends with a prompt or with results is about to be sent: the events end in the open step that sends it.
    Times are 0, and there is no usage. Raises FormatError for what is no message.
    """
    return tuple(_told(messages).journal.events)


def shape(messages: Sequence[Any], policy: Policy, meter: Meter | None = None) -> list[Any]:
    """The list to send now: the messages that the policy leaves alone are the same objects, a message whose result it
    cuts is a copy with only that content changed. What is cut is what a `derive` fold of `events_of` cuts.

    Messages may hold the objects that the SDKs answer with. `meter` is Counted() where none is given. Raises
    FormatError for what is no message, and for a list that starts with a tool result, whose call the host has dropped:
    results must not change their place in history from call to call. Raises PolicyError for a policy or
    meter that needs usage, times or a context window, which no list tells.
    """
    meter = Counted() if meter is None else meter
    check(policy, meter)
    fold = Fold(Reducer(policy, meter, mode="derive"), conversation())
    fold.extend(messages, tell_messages)
    cuts = fold.cuts if fold.answered else fold.asked()[1]
    return applied(messages, fold.told, cuts, change_json, fold.made)


def _told(messages: Sequence[Any]) -> Conversation:
    told = conversation()
    tell_messages(told, messages, 0)
    told.settle()
    if told.said and told.said[-1].role != "assistant":
        told.open_step()
    return told


def tell_messages(told: Conversation, messages: Sequence[Any], known: int) -> None:
    """Tell what a list goes on with after its first `known` messages. Raises FormatError."""
    items = [_plain(message) for message in messages[known:]]
    read = anthropic_messages.messages if any(map(anthropic_messages.is_own, items)) else openai_chat.messages
    tell(told, read(items, (), refuse), known)


def _plain(value: Any) -> Any:
    """A message as JSON values: loops append the SDK's own objects, whole or inside a dict."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else value
