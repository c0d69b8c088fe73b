"""The prompt in refold's own form: what `refold messages` prints, and what "byte" and `*_chars` are counted in."""

import json
from collections.abc import Iterable
from typing import Any

from refold.events import Block, Reasoning, SurfaceEvent, Text, ToolResult, ToolUse


def rendered(message: SurfaceEvent) -> dict[str, Any]:
    """A message as JSON values: `role`, `content`, and for a tool's `call_id` and `is_error`; blocks as they stood."""
    content = [rendered_block(block) for block in message.content]
    if isinstance(message, ToolResult):
        return {"role": "tool", "call_id": message.call_id, "is_error": message.is_error, "content": content}
    return {"role": message.role, "content": content}


def rendered_block(block: Block) -> Any:
    """A block as JSON values."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text, **_extra(block.extra)}
    if isinstance(block, Reasoning):
        return {"type": "reasoning", "text": block.text, **_extra(block.extra)}
    if isinstance(block, ToolUse):
        call = {"type": "tool-call", "id": block.id, "name": block.name, "arguments": block.arguments}
        return {**call, **_extra(block.extra)}
    return json.loads(block.json)


def _extra(extra: str) -> dict[str, Any]:
    return json.loads(extra) if extra else {}


def rendered_text(message: SurfaceEvent) -> str:
    """A message as compact JSON, non-ASCII unescaped; "" for one that is never sent (an answer or a system message
    without content)."""
    if not message.content and message.role in ("assistant", "system"):
        return ""
    return json.dumps(rendered(message), ensure_ascii=False, separators=(",", ":"))


def prompt_text(messages: Iterable[SurfaceEvent]) -> str:
    """The prompt: its messages as compact JSON, one after the other."""
    return "".join(map(rendered_text, messages))


def prompt_bytes(messages: Iterable[SurfaceEvent]) -> bytes:
    """The prompt in UTF-8; a lone surrogate, which UTF-8 has no form for, as the escape it came as."""
    return prompt_text(messages).encode("utf-8", "backslashreplace")
