"""Traces by OpenTelemetry's GenAI conventions and their forerunners: OTLP as JSON, or Langfuse's export. Read only.

Rules: the semantic conventions for GenAI spans, OpenInference, OpenLLMetry.
A step is a span of a model call; `gen_ai.tool.call.id` of a tool's span is the id of the call it answers.
"""

from refold.events._errors import FormatError
from refold.events.formats import _trace
from refold.events.formats._exchanges import glimpse, json_values
from refold.events.formats._source import Format, Session, Source
from refold.events.formats._spans import Span, spans_of


def _spans(source: Source) -> list[Span]:
    """Every span of the file; JSON lines hold one export, or one span, each."""
    values = [value for _, value in json_values(source)[0]]
    found = [span for value in values for span in spans_of(value)]
    return sorted(found, key=lambda span: span.start)


def detect(source: Source) -> bool:
    return any(span.kind for span in spans_of(glimpse(source)))


def read(source: Source) -> tuple[Session, ...]:
    """The sessions of a trace. Raises FormatError where it holds no model call."""
    spans = _spans(source)
    if not spans:
        raise FormatError(f"{source.name}: holds no spans")
    return _trace.sessions(spans, source.name)


FORMAT = Format(
    "otel_genai",
    "OpenTelemetry GenAI traces (OTLP JSON, Langfuse export)",
    frozenset({"usage", "cache", "reasoning", "errors", "times"}),
    detect,
    read,
)
