"""Spans of a trace, whichever tool wrote them down: Langfuse's export, OTLP as JSON, the SDK's console exporter."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from refold.events._errors import FormatError
from refold.events.formats._fields import Object, array, millis, obj, objects, text
from refold.events.formats._source import decode_json

DEEPEST = 64  # spans around a span that are looked at: harnesses nest a dozen, and every call looks anew
_MODEL_OPERATIONS = ("chat", "text_completion", "generate_content")
_KINDS = MappingProxyType(
    {"LLM": "model", "GENERATION": "model", "llm": "model", "TOOL": "tool", "tool": "tool", "AGENT": "agent"}
)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One span. `kind` is model, tool, agent or "". `attributes` hold JSON texts as they came; times in milliseconds.

    `input`, `output`, `usage` and `model` are what Langfuse took out of the attributes; None or empty elsewhere.
    """

    id: str
    trace: str = ""
    parent: str = ""
    name: str = ""
    kind: str = ""
    scope: str = ""
    start: int = 0
    end: int = 0
    failed: bool = False
    attributes: Object
    input: Any = None
    output: Any = None
    usage: Object
    model: str = ""


def spans_of(value: Any) -> list[Span]:
    """The spans in a document, in the order in which they started; none where it holds no trace."""
    record = obj(value)
    trace = obj(record.get("trace"))
    seen = objects(record.get("observations")) or objects(trace.get("observations"))
    if seen and all("startTime" in each for each in seen):
        found = [_langfuse(each) for each in seen]
    elif isinstance(record.get("resourceSpans"), list):
        found = [
            _otlp(span, text(obj(scope.get("scope")).get("name")))
            for resource in objects(record["resourceSpans"])
            for scope in objects(resource.get("scopeSpans"))
            for span in objects(scope.get("spans"))
        ]
    else:
        records = objects(value) if isinstance(value, list) else [record]
        known = [each for each in records if "span_id" in obj(each.get("context")) and "attributes" in each]
        found = [_console(each) for each in known]
    return sorted(found, key=lambda span: span.start)


def loose(value: Any) -> Any:
    """The value of a JSON text that holds an object or a list; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return decode_json(value.encode("utf-8", "surrogatepass"), "attribute")
    except FormatError:
        return value


def unflatten(attributes: Object, prefix: str) -> list[Any]:
    """The list that attributes like `gen_ai.prompt.0.role` spell out, in the order of their numbers."""
    tree: dict[str, Any] = {}
    for name in attributes:
        if not isinstance(name, str) or not name.startswith(prefix):
            continue
        *path, last = name.removeprefix(prefix).split(".")
        if len(path) > 12:
            continue
        at = tree
        for key in path:
            inner = at.setdefault(key, {})
            at = inner if isinstance(inner, dict) else at.setdefault(f"{key}.", {})
        at[last] = attributes[name]
    listed = _listed(tree)
    return listed if isinstance(listed, list) else []


def _listed(tree: Any) -> Any:
    """A tree whose keys are all numbers, as a list; so are the trees in it."""
    if not isinstance(tree, dict):
        return tree
    values = {key: _listed(value) for key, value in tree.items()}
    if values and all(re.fullmatch(r"\d{1,9}", key) for key in values):
        return [values[key] for key in sorted(values, key=int)]
    return values


def _langfuse(each: Object) -> Span:
    metadata = obj(loose(each.get("metadata")))
    attributes = obj(metadata.get("attributes"))
    return Span(
        id=text(each.get("id")),
        trace=text(each.get("traceId")),
        parent=text(each.get("parentObservationId")),
        name=text(each.get("name")),
        kind=_kind(attributes, text(each.get("type"))),
        scope=text(obj(metadata.get("scope")).get("name")),
        start=millis(each.get("startTime")),
        end=millis(each.get("endTime")),
        failed=each.get("level") == "ERROR",
        attributes=attributes,
        input=loose(each.get("input")),
        output=loose(each.get("output")),
        usage=obj(each.get("usageDetails")),
        model=text(each.get("model")),
    )


def _otlp(span: Object, scope: str) -> Span:
    attributes = {text(each.get("key")): _value(each.get("value")) for each in objects(span.get("attributes"))}
    return Span(
        id=text(span.get("spanId")),
        trace=text(span.get("traceId")),
        parent=text(span.get("parentSpanId")),
        name=text(span.get("name")),
        kind=_kind(attributes, ""),
        scope=scope,
        start=_nanos(span.get("startTimeUnixNano")),
        end=_nanos(span.get("endTimeUnixNano")),
        failed=obj(span.get("status")).get("code") in (2, "STATUS_CODE_ERROR"),
        attributes=attributes,
        usage={},
    )


def _console(span: Object) -> Span:
    context, attributes = obj(span.get("context")), obj(span.get("attributes"))
    return Span(
        id=text(context.get("span_id")),
        trace=text(context.get("trace_id")),
        parent=text(span.get("parent_id")),
        name=text(span.get("name")),
        kind=_kind(attributes, ""),
        scope=text(obj(span.get("instrumentation_scope")).get("name")),
        start=millis(span.get("start_time")),
        end=millis(span.get("end_time")),
        failed=obj(span.get("status")).get("status_code") == "ERROR",
        attributes=attributes,
        usage={},
    )


def _kind(attributes: Object, recorded: str) -> str:
    operation = text(attributes.get("gen_ai.operation.name"))
    if operation in _MODEL_OPERATIONS:
        return "model"
    if operation == "execute_tool" or "gen_ai.tool.call.id" in attributes:
        return "tool"
    if operation in ("invoke_agent", "create_agent"):
        return "agent"
    named = text(attributes.get("openinference.span.kind")) or text(attributes.get("langsmith.span.kind"))
    return _KINDS.get(named) or _KINDS.get(recorded, "")


def _value(value: Any) -> Any:
    """An OTLP attribute value, two levels of lists deep at most."""
    kind, inner = next(iter(obj(value).items()), ("", None))
    if kind == "arrayValue":
        return [next(iter(obj(each).values()), None) for each in array(obj(inner).get("values"))]
    return inner if kind in ("stringValue", "intValue", "doubleValue", "boolValue") else None


def _nanos(value: Any) -> int:
    number = str(value)
    return int(number) // 1_000_000 if re.fullmatch(r"\d{1,20}", number) else 0


def up(spans: Mapping[str, Span], span: Span) -> list[Span]:
    """The spans around this one, the nearest first, and no more than DEEPEST."""
    found: list[Span] = []
    seen = {span.id}
    at = spans.get(span.parent)
    while at is not None and at.id not in seen and len(found) < DEEPEST:
        found.append(at)
        seen.add(at.id)
        at = spans.get(at.parent)
    return found
