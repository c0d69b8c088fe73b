"""Item lists of OpenAI's Responses API: the input of a request, with or without its response.

Rules: OpenAI's API reference. The items of one answer (reasoning, message, calls) follow one another; together they
are one message and one step. `function_call_output.call_id` names the call; nothing marks an error. A request with
`previous_response_id` sends only what is new. `input_tokens` holds the cached tokens. A `compaction` item stands for
everything before it.
"""

from collections.abc import Mapping
from typing import Any

from refold.events._blocks import Block, Opaque, Reasoning, ToolUse
from refold.events._events import Usage
from refold.events.formats import _api
from refold.events.formats._api import Api, Complain
from refold.events.formats._cassette import is_cassette
from refold.events.formats._exchanges import glimpse, inside
from refold.events.formats._fields import Object, arguments, array, compact, obj, objects, text, tokens, usage
from refold.events.formats._messages import Message, Path, extra, parts
from refold.events.formats._source import Format, Session, Source

_CALL, _OUTPUT = "_call", "_call_output"
_OWN_PARTS = ("input_text", "output_text", "input_image", "input_file")
_OWN_TYPES = ("reasoning", "item_reference", "compaction")


def is_item(value: Any) -> bool:
    """An item that no other API has: a call, its output, reasoning, or a message of parts with this API's names."""
    if not isinstance(value, dict):
        return False
    kind = text(value.get("type"))
    if kind.endswith((_CALL, _OUTPUT)) or (kind in _OWN_TYPES and "role" not in value):
        return "call_id" in value or "id" in value or kind in _OWN_TYPES
    return "role" in value and any(part.get("type") in _OWN_PARTS for part in objects(value.get("content")))


def messages(items: list[Any], at: Path, complain: Complain) -> list[Message]:
    """The list's messages; `at` is where the list stands. What is none is left out and complained of."""
    found: list[Message] = []
    said: list[Block] = []
    for place, item in enumerate(items):
        kind = text(item.get("type")) if isinstance(item, dict) else "?"
        role = item.get("role") if kind in ("", "message") else None
        if kind == "item_reference":
            continue  # an item of the server's, known from the answer that made it
        if role == "assistant" or (role is None and kind not in ("compaction", "?") and not kind.endswith(_OUTPUT)):
            said += _said(item, kind)
            continue
        if said:
            found.append(Message(role="assistant", content=tuple(said)))
            said = []
        if kind.endswith(_OUTPUT):
            content = parts(item.get("output"))
            call_id = text(item.get("call_id"))
            found.append(Message(role="tool", content=content, call_id=call_id, origin=(*at, place, "output")))
        elif kind == "compaction":
            content = (Opaque(compact(item)),)
            found.append(Message(role="user", content=content, source="compaction", prompt=False, resets=True))
        elif role == "user" or role == "system" or role == "developer":
            found.append(Message(role=role, content=parts(item.get("content"))))
        else:
            complain(f"item {place} is left out: it has no type or role that the API knows")
    if said:
        found.append(Message(role="assistant", content=tuple(said)))
    return found


def _said(item: Object, kind: str) -> tuple[Block, ...]:
    """The blocks of one item of an answer. Tools that the server runs have no `call_id` and are no calls."""
    if kind in ("", "message"):
        return parts(item.get("content"))
    if kind == "reasoning":
        thought = [text(part.get("text")) for part in objects(item.get("content")) or objects(item.get("summary"))]
        left = extra(item, "type", "summary", "content", "encrypted_content")
        return (Reasoning("\n\n".join(thought), text(item.get("encrypted_content")), left),)
    if not kind.endswith(_CALL) or not isinstance(item.get("call_id"), str):
        return (Opaque(compact(item)),)
    asked = next((name for name in ("arguments", "input", "action", "operation") if name in item), "arguments")
    name = text(item.get("name")) or kind.removesuffix(_CALL)
    return (ToolUse(item["call_id"], name, arguments(item.get(asked)), extra(item, "call_id", "name", asked, "type")),)


def usage_of(value: Any) -> Usage | None:
    """Cached tokens are part of `input_tokens`."""
    report = obj(value)
    read = tokens(obj(report.get("input_tokens_details")).get("cached_tokens"))
    fresh = max(0, tokens(report.get("input_tokens")) - read)
    return usage(fresh, report.get("output_tokens"), read)


def _answers(response: Object, complain: Complain) -> list[Message]:
    """The response's output as one message; a compaction in it comes first, as everything before it is gone."""
    found = messages(array(response.get("output")), (), complain)
    if not any(message.role == "assistant" for message in found):
        found.append(Message(role="assistant"))
    stop = "max-tokens" if obj(response.get("incomplete_details")).get("reason") == "max_output_tokens" else ""
    whole = [message for message in found if message.role == "assistant"]
    content = tuple(block for message in whole for block in message.content)
    resets = [message for message in found if message.resets]
    return [*resets, Message(role="assistant", content=content, usage=usage_of(response.get("usage")), stop=stop)]


def _system(body: Object) -> str | None:
    return text(body.get("instructions")) or None


def _text_part(said: str) -> Any:
    return {"type": "input_text", "text": said}


API = Api("input", b"/v1/responses", is_item, messages, _system, _answers, _text_part)


def detect(source: Source) -> bool:
    """Items, settings beside the list or responses as only this API has them."""
    if is_cassette(source, API.host):
        return True
    value = glimpse(source)
    return is_item(value) or any(
        any(map(is_item, each.items))
        or "instructions" in each.body
        or "previous_response_id" in each.body
        or isinstance(obj(each.response).get("output"), list)
        for each in inside(value, (), API.key, is_item)
    )


def read(source: Source) -> tuple[Session, ...]:
    """The sessions, one for each conversation. Raises FormatError where there is no item list."""
    return _api.read(source, API)


def write(source: Source, contents: Mapping[int, tuple[Block, ...]]) -> bytes:
    """The list with other contents for some results, by their seq in the first session. Raises FormatError."""
    return _api.write(source, contents, API)


FORMAT = Format(
    "openai_responses",
    "OpenAI Responses API items",
    frozenset({"usage", "cache", "reasoning", "compaction", "times"}),
    detect,
    read,
    write,
)
