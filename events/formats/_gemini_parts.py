"""Google's content parts, which Gemini CLI and Qwen Code both log."""

from typing import Any

import msgspec

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events.formats._fields import Object, arguments, compact, obj, objects, text
from refold.events.formats._messages import extra


class Response(msgspec.Struct, frozen=True):
    """What a tool gave back, as the model is told: `output` or `error` as its text, anything else as JSON."""

    call_id: str
    content: tuple[Block, ...]
    is_error: bool


def parts_of(content: Any) -> list[Any]:
    """Content is a text, one part, or a list of either."""
    if isinstance(content, list):
        return content
    return [] if content in (None, "") else [content]


def block(part: Any) -> Block:
    match part:
        case str():
            return Text(part)
        case {"text": str(said), "thought": True}:
            signature = text(part.get("thoughtSignature"))
            return Reasoning(said, signature, extra(part, "text", "thought", "thoughtSignature"))
        case {"text": str(said)}:
            return Text(said, extra(part, "text", "thought"))
        case {"functionCall": dict(call)}:
            name = text(call.get("name"))
            return ToolUse(text(call.get("id")), name, arguments(call.get("args")), extra(part, "functionCall"))
        case _:
            return Opaque(compact(part))


def retold(content: Any) -> tuple[Block, ...]:
    """The parts of a message of another role, told inside a user message: texts, and everything else as it stood."""
    return tuple(found if isinstance(found, Text) else Opaque(compact(part)) for part, found in _blocks(content))


def _blocks(content: Any) -> list[tuple[Any, Block]]:
    return [(part, block(part)) for part in parts_of(content)]


def responses(parts: list[Any]) -> list[Response]:
    return [_response(obj(part["functionResponse"])) for part in objects(parts) if "functionResponse" in part]


def _response(found: Object) -> Response:
    told = found.get("response")
    content: list[Block] = []
    match told:
        case {"output": str(said), **rest} | {"error": str(said), **rest} if not rest:
            content.append(Text(said))
        case str():
            content.append(Text(told))
        case _ if told is not None:
            content.append(Text(compact(told)))
    content += (Opaque(compact(part)) for part in objects(found.get("parts")))
    return Response(text(found.get("id")), tuple(content), "error" in obj(told))
