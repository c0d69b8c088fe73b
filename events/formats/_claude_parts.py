"""What one line of a Claude Code transcript says, and which model call it belongs to."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events._events import Usage
from refold.events.formats._fields import Object, arguments, array, compact, obj, text, usage
from refold.events.formats._messages import extra

SYNTHETIC = "<synthetic>"


def answer_of(line: Object) -> str:
    """What holds the lines of one model call together; a line without it is a call of its own."""
    return text(obj(line.get("message")).get("id")) or text(line.get("uuid"))


def is_made_up(line: Object) -> bool:
    return obj(line.get("message")).get("model") == SYNTHETIC or line.get("isApiErrorMessage") is True


def content_of(line: Object) -> Any:
    return obj(line.get("message")).get("content")


def usage_of(lines: list[Object]) -> Usage | None:
    """The prompt's side is the same on every line; the output's grows, and the last line has most of it."""
    report = next(chain((u for u in map(_report, reversed(lines)) if u), ({},)))
    return usage(
        report.get("input_tokens"),
        report.get("output_tokens"),
        report.get("cache_read_input_tokens"),
        report.get("cache_creation_input_tokens"),
    )


def _report(line: Object) -> Object:
    return obj(obj(line.get("message")).get("usage"))


def message_blocks(content: Any) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(_each(array(content)))


def _each(parts: list[Any]) -> Iterator[Block]:
    for part in parts:
        match part:
            case {"type": "text", "text": str(said)}:
                yield Text(said, extra(part, "type", "text"))
            case {"type": "thinking", "thinking": str(thought)}:
                yield Reasoning(thought, text(part.get("signature")), extra(part, "type", "thinking", "signature"))
            case {"type": "tool_use"}:
                yield ToolUse(
                    text(part.get("id")),
                    text(part.get("name")),
                    arguments(part.get("input")),
                    extra(part, "type", "id", "name", "input"),
                )
            case str(said):
                yield Text(said)
            case _:
                yield Opaque(compact(part))
