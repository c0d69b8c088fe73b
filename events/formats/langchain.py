"""LangChain and LangGraph message dumps, and traces that hold them.

Rules: langchain-core's `messages_to_dict`, `model_dump` and `dumpd`, three spellings of one message.
`tool_call_id` names the call, `status: "error"` marks an error; `usage_metadata` counts
cached tokens as input. A trace (Langfuse's export) is told from its model calls, which repeat the messages as
OpenAI's dicts; it is read, never changed.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from refold.events._blocks import Block, Reasoning, ToolUse
from refold.events._errors import FormatError
from refold.events._events import Usage
from refold.events.formats import _trace
from refold.events.formats._api import Complain, on_their_lines, rewritten
from refold.events.formats._conversation import Conversations, Request
from refold.events.formats._exchanges import glimpse, json_values
from refold.events.formats._fields import Object, arguments, array, obj, objects, text, tokens, usage
from refold.events.formats._messages import Message, Path, extra, part, parts
from refold.events.formats._source import Format, Session, Source
from refold.events.formats._spans import spans_of
from refold.events.formats.openai_chat import usage_of as openai_usage

_ROLES = MappingProxyType(
    {
        "human": "user",
        "HumanMessage": "user",
        "HumanMessageChunk": "user",
        "ai": "assistant",
        "AIMessage": "assistant",
        "AIMessageChunk": "assistant",
        "tool": "tool",
        "ToolMessage": "tool",
        "function": "tool",
        "FunctionMessage": "tool",
        "system": "system",
        "SystemMessage": "system",
    }
)


def fields_of(value: Any) -> tuple[str, Object, Path]:
    """Role, fields and where these stand, of a message in any of the three spellings; an empty role for none."""
    record = obj(value)
    if record.get("lc") == 1 and record.get("type") == "constructor":
        names = array(record.get("id"))
        return _ROLES.get(text(names[-1]) if names else "", ""), obj(record.get("kwargs")), ("kwargs",)
    role = _ROLES.get(text(record.get("type")), "")
    if isinstance(record.get("data"), dict) and "content" in record["data"]:
        return role, record["data"], ("data",)
    known = "content" in record and ("response_metadata" in record or "additional_kwargs" in record)
    return (role, record, ()) if known else ("", {}, ())


def is_message(value: Any) -> bool:
    return fields_of(value)[0] != ""


def messages(items: list[Any], at: Path, complain: Complain) -> list[Message]:
    """The list's messages; `at` is where the list stands. What is none is left out and complained of."""
    found: list[Message] = []
    for place, item in enumerate(items):
        role, fields, inner = fields_of(item)
        if role == "tool":
            found.append(
                Message(
                    role="tool",
                    content=parts(fields.get("content")),
                    call_id=text(fields.get("tool_call_id")),
                    name=text(fields.get("name")),
                    is_error=fields.get("status") == "error",
                    origin=(*at, place, *inner, "content"),
                )
            )
        elif role == "assistant":
            found.append(_answer(fields))
        elif role == "user":
            found.append(Message(role="user", content=parts(fields.get("content"))))
        elif role == "system":
            found.append(Message(role="system", content=parts(fields.get("content"))))
        else:
            complain(f"message {place} is left out: it has no type that LangChain knows")
    return found


def _answer(fields: Object) -> Message:
    details = obj(fields.get("response_metadata"))
    cut = details.get("finish_reason") == "length" or details.get("stop_reason") == "max_tokens"
    return Message(
        role="assistant",
        content=_said(fields),
        usage=_usage(fields.get("usage_metadata")) or openai_usage(details.get("token_usage")),
        model=text(details.get("model_name")) or text(details.get("model")),
        stop="max-tokens" if cut else "",
    )


