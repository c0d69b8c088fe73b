"""Kimi's content parts, shared by its context file and its two wire protocols."""

from typing import Any

from refold.events._blocks import Block, Opaque, Reasoning, Text
from refold.events.formats._fields import Object, blocks, compact, objects, text

STATUS_FAILED = "<system>ERROR: Tool execution failed.</system>"
STATUS_EMPTY = "<system>Tool output is empty.</system>"
STATUS_FAILED_EMPTY = "<system>ERROR: Tool execution failed. Tool output is empty.</system>"


def answer_blocks(content: Any) -> tuple[Block, ...]:
    if not isinstance(content, list):
        return blocks(content)
    return tuple(answer_block(part) for part in objects(content))


def answer_block(part: Object) -> Block:
    match part.get("type"):
        case "think":
            return Reasoning(text(part.get("think")), text(part.get("encrypted")))
        case "text":
            return Text(text(part.get("text")))
        case _:
            return Opaque(compact(part))


def legacy_result(value: Object) -> tuple[Block, ...]:
    """A wire result as Kimi CLI sends it: what the tool says of itself stands in `<system>`, its output behind it."""
    message, output = text(value.get("message")), blocks(value.get("output"))
    if value.get("is_error") is True:
        return (Text(f"<system>ERROR: {message}</system>"), *output)
    said = (Text(f"<system>{message}</system>"),) if message else ()
    return (*said, *output) or (Text(STATUS_EMPTY),)


def result(value: Object) -> tuple[Block, ...]:
    """A result of protocol 1.4 as Kimi Code sends it: an error and an empty output are marked in words."""
    parts = blocks(value.get("output"))
    failed, note = value.get("isError") is True, text(value.get("note"))
    if all(isinstance(part, Text) and part.text.strip() in ("", "Tool output is empty.") for part in parts):
        parts = (Text(STATUS_FAILED_EMPTY if failed else STATUS_EMPTY),)
    elif failed and len(parts) == 1 and isinstance(parts[0], Text):
        marked = parts[0].text.lstrip().startswith("<system>ERROR:")
        parts = parts if marked else (Text(f"{STATUS_FAILED}\n{parts[0].text}"),)
    elif failed:
        parts = (Text(STATUS_FAILED), *parts)
    return (*parts, Text(note)) if note else parts
