"""What one line of a Claude Code transcript says, and which model call it belongs to."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events._events import Usage
from refold.events.formats._fields import Object, arguments, array, compact, millis, obj, text, usage
from refold.events.formats._messages import extra

SYNTHETIC = "<synthetic>"


def answer_of(line: Object) -> str:
    """What holds the lines of one model call together; a line without it is a call of its own."""
    return text(obj(line.get("message")).get("id")) or text(line.get("uuid"))


def is_made_up(line: Object) -> bool:
    return obj(line.get("message")).get("model") == SYNTHETIC or line.get("isApiErrorMessage") is True


def content_of(line: Object) -> Any:
    return obj(line.get("message")).get("content")


def digest(content: Any) -> bytes:
    """Tells whether two contents are equal, without keeping them."""
    return blake2b(compact(content).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Answer(msgspec.Struct):
    """What the lines of one model call say. `parts` are its blocks with the times of their lines."""

    parts: list[tuple[int, Block]] = []
    usage: Usage | None = None
    time: int = 0
    interrupted: bool = False
    stopped: bool = False

    def add(self, line: Object) -> None:
        """One more line. Every one repeats the usage of the prompt; the output's grows to the last."""
        self.time = millis(line.get("timestamp"))
        self.parts += ((self.time, block) for block in message_blocks(content_of(line)))
        message = obj(line.get("message"))
        if report := obj(message.get("usage")):
            self.usage = usage(
                report.get("input_tokens"),
                report.get("output_tokens"),
                report.get("cache_read_input_tokens"),
                report.get("cache_creation_input_tokens"),
            )
        self.interrupted |= line.get("isAbortedMidStream") is True
        self.stopped |= bool(message.get("stop_reason"))


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
