"""The harness's own framing of a prompt for the Messages API, said once more from what it was seen to send.

Neighbouring user messages and tool results become one user message; reasoning becomes a `thinking` block, arguments
become JSON values, empty texts go; the system prompt travels beside the messages.
"""

import json
from collections.abc import Iterable
from typing import Any

from refold.events import AssistantMessage, Block, Reasoning, SurfaceEvent, SystemMessage, Text, ToolResult, ToolUse


def as_sent(messages: Iterable[SurfaceEvent]) -> list[dict[str, Any]]:
    """What the harness sends for these messages, without signatures, of which its log keeps none."""
    sent: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            continue
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        content = [block for block in map(_block, message.content) if block.get("text") != ""]
        if isinstance(message, ToolResult):
            result = {"type": "tool_result", "tool_use_id": message.call_id, "content": content}
            content = [result | {"is_error": message.is_error}]
        if sent and sent[-1]["role"] == role == "user":
            sent[-1]["content"] += content
        else:
            sent.append({"role": role, "content": content})
    return sent


def unsigned(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A request's messages without the signatures of its reasoning blocks."""
    bare = []
    for message in messages:
        blocks = [{key: value for key, value in block.items() if key != "signature"} for block in message["content"]]
        bare.append(message | {"content": blocks})
    return bare


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Reasoning(text=text):
            return {"type": "thinking", "thinking": text}
        case ToolUse(id=id, name=name, arguments=arguments):
            return {"type": "tool_use", "id": id, "name": name, "input": json.loads(arguments)}
    raise AssertionError(f"the recorded sessions hold no such block: {block}")
