"""Message lists and logged requests of Anthropic's Messages API, VCR cassettes of it among them.

Rules: Anthropic's API reference. `tool_result.tool_use_id` names the
call; `is_error` marks an error; tools that the server runs are part of the answer. A `compaction` block stands for
everything before it: it was written by a model call of its own, whose usage only `usage.iterations` reports.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events._events import Usage
from refold.events.formats import _api
from refold.events.formats._api import Api, Complain
from refold.events.formats._cassette import is_cassette
from refold.events.formats._exchanges import glimpse, inside
from refold.events.formats._fields import Object, arguments, array, compact, number, obj, objects, text, usage
from refold.events.formats._messages import Message, Path, extra, part, parts, text_of
from refold.events.formats._source import Format, Session, Source

_OWN_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "compaction", "server_tool_use")
_STOPS = MappingProxyType(
    {"max_tokens": "max-tokens", "model_context_window_exceeded": "max-tokens", "refusal": "blocked"}
)


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") in ("user", "assistant", "system") and "content" in value


def is_own(value: Any) -> bool:
    """A message that no other API has: it holds a block of Anthropic's own types."""
    return is_message(value) and any(block.get("type") in _OWN_BLOCKS for block in objects(value["content"]))


def messages(items: list[Any], at: Path, complain: Complain) -> list[Message]:
    """The list's messages; `at` is where the list stands. What is none is left out and complained of."""
    found: list[Message] = []
    for place, item in enumerate(items):
        role = item.get("role") if isinstance(item, dict) else None
        if role == "user":
            found += _user(item, (*at, place, "content"))
        elif role == "assistant":
            found += _assistant(item.get("content"), item.get("usage"), "")
        elif role == "system":
            found.append(Message(role="system", content=parts(item.get("content"))))
        else:
            complain(f"message {place} is left out: it has no role that the API knows")
    return found


def _user(item: Object, at: Path) -> list[Message]:
    """A user message: each tool result in it, and what stands between them."""
    content = item.get("content")
    blocks = array(content)
    results = [block for block in objects(blocks) if block.get("type") == "tool_result"]
    if not results:
        return [Message(role="user", content=parts(content))]
    found: list[Message] = []
    beside: list[Block] = []
    for place, block in enumerate(blocks):
        if not isinstance(block, dict) or block.get("type") != "tool_result":
            beside.append(part(block))
            continue
        if beside:
            found.append(Message(role="user", content=tuple(beside), prompt=False))
            beside = []
        found.append(
            Message(
                role="tool",
                content=parts(block.get("content")),
                call_id=text(block.get("tool_use_id")),
                is_error=block.get("is_error") is True,
                origin=(*at, place, "content"),
            )
        )
    if beside:
        found.append(Message(role="user", content=tuple(beside), prompt=False))
    return found


def _assistant(content: Any, report: Any, stop: str) -> list[Message]:
    """An answer, and before it the compactions it reports: each is a message that stands for all before it."""
    passes, rest = _iterations(obj(report))
    found: list[Message] = []
    said: list[Block] = []
    for block in array(content) if isinstance(content, list) else [content]:
        if not isinstance(block, dict) or block.get("type") != "compaction":
            said += parts(block) if isinstance(block, str) else () if block is None else (_said(block),)
            continue
        if said:
            found.append(Message(role="assistant", content=tuple(said)))
            said = []
        summary = parts(block.get("content")) or (Opaque(compact(block)),)
        cost = passes.pop(0) if passes else None
        found.append(Message(role="user", content=summary, source="compaction", prompt=False, resets=True, usage=cost))
    rest = _sum([*passes, *([rest] if rest else [])])
    if said or not found:
        found.append(Message(role="assistant", content=tuple(said), usage=rest, stop=stop))
    return found


def _said(block: Any) -> Block:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "thinking":
        left = extra(block, "type", "thinking", "signature")
        return Reasoning(text(block.get("thinking")), text(block.get("signature")), left)
    if kind == "tool_use":
        written = arguments(block.get("input"))
        left = extra(block, "type", "id", "name", "input")
        return ToolUse(text(block.get("id")), text(block.get("name")), written, left)
    return part(block)


def usage_of(report: Object) -> Usage | None:
    """One pass of the model: its four buckets are disjoint already."""
    return usage(
        report.get("input_tokens"),
        report.get("output_tokens"),
        report.get("cache_read_input_tokens"),
        report.get("cache_creation_input_tokens"),
    )


def _iterations(report: Object) -> tuple[list[Usage], Usage | None]:
    """The usage of each compaction pass, and that of the answer. The top level counts the answer alone."""
    passes = objects(report.get("iterations"))
    if not any(each.get("type") == "compaction" for each in passes):
        return [], usage_of(report)
    spent = [(each.get("type") == "compaction", usage_of(each)) for each in passes]
    return [cost for own, cost in spent if own and cost], _sum([cost for own, cost in spent if not own and cost])


def _sum(costs: list[Usage]) -> Usage | None:
    if not costs:
        return None
    return Usage(
        sum(cost.input_tokens for cost in costs),
        sum(cost.output_tokens for cost in costs),
        sum(cost.cache_read_tokens for cost in costs),
        sum(cost.cache_write_tokens for cost in costs),
    )


def _answers(response: Object, complain: Complain) -> list[Message]:
    if "content" not in response:
        complain("a response has no content")
        return []
    for edit in objects(obj(response.get("context_management")).get("applied_edits")):
        cleared = number(edit.get("cleared_tool_uses"))
        if cleared:
            complain(f"the server cleared {cleared} tool results from a prompt and does not say which")
    return _assistant(response["content"], response.get("usage"), _STOPS.get(text(response.get("stop_reason")), ""))


def _system(body: Object) -> str | None:
    system = body.get("system")
    if isinstance(system, str):
        return system or None
    return "\n\n".join(text_of((block,)) for block in parts(system) if isinstance(block, Text)) or None


API = Api("messages", b"api.anthropic.com", is_message, messages, _system, _answers)


def detect(source: Source) -> bool:
    """Blocks, instructions beside the list, tool schemas or answers as only this API has them."""
    if is_cassette(source, API.host):
        return True
    value = glimpse(source)
    found = inside(value, (), API.key, is_message)
    return is_own(value) or any(
        any(map(is_own, each.items)) or _is_request(each.body) or obj(each.response).get("type") == "message"
        for each in found
    )


def _is_request(body: Object) -> bool:
    own_tools = any("input_schema" in tool for tool in objects(body.get("tools")))
    return own_tools or isinstance(body.get("system"), str | list)


def read(source: Source) -> tuple[Session, ...]:
    """The sessions, one for each conversation. Raises FormatError where there is no message list."""
    return _api.read(source, API)


def write(source: Source, contents: Mapping[int, tuple[Block, ...]]) -> bytes:
    """The list with other contents for some results, by their seq in the first session. Raises FormatError."""
    return _api.write(source, contents, API)


FORMAT = Format(
    "anthropic_messages",
    "Anthropic Messages API (lists, logged requests, VCR cassettes)",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction"}),
    detect,
    read,
    write,
)