def _said(fields: Object) -> tuple[Block, ...]:
    """Content and calls. Providers repeat calls among the content; their own dict keeps the arguments as written."""
    written = {
        text(call.get("id")): text(obj(call.get("function")).get("arguments"))
        for call in objects(obj(fields.get("additional_kwargs")).get("tool_calls"))
    }
    calls = [
        ToolUse(call_id, text(call.get("name")), written.get(call_id) or arguments(call.get("args")))
        for call in (*objects(fields.get("tool_calls")), *objects(fields.get("invalid_tool_calls")))
        for call_id in (text(call.get("id")),)
    ]
    named = {call.id for call in calls}
    content = fields.get("content")
    said: list[Block] = []
    for element in array(content) if isinstance(content, list) else [content] if content else []:
        kind = text(element.get("type")) if isinstance(element, dict) else ""
        if kind in ("tool_use", "tool_call", "function_call") and _id_of(element) in named:
            continue
        thought = text(element.get(kind)) if kind in ("thinking", "reasoning") else ""
        if thought:
            left = extra(element, "type", kind, "signature")
            said.append(Reasoning(thought, text(element.get("signature")), left))
        else:
            said.append(part(element))
    return (*said, *calls)


def _id_of(element: Object) -> str:
    """A call's id: Responses items have one of their own beside it."""
    return text(element.get("call_id")) or text(element.get("id"))


def _usage(value: Any) -> Usage | None:
    report = obj(value)
    details = obj(report.get("input_token_details"))
    read, write = tokens(details.get("cache_read")), tokens(details.get("cache_creation"))
    fresh = max(0, tokens(report.get("input_tokens")) - read - write)
    return usage(fresh, report.get("output_tokens"), read, write)


def lists(value: Any, at: Path) -> list[tuple[Path, list[Any]]]:
    """Every message list in a document: a list, a state that holds one, a checkpoint, a list of states."""
    if len(at) > 6:
        return []
    if isinstance(value, list):
        if any(map(is_message, value)):
            return [(at, value)]
        places = [(place, item) for place, item in enumerate(value) if isinstance(item, dict)]
        return [found for place, item in places for found in lists(item, (*at, place))]
    record = obj(value)
    names = (name for name in ("messages", "values", "channel_values", "checkpoint", "state") if name in record)
    return next((found for name in names if (found := lists(record[name], (*at, name)))), [])


def detect(source: Source) -> bool:
    value = glimpse(source)
    if is_message(value) or lists(value, ()):
        return True
    return any(is_message(told) or lists(told, ()) for span in spans_of(value) for told in (span.input, span.output))


def _told(source: Source) -> Conversations:
    values, damage = json_values(source)
    told = Conversations(source.name)
    if all(is_message(value) for _, value in values):
        _ask(told, [value for _, value in values], (), [line for line, _ in values])
    else:
        for place, value in values:
            for at, items in lists(value, (place,)):
                _ask(told, items, at, None)
    if not told.all:
        raise FormatError(f"{source.name}: holds no list of LangChain messages")
    for complaint in damage:
        told.all[0].complain(complaint)
    return told


def _ask(told: Conversations, items: list[Any], at: Path, lines: list[int] | None) -> None:
    complaints: list[str] = []
    found = messages(items, at, complaints.append)
    conversation = told.ask(Request(messages=found if lines is None else on_their_lines(found, lines)))
    for complaint in complaints:
        conversation.complain(complaint)


def read(source: Source) -> tuple[Session, ...]:
    """The sessions of a dump or of a trace. Raises FormatError where there is neither."""
    spans = spans_of(glimpse(source))
    return _trace.sessions(spans, source.name) if spans else _told(source).sessions()


def write(source: Source, contents: Mapping[int, tuple[Block, ...]]) -> bytes:
    """The dump with other contents for some results, by their seq in the first session. Raises FormatError, always
    for a trace."""
    if not contents:
        return source.data
    if spans_of(glimpse(source)):
        raise FormatError(f"{source.name}: a trace is a recording: it is read, never changed")
    found = _told(source).all[0]
    found.session()
    return rewritten(source, found, contents)


FORMAT = Format(
    "langchain",
    "LangChain message dumps and LangGraph traces",
    frozenset({"usage", "cache", "reasoning", "errors", "times"}),
    detect,
    read,
    write,
)
