"""pydantic-ai message histories (`ModelMessagesTypeAdapter` JSON), and traces of its agents.

Rules: pydantic-ai's `messages.py`. A step is one `response`. `tool_call_id`
names the call; a `tool-return` is an error by its `outcome` (failed, retried), and so is a `retry-prompt` that
answers a tool. `input_tokens` holds the cached tokens. A trace is read, never changed.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events._errors import FormatError
from refold.events._events import Usage
from refold.events.formats import _trace
from refold.events.formats._api import Complain, rewritten
from refold.events.formats._conversation import Conversation, Request
from refold.events.formats._exchanges import glimpse, json_values
from refold.events.formats._fields import Object, arguments, compact, millis, obj, objects, text, tokens, usage
from refold.events.formats._messages import Message, Path, part, text_of
from refold.events.formats._source import Format, Session, Source
from refold.events.formats._spans import Span, spans_of

_FILES = ("image-url", "video-url", "audio-url", "document-url", "binary", "uploaded-file")
_STOPS = MappingProxyType({"length": "max-tokens", "content_filter": "error"})


def is_message(value: Any) -> bool:
    return obj(value).get("kind") in ("request", "response") and isinstance(obj(value).get("parts"), list)


def result_blocks(content: Any) -> tuple[Block, ...]:
    """A tool's return: a text, texts among files, or any other value, which the model is sent as JSON."""
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),)
    if isinstance(content, list) and all(isinstance(each, str) or obj(each).get("kind") in _FILES for each in content):
        return tuple(part(each) for each in content)
    return (Text(compact(content)),)


def _request(message: Object, at: Path, complain: Complain) -> list[Message]:
    found: list[Message] = []
    for place, each in enumerate(objects(message.get("parts"))):
        kind, content, time = text(each.get("part_kind")), each.get("content"), millis(each.get("timestamp"))
        call_id, name = text(each.get("tool_call_id")), text(each.get("tool_name"))
        origin = (*at, "parts", place, "content")
        if kind == "system-prompt":
            found.append(Message(role="system", content=result_blocks(content), time=time))
        elif kind == "user-prompt":
            said = tuple(part(one) for one in content) if isinstance(content, list) else result_blocks(content)
            found.append(Message(role="user", content=said, time=time))
        elif kind == "tool-return" or (kind == "retry-prompt" and name):
            failed = kind == "retry-prompt" or each.get("outcome") in ("failed", "retried")
            blocks = result_blocks(content)
            found.append(
                Message(
                    role="tool", content=blocks, call_id=call_id, name=name, is_error=failed, time=time, origin=origin
                )
            )
        elif kind == "compaction":
            said = result_blocks(content) or (Opaque(compact(each)),)
            found.append(Message(role="user", content=said, source="compaction", prompt=False, resets=True))
        elif isinstance(content, str | list):
            said = result_blocks(content)
            found.append(Message(role="user", content=said, source=kind or "part", prompt=False, time=time))
        else:
            complain(f"a part of kind {kind!r} is left out")
    return found


def _response(message: Object) -> list[Message]:
    """An answer; a compaction in it comes first, as everything before it is gone."""
    said: list[Block] = []
    found: list[Message] = []
    for each in objects(message.get("parts")):
        kind = each.get("part_kind")
        if kind == "text":
            said.append(Text(text(each.get("content"))))
        elif kind == "thinking":
            said.append(Reasoning(text(each.get("content")), text(each.get("signature"))))
        elif kind == "tool-call":
            written = arguments(each.get("args"))
            said.append(ToolUse(text(each.get("tool_call_id")), text(each.get("tool_name")), written))
        elif kind == "compaction":
            content = result_blocks(each.get("content")) or (Opaque(compact(each)),)
            found.append(Message(role="user", content=content, source="compaction", prompt=False, resets=True))
        else:
            said.append(Opaque(compact(each)))
    answer = Message(
        role="assistant",
        content=tuple(said),
        usage=_usage(message.get("usage")),
        model=text(message.get("model_name")),
        stop=_STOPS.get(text(message.get("finish_reason")), ""),
        time=millis(message.get("timestamp")),
    )
    return [*found, answer]


