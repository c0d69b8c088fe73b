"""What a model span says was sent and answered, in any of the conventions for it.

Messages are `{role, parts}` (OpenTelemetry's GenAI convention), flat attributes (`gen_ai.prompt.N`, OpenInference's
`llm.input_messages.N`), or the dicts of a provider's API. Instrumentations differ in what they drop: tool calls may
stand as JSON text in a content, a result may lack its id and have the tool's name for a role.
"""

from collections.abc import Collection
from types import MappingProxyType
from typing import Any

from refold.events._blocks import Block, Opaque, Reasoning, Text, ToolUse
from refold.events._events import Role, Usage
from refold.events.formats import anthropic_messages
from refold.events.formats._fields import Object, arguments, compact, obj, objects, text, tokens, usage
from refold.events.formats._messages import Message, parts
from refold.events.formats._spans import Span, loose, unflatten

_ROLES = MappingProxyType({"human": "user", "ai": "assistant", "model": "assistant", "function": "tool"})
_SAID: MappingProxyType[str, Role] = MappingProxyType({"user": "user", "system": "system", "developer": "developer"})


def prompt(span: Span) -> list[Any]:
    """The native messages that were sent; empty where the span does not tell."""
    return _native(span, "gen_ai.input.messages", "gen_ai.prompt.", "llm.input_messages.", span.input)


def answer(span: Span) -> list[Any]:
    """The native messages that came back."""
    return _native(span, "gen_ai.output.messages", "gen_ai.completion.", "llm.output_messages.", span.output)


def _native(span: Span, whole: str, flat: str, openinference: str, shown: Any) -> list[Any]:
    listed = loose(span.attributes.get(whole))
    if isinstance(listed, list):
        return listed
    spelled = unflatten(span.attributes, flat)
    if spelled:
        return spelled
    spelled = [obj(each).get("message") for each in unflatten(span.attributes, openinference)]
    if spelled:
        return spelled
    if isinstance(shown, dict):
        shown = shown["messages"] if isinstance(shown.get("messages"), list) else [shown]
    return [each for each in shown if "role" in obj(each)] if isinstance(shown, list) else []


def read(native: list[Any], tools: Collection[str]) -> list[Message]:
    """The messages of a list. `tools` are names known to be tools: a role of that name is a result's."""
    return [message for each in native for message in _read(obj(each), tools)]


def definitions(native: list[Any]) -> list[Any]:
    """Tool definitions that stand among the messages, as LangChain's instrumentation puts them there."""
    return [each["content"] for each in objects(native) if _is_definition(each)]


def _is_definition(message: Object) -> bool:
    content = message.get("content")
    return message.get("role") == "tool" and isinstance(content, dict) and "function" in content


def _read(message: Object, tools: Collection[str]) -> list[Message]:
    if _is_definition(message):
        return []
    named = text(message.get("role"))
    role = "tool" if named in tools else _ROLES.get(named, named)
    if "parts" in message:
        return _from_parts(role, objects(message["parts"]))
    if anthropic_messages.is_own(message):
        return anthropic_messages.messages([message], (), lambda complaint: None)
    calls = _calls(message)
    if calls:
        return [Message(role="assistant", content=(*_thought_and_text(message), *calls))]
    content = _content(message)
    if role == "tool":
        name = named if named in tools else text(message.get("name"))
        return [Message(role="tool", content=content, call_id=text(message.get("tool_call_id")), name=name)]
    if role == "assistant":
        return [Message(role="assistant", content=_thought_and_text(message))]
    return [Message(role=_SAID[role], content=content)] if role in _SAID else []


def _from_parts(role: str, found: list[Object]) -> list[Message]:
    """A message of the GenAI convention; each result in it is a message."""
    results: list[Message] = []
    said: list[Block] = []
    for each in found:
        kind = each.get("type")
        if kind == "tool_call_response":
            result = each["response"] if "response" in each else each.get("result")
            content = (Text(result if isinstance(result, str) else compact(result)),)
            results.append(
                Message(role="tool", content=content, call_id=text(each.get("id")), name=text(each.get("name")))
            )
        elif kind == "tool_call":
            said.append(ToolUse(text(each.get("id")), text(each.get("name")), arguments(each.get("arguments"))))
        elif kind in ("reasoning", "thinking"):
            said.append(Reasoning(text(each.get("content"))))
        elif kind == "text" and isinstance(each.get("content"), str):
            said.append(Text(each["content"]))
        else:
            said.append(Opaque(compact(each)))
    if not said:
        return results
    spoke: Role = "assistant" if role == "assistant" else _SAID.get(role, "user")
    return [*results, Message(role=spoke, content=tuple(said), prompt=not results)]


