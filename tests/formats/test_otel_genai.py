"""GenAI traces: one excerpt a convention, exported by Langfuse, and OTLP as the protocol spells it."""

import json
from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, excerpt, of, results, said, where

from refold.events import FormatError, RequestContext, RequestHeader, ToolCall, Usage
from refold.events.formats._source import Source
from refold.events.formats.otel_genai import FORMAT


def test_a_prompt_that_holds_only_what_is_new_goes_on_from_the_answer_it_names() -> None:
    (session,) = read_file(FORMAT, "otel_microsoft.json")

    assert [line.partition(":")[0] for line in surface(session)] == ["user", "assistant", "tool", "assistant"]
    assert [answer.usage for answer in answers(session)] == [Usage(77, 86), Usage(216, 20)]
    (call,) = of(session, ToolCall)
    (result,) = results(session)
    assert (call.name, call.arguments) == ("get_weather", '{"location":"Tokyo, Japan"}')
    assert result.call_id == call.call_id == "call_CwaJHuXTm9dmHFQPlVbqyzJ0"
    assert json.loads(said(result))["result"] == "The weather in Tokyo, Japan is stormy with a high of 23°C."


def test_instructions_of_the_agent_around_a_call_are_its_system_text() -> None:
    (session,) = read_file(FORMAT, "otel_microsoft.json")

    (header,) = of(session, RequestHeader)
    assert header.system == "You are a helpful assistant."
    assert [tool["function"]["name"] for tool in json.loads(header.tools)] == ["get_weather"]
    assert [(context.provider, context.model) for context in of(session, RequestContext)] == [("openai", "gpt-5-mini")]


def test_calls_that_a_flat_prompt_tells_one_by_one_are_the_one_answer_they_were() -> None:
    (session,) = read_file(FORMAT, "otel_koog.json")

    assert where(session) == [(1, 1), (1, 2)]
    assert [call.name for call in of(session, ToolCall)] == ["HelloTool", "ByeTool"]
    assert [(result.call_id, said(result)) for result in results(session)] == [
        ("call_n2HaWg9KFP0BZDqXv6G4b3nJ", "Hello my darling Bob!"),
        ("call_dOeEHJDI0liHrCdFWTpkTsuO", "Bye my dear Bob!"),
    ]
    assert [answer.usage for answer in answers(session)] == [Usage(47, 106), Usage(168, 19)]


def test_flat_openinference_messages_are_read_and_their_calls_may_have_no_id() -> None:
    (session,) = read_file(FORMAT, "otel_adk.json")

    (call,) = of(session, ToolCall)
    (result,) = results(session)
    assert (call.call_id, call.name, result.call_id, result.sources) == ("", "say_hello", "", (call.seq,))
    assert said(result) == '{"greeting": "Hello Langfuse 👋"}'
    assert [answer.usage for answer in answers(session)] == [Usage(28, 3), Usage(39, 6)]


def test_spans_without_prompts_are_put_together_from_tools_and_answers() -> None:
    (session,) = read_file(FORMAT, "otel_claude_agent.json")

    assert [line.partition("\n")[0] for line in surface(session)] == [
        "user: What's the weather like in Berlin and New York?",
        "assistant: I'll check the weather in both Berlin and New York for you.",
        "assistant: ",
        "assistant: ",
        "tool: Weather in Berlin: Cloudy, 59°F",
        "tool: Weather in New York: Sunny, 75°F",
        "assistant: Great! Here's the current weather for both cities:",
    ]
    assert [(result.step, result.call_id[-4:]) for result in results(session)] == [(2, "48y7"), (3, "HcA7")]
    assert session.notes == (
        "a span does not tell its prompt: it is put together from the spans before it (3 times)",
        "a tool span names no call: it is joined by the tool's name and arguments (2 times)",
    )


def attribute(key: str, value: Any) -> dict[str, Any]:
    kind = {str: "stringValue", int: "intValue", float: "doubleValue", bool: "boolValue"}[type(value)]
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def span(number: int, name: str, *, parent: str = "", status: int = 0, **attributes: Any) -> dict[str, Any]:
    return {
        "traceId": "t1",
        "spanId": f"s{number}",
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(number * 1_000_000_000),
        "endTimeUnixNano": str(number * 1_000_000_000 + 500_000_000),
        "attributes": [attribute(key.replace("__", "."), value) for key, value in attributes.items()],
        "status": {"code": status},
    }


def otlp(*spans: dict[str, Any]) -> bytes:
    scoped = {"scope": {"name": "made.up"}, "spans": list(spans)}
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [scoped]}]}).encode()


def chat(number: int, sent: list[Any], got: list[Any], **attributes: Any) -> dict[str, Any]:
    return span(
        number,
        "chat m",
        gen_ai__operation__name="chat",
        gen_ai__request__model="m",
        gen_ai__input__messages=json.dumps(sent),
        gen_ai__output__messages=json.dumps(got),
        **attributes,
    )


def said_part(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


ASKED = said_part("user", "go")
CALLED = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "read", "arguments": {"path": "a"}}]}
CAME = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "text"}]}


