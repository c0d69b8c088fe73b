"""Message lists of OpenAI's Chat Completions API, and logs of its requests as litellm and OpenHands write them.

Rules: OpenAI's API reference. A result is a `tool` message, joined to its call
by `tool_call_id`; nothing in the format marks an error. `prompt_tokens` holds the cached tokens. A step is one
assistant message. A user message between results and their answer opens no turn: the loop goes on.
"""

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any

from refold.events._blocks import Block, Opaque, Reasoning, ToolUse
from refold.events._events import Usage
from refold.events.formats import _api, anthropic_messages, openai_responses
from refold.events.formats._api import Api, Complain
from refold.events.formats._cassette import is_cassette
from refold.events.formats._exchanges import glimpse, inside
from refold.events.formats._fields import Object, arguments, compact, obj, objects, text, tokens, usage
from refold.events.formats._messages import Message, Path, extra, parts, text_of
from refold.events.formats._source import Format, Session, Source

ROLES = ("system", "developer", "user", "assistant", "tool", "function")

_RESULT_IN_WORDS = "EXECUTION RESULT of ["  # what OpenHands sends to models without function calling
_STOPS = MappingProxyType({"length": "max-tokens", "content_filter": "error"})


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") in ROLES and ("content" in value or "tool_calls" in value)


def messages(items: list[Any], at: Path, complain: Complain) -> list[Message]:
    """The list's messages; `at` is where the list stands. What is none is left out and complained of."""
    found: list[Message] = []
    for place, item in enumerate(items):
        role = item.get("role") if isinstance(item, dict) else None
        if role == "tool" or role == "function":
            found.append(
                Message(
                    role="tool",
                    content=parts(item.get("content")),
                    call_id=text(item.get("tool_call_id")),
                    name=text(item.get("name")),
                    origin=(*at, place, "content"),
                )
            )
        elif role == "assistant":
            found.append(_answer(item))
        elif role in ROLES:
            content = parts(item.get("content"))
            result = role == "user" and text_of(content).startswith(_RESULT_IN_WORDS)
            found.append(Message(role=role, content=content, source="tool" if result else "user", prompt=not result))
        else:
            complain(f"message {place} is left out: it has no role that the API knows")
    return found


def _answer(item: Object) -> Message:
    return Message(role="assistant", content=_said(item), usage=usage_of(item.get("usage")))


def _said(item: Object) -> tuple[Block, ...]:
    """What an assistant message says: thinking, text, calls, in this order, however the client spells them."""
    thinking: list[Block] = [
        Reasoning(text(block.get("thinking")), text(block.get("signature")))
        if block.get("type") == "thinking"
        else Opaque(compact(block))
        for block in objects(item.get("thinking_blocks"))
    ]
    thought = text(item.get("reasoning_content")) or text(item.get("reasoning"))
    if thought and not thinking:
        thinking.append(Reasoning(thought))
    said = parts(item.get("content"))
    refusal = text(item.get("refusal"))
    refused: tuple[Block, ...] = (Opaque(compact({"type": "refusal", "refusal": refusal})),) if refusal else ()
    calls = [_call(call) for call in objects(item.get("tool_calls"))]
    old = obj(item.get("function_call"))
    if old and not calls:
        calls = [ToolUse("", text(old.get("name")), arguments(old.get("arguments")))]
    return (*thinking, *said, *refused, *calls)


def _call(call: Object) -> Block:
    """A function call; a custom tool's call has a text for its input, which is no JSON."""
    kind = "custom" if "custom" in call else "function"
    function = obj(call.get(kind))
    if not function:
        return Opaque(compact(call))
    written = arguments(function.get("input" if kind == "custom" else "arguments"))
    return ToolUse(text(call.get("id")), text(function.get("name")), written, extra(call, "id", "type", "index", kind))


def usage_of(value: Any) -> Usage | None:
    """Usage in OpenAI's form. Cached tokens, read or written, are part of `prompt_tokens`; where a report leaves them
    out (they are more than it), they stand beside it."""
    report = obj(value)
    details = obj(report.get("prompt_tokens_details"))
    read = next(
        filter(
            None,
            map(
                tokens,
                (
                    details.get("cached_tokens"),
                    report.get("prompt_cache_hit_tokens"),
                    report.get("cache_read_input_tokens"),
                ),
            ),
        ),
        0,
    )
    write = tokens(details.get("cache_creation_tokens")) or tokens(report.get("cache_creation_input_tokens"))
    prompt = tokens(report.get("prompt_tokens"))
    fresh = prompt - read - write
    return usage(fresh if fresh >= 0 else prompt, report.get("completion_tokens"), read, write)


def _answers(response: Object, complain: Complain) -> list[Message]:
    """The first choice: it is the one that goes on."""
    choice = next(iter(objects(response.get("choices"))), {})
    said = obj(choice.get("message"))
    if not said:
        complain("a response has no message in its first choice")
        return []
    return [
        Message(
            role="assistant",
            content=_said(said),
            usage=usage_of(response.get("usage")),
            stop=_STOPS.get(text(choice.get("finish_reason")), ""),
        )
    ]


API = Api("messages", b"/chat/completions", is_message, messages, lambda body: None, _answers)


def detect(source: Source) -> bool:
    """A list of messages that has no sign of another API's: text alone looks the same in all of them."""
    if anthropic_messages.detect(source) or openai_responses.detect(source):
        return False
    value = glimpse(source)
    items = chain(*(each.items for each in inside(value, (), API.key, is_message)))
    return is_cassette(source, API.host) or is_message(value) or any(map(is_message, items))


def read(source: Source) -> tuple[Session, ...]:
    """The sessions, one for each conversation. Raises FormatError where there is no message list."""
    return _api.read(source, API)


def write(source: Source, contents: Mapping[int, tuple[Block, ...]]) -> bytes:
    """The list with other contents for some results, by their seq in the first session. Raises FormatError."""
    return _api.write(source, contents, API)


FORMAT = Format(
    "openai_chat",
    "OpenAI Chat Completions messages (also litellm and OpenHands LLM logs)",
    frozenset({"usage", "cache", "reasoning", "compaction", "times"}),
    detect,
    read,
    write,
)
