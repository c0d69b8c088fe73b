"""A loop over an SDK: it passes its whole message list before each model call and sends what it gets back.

What is cut follows from the list alone, so the same results are cut at the same calls as in a session that is folded
live, in any process. Pass the original list, never a shaped one.
"""

from collections.abc import Mapping, Sequence
from operator import eq
from typing import Any

from refold.bridges.history import History, change_json, conversation, refuse, tell
from refold.events import Event
from refold.events.formats import anthropic_messages, openai_chat
from refold.events.formats._conversation import Conversation
from refold.reducer import Meter, Policy


def events_of(messages: Sequence[Any]) -> tuple[Event, ...]:
    """The events that a list of OpenAI-chat or Anthropic messages tells, detected by its shape.

    A list that ends with a prompt or with results is about to be sent: the events end in the open step that sends it.
    Times are 0, and there is no usage. Raises FormatError for what is no message.
    """
    return tuple(_told(messages).journal.events)


class Shaper:
    """`shape` with one policy, for a list that grows: what a call gets is the same, and only what is new is folded.

    A message must not be changed in place between two calls. Raises PolicyError for a policy or meter that needs usage,
    times or a context window, which no list tells.
    """

    def __init__(self, policy: Policy, meter: Meter | None = None) -> None:
        self._history = History(policy, meter, tell_messages, change_json, same=eq)

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        """The list to send now. Raises FormatError."""
        with self._history.folded(messages) as fold:
            return fold.shown(fold.cuts if fold.answered else fold.asked()[1], change_json)


def shape(messages: Sequence[Any], policy: Policy, meter: Meter | None = None) -> list[Any]:
    """The list to send now: the messages that the policy leaves alone are the same objects, a message whose result it
    cuts is a copy with only that content changed. What is cut is what a `derive` fold of `events_of` cuts.

    The whole list is folded at each call, which grows with it; a loop is quicker with a Shaper. Messages may hold the
    objects that the SDKs answer with. `meter` is Counted() where none is given. Raises FormatError for what is no
    message, and for a list that starts with a tool result, whose call the host has dropped: results must not change
    their place in history from call to call. Raises PolicyError as Shaper does.
    """
    return Shaper(policy, meter)(messages)


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
