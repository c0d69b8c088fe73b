"""What one item of a Codex rollout says: its usage, its blocks, a tool's output and whether it failed."""

import re
from typing import Any

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events._errors import FormatError
from refold.events._events import Usage
from refold.events.formats._fields import Object, arguments, array, compact, number, obj, objects, part_of, text, tokens
from refold.events.formats._fields import usage as buckets
from refold.events.formats._source import decode_json

TEXTS = ("input_text", "output_text", "text")
EXIT_CODE = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d+)$", re.MULTILINE)


def usage_of(report: Object) -> Usage | None:
    """`input_tokens` holds what was read from the cache and written to it; the output holds the reasoning."""
    prompt = tokens(report.get("input_tokens"))
    read = part_of(prompt, report.get("cached_input_tokens"))
    written = part_of(prompt - read, report.get("cache_write_input_tokens"))
    return buckets(prompt - read - written, report.get("output_tokens"), read, written)


def answered(kind: str, body: Object) -> Block:
    """An item of the model's that is no message."""
    name = text(body.get("name")) or text(obj(body.get("function")).get("name"))
    extra = compact({"namespace": body["namespace"]}) if body.get("namespace") else ""
    match kind:
        case "reasoning":
            said = [text(part.get("text")) for part in (*objects(body.get("summary")), *objects(body.get("content")))]
            return Reasoning("\n\n".join(said), text(body.get("encrypted_content")))
        case "function_call" | "tool_call":
            return ToolUse(text(body.get("call_id")), name, arguments(body.get("arguments")), extra)
        case "custom_tool_call":
            return ToolUse(text(body.get("call_id")), name, text(body.get("input")), extra)
        case "local_shell_call":
            call_id = text(body.get("call_id")) or text(body.get("id"))
            return ToolUse(call_id, "local_shell", arguments(body.get("action")))
        case "tool_search_call":
            return ToolUse(text(body.get("call_id")), "tool_search", arguments(body.get("arguments")))
        case _:
            return Opaque(compact(body))


def parts(content: Any) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(
        Text(part["text"])
        if isinstance(part, dict) and part.get("type") in TEXTS and isinstance(part.get("text"), str)
        else Opaque(compact(part))
        for part in array(content)
    )


def retold(item: Object) -> tuple[Block, ...]:
    """An item of a compaction's new context: what the user and the developer said, and anything else as it stood."""
    if item.get("type") == "message" and item.get("role") in ("user", "developer", "system"):
        return parts(item.get("content"))
    return (Opaque(compact(item)),)


def output_of(told: Any) -> tuple[Block, ...]:
    """A result as the model is sent it: the whole text, also where that is JSON with metadata around the output."""
    match told:
        case str():
            return (Text(told),)
        case {"content": str(said)}:
            return (Text(said),)
        case {"type": kind, "text": str(said)} if kind in TEXTS:
            return (Text(said),)
        case list() if all(isinstance(part, dict) and part.get("type") in (*TEXTS, "input_image") for part in told):
            return parts(told)
        case None:
            return ()
        case _:
            return (Text(compact(told)),)


def failed(told: Any) -> bool:
    """By exit code, wherever the version at hand writes it, or by `success`."""
    if isinstance(told, dict):
        return told.get("success") is False or number(told.get("exitCode")) != 0
    if not isinstance(told, str):
        return False
    if told.startswith("{"):
        try:
            report = obj(decode_json(told.encode("utf-8", "surrogatepass"), "output"))
        except FormatError:
            return False
        code = obj(report.get("metadata")).get("exit_code")
        return isinstance(code, int) and code != 0
    found = EXIT_CODE.search(told, 0, 400)
    return found is not None and found[1] != "0"