def _thought_and_text(message: Object) -> tuple[Block, ...]:
    thought = text(message.get("reasoning_content"))
    said = () if _calls_as_text(message) else _content(message)
    return (Reasoning(thought), *said) if thought else said


def _content(message: Object) -> tuple[Block, ...]:
    contents = message.get("contents")
    if isinstance(contents, list):
        return parts([obj(each).get("message_content") for each in contents])
    return parts(message.get("content"))


def _calls(message: Object) -> list[ToolUse]:
    """The calls of an assistant message, wherever they stand."""
    listed = (
        objects(message.get("tool_calls"))
        or objects(obj(message.get("additional_kwargs")).get("tool_calls"))
        or _calls_as_text(message)
    )
    found: list[ToolUse] = []
    for each in listed:
        call = obj(each.get("tool_call")) or each
        function = obj(call.get("function")) or call
        written = function["arguments"] if "arguments" in function else function.get("args")
        found.append(ToolUse(text(call.get("id")), text(function.get("name")), arguments(written)))
    return found


def _calls_as_text(message: Object) -> list[Object]:
    listed = objects(loose(message.get("content"))) if isinstance(message.get("content"), str) else []
    return listed if listed and all("function" in each and "id" in each for each in listed) else []


def usage_of(span: Span) -> Usage | None:
    """Tokens by the conventions' attributes, else by Langfuse's figures. Input holds the cached tokens, except where
    Langfuse's total shows that it does not."""
    known = span.attributes
    fresh = _count(known, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
    said = _count(known, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
    names = ("cache_read.input_tokens", "cache_read_input_tokens", "cached_tokens")
    read = _count(known, *(f"gen_ai.usage.{name}" for name in names), "llm.token_count.prompt_details.cache_read")
    made = ("cache_creation.input_tokens", "cache_creation_input_tokens")
    write = _count(known, *(f"gen_ai.usage.{name}" for name in made), "llm.token_count.prompt_details.cache_write")
    if fresh or said:
        return usage(max(0, fresh - read - write), said, read, write)
    fresh, said = _count(span.usage, "input"), _count(span.usage, "output")
    read = _count(span.usage, "input_cache_read", "input_cached_tokens", "cache_read_input_tokens")
    write = _count(span.usage, "input_cache_creation", "cache_creation_input_tokens")
    apart = _count(span.usage, "total") >= fresh + said + read + write
    return usage(fresh if apart else max(0, fresh - read - write), said, read, write)


def _count(values: Object, *names: str) -> int:
    """The first of these counts that is there; exporters write numbers as texts."""
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
            return int(value)
        if tokens(value):
            return tokens(value)
    return 0


def tools(span: Span, native: list[Any]) -> list[Any]:
    """The tool definitions that went with the request."""
    asked = obj(loose(span.attributes.get("model_request_parameters")))
    schemas = [obj(obj(each).get("tool")).get("json_schema") for each in unflatten(span.attributes, "llm.tools.")]
    listed = loose(span.attributes.get("gen_ai.tool.definitions"))
    return (
        (listed if isinstance(listed, list) else [])
        or [*objects(asked.get("function_tools")), *objects(asked.get("output_tools"))]
        or [loose(schema) for schema in schemas]
        or objects(obj(span.input).get("tools"))
        or definitions(native)
    )


def system(span: Span) -> str | None:
    """Instructions that stand beside the messages."""
    listed = loose(span.attributes.get("gen_ai.system_instructions"))
    if isinstance(listed, list):
        return "\n\n".join(text(each.get("content")) for each in objects(listed)) or None
    return listed if isinstance(listed, str) and listed else text(obj(span.input).get("system")) or None