def test_otlp_is_read_whatever_the_order_of_its_spans() -> None:
    first = chat(1, [ASKED], [CALLED], gen_ai__usage__input_tokens=50, gen_ai__usage__output_tokens=9)
    second = chat(
        3,
        [ASKED, CALLED, CAME],
        [said_part("assistant", "done")],
        gen_ai__usage__input_tokens=70,
        gen_ai__usage__output_tokens=3,
        gen_ai__usage__cache_read__input_tokens=40,
    )
    (session,) = read(FORMAT, otlp(second, first))

    assert session.id == "t1"
    assert surface(session) == ["user: go", "assistant: ", "tool: text", "assistant: done"]
    assert [answer.usage for answer in answers(session)] == [Usage(50, 9), Usage(30, 3, 40)]
    assert [answer.time for answer in answers(session)] == [1500, 3500]


def test_a_failed_tool_span_marks_its_result() -> None:
    tool = span(2, "execute_tool read", status=2, gen_ai__operation__name="execute_tool", gen_ai__tool__call__id="c1")
    tool["attributes"].append(attribute("gen_ai.tool.call.result", "text"))
    (session,) = read(
        FORMAT, otlp(chat(1, [ASKED], [CALLED]), tool, chat(3, [ASKED, CALLED, CAME], [said_part("assistant", "ok")]))
    )

    assert [(said(result), result.is_error) for result in results(session)] == [("text", True)]


def test_a_result_that_was_never_sent_stands_at_the_end() -> None:
    tool = span(
        2,
        "execute_tool read",
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__call__id="c1",
        gen_ai__tool__call__result="late",
    )
    (session,) = read(FORMAT, otlp(chat(1, [ASKED], [CALLED]), tool))

    assert surface(session) == ["user: go", "assistant: ", "tool: late"]


def test_an_agent_inside_a_tool_is_a_session_of_the_one_that_called_it() -> None:
    tool = span(2, "execute_tool read", gen_ai__operation__name="execute_tool", gen_ai__tool__call__id="c1")
    tool["attributes"].append(attribute("gen_ai.tool.call.result", "text"))
    inner = {**chat(3, [said_part("user", "inner")], [said_part("assistant", "found")]), "parentSpanId": "s2"}
    outer, spawned = read(FORMAT, otlp(chat(1, [ASKED], [CALLED]), tool, inner))

    assert (outer.parent, spawned.parent) == (None, outer.id)


def test_a_list_that_is_later_shorter_is_a_rewind() -> None:
    done = said_part("assistant", "done")
    (session,) = read(FORMAT, otlp(chat(1, [ASKED], [done]), chat(2, [ASKED], [said_part("assistant", "again")])))

    assert surface(session) == ["user: go", "assistant: again"]
    assert "surface/rewind" in [event.type for event in session.events]


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"resourceSpans": []}', b'{"observations": [{"id": "x"}]}'])
def test_what_is_no_trace_is_refused(data: bytes) -> None:
    assert not FORMAT.detect(Source(data, "x"))
    with pytest.raises(FormatError):
        FORMAT.read(Source(data, "x"))


def test_a_trace_without_a_model_call_is_refused() -> None:
    with pytest.raises(FormatError, match="without a model call"):
        FORMAT.read(Source(otlp(span(1, "GET /")), "x"))


def test_traces_are_never_written() -> None:
    assert FORMAT.write is None


@pytest.mark.parametrize("name", ["otel_microsoft.json", "otel_koog.json", "otel_adk.json", "otel_claude_agent.json"])
def test_broken_input_is_refused_or_read_in_good_order(name: str) -> None:
    never_breaks(FORMAT, excerpt(name))


def executed(number: int, path: str, result: str, parent: str = "") -> dict[str, Any]:
    """A tool's span that names no call."""
    made = span(number, "execute_tool read", parent=parent, gen_ai__operation__name="execute_tool")
    told = {"name": "read", "call.arguments": json.dumps({"path": path}), "call.result": result}
    made["attributes"] += [attribute(f"gen_ai.tool.{key}", value) for key, value in told.items()]
    return made


def call(name: str, path: str) -> dict[str, Any]:
    asked = {"type": "tool_call", "id": name, "name": "read", "arguments": {"path": path}}
    return {"role": "assistant", "parts": [asked]}


def test_spans_without_ids_join_the_newest_call_of_their_arguments_that_has_none() -> None:
    sessions = read(
        FORMAT,
        otlp(
            chat(1, [said_part("user", "one")], [call("c1", "a")]),
            chat(2, [said_part("user", "two")], [call("c2", "a")]),
            chat(3, [said_part("user", "three")], [call("c3", "b")]),
            executed(4, "a", "newest"),
            executed(5, "a", "older"),
            executed(6, "a", "nobody's"),
            executed(7, "b", "other"),
        ),
    )

    told = {result.call_id: said(result) for session in sessions for result in results(session)}
    assert told == {"c1": "older", "c2": "newest", "c3": "other"}


def test_no_more_than_64_spans_around_a_call_are_looked_at() -> None:
    spans = [span(0, "agent", gen_ai__system_instructions="far"), span(1, "agent", parent="s0")]
    spans += [span(at, "agent", parent=f"s{at - 1}") for at in range(2, 65)]
    inner = {**chat(70, [ASKED], [said_part("assistant", "ok")]), "parentSpanId": "s63"}
    outer = {**chat(71, [said_part("user", "x")], [said_part("assistant", "ok")]), "parentSpanId": "s64"}
    near, far = FORMAT.read(Source(otlp(*spans, inner, outer), "x"))

    assert [header.system for session in (near, far) for header in of(session, RequestHeader)] == ["far"]