def _usage(value: Any) -> Usage | None:
    """Cached tokens, read or written, are part of the input; `request_tokens` is the name before 2025-08."""
    report = obj(value)
    asked = tokens(report.get("input_tokens")) or tokens(report.get("request_tokens"))
    said = tokens(report.get("output_tokens")) or tokens(report.get("response_tokens"))
    read, write = tokens(report.get("cache_read_tokens")), tokens(report.get("cache_write_tokens"))
    return usage(max(0, asked - read - write), said, read, write)


def _lists(value: Any, at: Path) -> list[tuple[Path, list[Any]]]:
    """A history, or the one that an object holds under a name of pydantic-ai's own."""
    names = ("messages", "all_messages", "message_history", "new_messages")
    held = [(at, value), *(((*at, name), obj(value).get(name)) for name in names)]
    return [(place, found) for place, found in held if isinstance(found, list) and any(map(is_message, found))][:1]


def _told(source: Source) -> Conversation:
    """The one conversation of a history, request by request."""
    values, damage = json_values(source)
    if all(is_message(value) for _, value in values):
        placed: list[tuple[Path, Any]] = [((line,), value) for line, value in values]
    else:
        lists = [found for place, value in values for found in _lists(value, (place,))]
        if len(lists) > 1:
            raise FormatError(f"{source.name}: holds {len(lists)} histories; give refold one at a time")
        placed = [((*at, place), value) for at, items in lists for place, value in enumerate(items)]
    if not placed:
        raise FormatError(f"{source.name}: holds no pydantic-ai messages")
    told = Conversation(source.name)
    prompts: list[str] = []
    for at, value in placed:
        tell(told, obj(value), at, prompts)
    for complaint in damage:
        told.complain(complaint)
    return told


def tell(told: Conversation, value: Object, at: Path, prompts: list[str]) -> None:
    """One message of a history, which stands at a path. `prompts` are the system prompts it began with so far."""
    if value.get("kind") == "request":
        _ask(told, value, at, prompts)
    elif value.get("kind") == "response":
        for message in _response(value):
            told.answer(message)
    else:
        told.complain(f"message {at[-1]} is left out: it is neither a request nor a response")


def _ask(told: Conversation, value: Object, at: Path, prompts: list[str]) -> None:
    """One request. Its instructions hold for it alone; system prompts stay, the first ones as the system's text."""
    messages = _request(value, at, told.complain)
    while not told.said and messages and messages[0].role == "system":
        prompts.append(text_of(messages.pop(0).content))
    instructions = text(value.get("instructions"))
    system = "\n\n".join([*prompts, *([instructions] if instructions else [])]) or None
    time = millis(value.get("timestamp"))
    told.ask(Request(messages=messages, system=system, follows="the answer before", time=time))


def _spans(source: Source) -> list[Span]:
    return spans_of(glimpse(source))


def detect(source: Source) -> bool:
    value = glimpse(source)
    if is_message(value) or _lists(value, ()):
        return True
    return any(span.scope == "pydantic-ai" or "pydantic_ai.all_messages" in span.attributes for span in spans_of(value))


def read(source: Source) -> tuple[Session, ...]:
    """The session of a history, or those of a trace. Raises FormatError where there is neither."""
    spans = _spans(source)
    return _trace.sessions(spans, source.name) if spans else (_told(source).session(),)


def write(source: Source, contents: Mapping[int, tuple[Block, ...]]) -> bytes:
    """The history with other contents for some results, by their seq. Raises FormatError, always for a trace.

    A return that was no text becomes one: what is left of its JSON is no JSON any more.
    """
    if not contents:
        return source.data
    if _spans(source):
        raise FormatError(f"{source.name}: a trace is a recording: it is read, never changed")
    found = _told(source)
    found.session()
    return rewritten(source, found, contents, result_blocks, str)


FORMAT = Format(
    "pydantic_ai",
    "pydantic-ai message histories and agent traces",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
    write,
)
