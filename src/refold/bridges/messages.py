"""A loop over an SDK: it passes its whole message list before each model call and sends what it gets back.

What is cut follows from the list alone, so the same results are cut at the same calls as in a session that is folded
live, in any process. Pass the original list, never a shaped one.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import eq
from typing import Any

from refold.bridges.history import History, change_json, conversation, copied, placed, tell
from refold.events import Event, FormatError
from refold.events.formats import anthropic_messages, openai_chat
from refold.events.formats._conversation import Conversation
from refold.events.formats._messages import Message
from refold.reducer import Meter, Policy


def events_of(messages: Sequence[Any]) -> tuple[Event, ...]:
    """The events that a list of OpenAI-chat or Anthropic messages tells, detected by its shape.

    A list that ends with a prompt or with results is about to be sent: the events end in the open step that sends it.
    Times are 0, and there is no usage. Raises FormatError for what is no message.
    """
    return tuple(_told(messages).journal.events)


class Shaper:
    """`shape` with one policy, for a list that grows: what a call gets is the same, and only what is new is folded.

    A list whose old messages were changed is folded anew, in place or not; only what an SDK's own object says must stay
    as it is. Raises PolicyError for a policy or meter that needs usage, times or a context window, which no list tells.
    """

    def __init__(self, policy: Policy, meter: Meter | None = None) -> None:
        self._history = History(policy, meter, tell_messages, change_json, same=eq, remember=copied)

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        """The list to send now. Raises FormatError."""
        with self._history.folded(messages) as fold:
            return fold.shown(fold.cuts if fold.answered else fold.asked()[1])


def shape(messages: Sequence[Any], policy: Policy, meter: Meter | None = None) -> list[Any]:
    """The list to send now: the messages that the policy leaves alone are the same objects, a message whose result it
    cuts is a copy with only that content changed. What is cut is what a `derive` fold of `events_of` cuts.

    The whole list is folded at each call, which grows with it; a loop is quicker with a Shaper. Messages may hold the
    objects that the SDKs answer with. `meter` is Counted() where none is given. Raises FormatError for what is no
    message or no JSON, and for a tool result that stands before every answer, behind a first prompt or not: the host
    has dropped its call, and results must not change their place in history from call to call. Raises PolicyError as
    Shaper does.
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
    items: list[Any] = []
    for place, message in enumerate(messages[known:], known):
        with _named(place):
            items.append(_plain(message))
    read = anthropic_messages.messages if any(map(anthropic_messages.is_own, items)) else openai_chat.messages
    new: list[Message] = []
    faults: list[str] = []
    for place, item in enumerate(items, known):
        with _named(place):
            new += placed(read([item], (), faults.append), place)
        if faults:
            raise FormatError(f"message {place} is refused: {_fault(item)}")
    tell(told, new, known)


@contextmanager
def _named(place: int) -> Iterator[None]:
    """Names the message that holds what JSON cannot."""
    try:
        yield
    except (RecursionError, FormatError):
        raise FormatError(f"message {place} is refused: it is nested too deeply, or holds itself") from None
    except TypeError as error:
        raise FormatError(f"message {place} is refused: it holds what is no JSON ({error})") from None


def _fault(item: Any) -> str:
    if not isinstance(item, Mapping):
        return f"it is of type {type(item).__name__}, not a message with a role"
    return f"its role is {item.get('role')!r}, not one of {', '.join(openai_chat.ROLES)}"


def _plain(value: Any) -> Any:
    """A message as JSON values: loops append the SDK's own objects, whole or inside a dict."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else value
