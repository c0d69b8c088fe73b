"""LangChain dumps, written by langchain-core 1.8 in its three spellings, and a trace that Langfuse exported."""

import json
from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import DATA, answers, excerpt, lines, of, results, said, where

from refold.events import FormatError, Opaque, Reasoning, RequestContext, RequestHeader, Text, ToolUse, Usage
from refold.events.formats._source import Source
from refold.events.formats.langchain import FORMAT, write

DUMPS: dict[str, list[dict[str, Any]]] = json.loads((DATA / "langchain_dumps.json").read_bytes())


def dumped(spelling: str) -> Source:
    return Source(json.dumps(DUMPS[spelling], indent=1).encode(), spelling)


@pytest.mark.parametrize("spelling", ["to_dict", "dump", "dumpd"])
def test_the_three_spellings_tell_the_same_session(spelling: str) -> None:
    (session,) = read(FORMAT, dumped(spelling).data)

    assert surface(session) == [
        "user: What is in a.txt and b.txt?",
        "assistant: Reading.",
        "tool: alpha é\n",
        "assistant: ",
        "tool: no such fileplain",
        "assistant: Done.",
    ]
    assert where(session) == [(1, 1), (1, 2), (1, 3)]
    assert of(session, RequestHeader)[0].system == "Be brief."
    assert [(result.call_id, result.is_error) for result in results(session)] == [("c1", False), ("c2", True)]


def test_calls_are_told_once_and_with_the_arguments_as_they_were_written() -> None:
    (session,) = FORMAT.read(dumped("dump"))

    first, second, _ = answers(session)
    assert first.content == (Reasoning("both", "s"), Text("Reading."), ToolUse("c1", "read", '{"path":"a.txt"}'))
    assert second.content == (ToolUse("c2", "read", '{"path": "b.txt"}'),), "OpenAI's dict keeps the blank"


def test_cached_tokens_are_part_of_the_input_reported() -> None:
    (session,) = FORMAT.read(dumped("dump"))

    assert [answer.usage for answer in answers(session)] == [Usage(5, 30, 100, 15), None, None]


def test_usage_is_found_in_the_response_metadata_too() -> None:
    report = {"token_usage": {"prompt_tokens": 60, "completion_tokens": 15}, "model_name": "gpt-4o"}
    ai = {"type": "ai", "content": "ok", "additional_kwargs": {}, "response_metadata": report}
    (session,) = FORMAT.read(lines({"type": "human", "content": "go", "additional_kwargs": {}}, ai))

    (answer,) = answers(session)
    assert (answer.usage, answer.model) == (Usage(60, 15), "gpt-4o")


@pytest.mark.parametrize("wrap", [("messages",), ("values", "messages"), ("checkpoint", "channel_values", "messages")])
def test_a_graph_state_is_read_for_its_messages(wrap: tuple[str, ...]) -> None:
    state: Any = DUMPS["dump"]
    for name in reversed(wrap):
        state = {name: state, "other": 1}

    (session,) = read(FORMAT, json.dumps(state))
    assert len(results(session)) == 2


def test_states_that_follow_one_another_are_one_session() -> None:
    states = [{"values": {"messages": DUMPS["dump"][:length]}} for length in (2, 4, 7)]
    (grown,) = read(FORMAT, json.dumps(states))
    (last,) = read(FORMAT, json.dumps(states[-1]))

    assert grown.events == last.events


def test_a_trace_is_told_from_its_model_calls() -> None:
    (session,) = read_file(FORMAT, "langchain_trace.json")

    assert surface(session)[:2] == ["user: Be helpful!", "user: Search the web for 'example' and summarize."]
    assert [said(result) for result in results(session)] == [
        '[{"url": "https://example.com", "title": "Example Result", "q": "example"}]'
    ]
    assert [answer.usage for answer in answers(session)] == [Usage(60, 15), Usage(108, 51)]
    assert where(session) == [(1, 1), (1, 2)]


def test_tool_definitions_among_a_traces_messages_are_no_results() -> None:
    (session,) = read_file(FORMAT, "langchain_trace.json")

    (header,) = of(session, RequestHeader)
    assert [tool["function"]["name"] for tool in json.loads(header.tools)] == ["Web-Search"]
    assert [context.model for context in of(session, RequestContext)] == ["gpt-4o-2024-08-06"]


def test_an_unknown_kind_of_content_is_carried_as_it_came() -> None:
    picture = {"type": "image_url", "image_url": "x"}
    (session,) = FORMAT.read(lines({"type": "human", "content": ["look", picture], "additional_kwargs": {}}))

    message = next(event for event in session.events if event.type == "user/message")
    assert message.content == (Text("look"), Opaque('{"type":"image_url","image_url":"x"}'))  # type: ignore[attr-defined]


@pytest.mark.parametrize("data", [b"", b"[]", b'[{"type": "human", "text": "x"}]', b'{"messages": [{"role": "user"}]}'])
def test_other_lists_are_not_recognised(data: bytes) -> None:
    assert not FORMAT.detect(Source(data, "x"))
    with pytest.raises(FormatError):
        FORMAT.read(Source(data, "x"))


def test_broken_input_is_refused_or_read_in_good_order() -> None:
    never_breaks(FORMAT, dumped("dumpd"))
    never_breaks(FORMAT, excerpt("langchain_trace.json"))


# writing


@pytest.mark.parametrize("spelling", ["to_dict", "dump", "dumpd"])
def test_only_the_cut_content_changes(spelling: str) -> None:
    source = dumped(spelling)
    (session,) = FORMAT.read(source)
    first, second = results(session)

    assert write(source, {}) == source.data
    assert write(source, {first.seq: (Text("a"),)}) == source.data.replace(rb'"alpha \u00e9\n"', b'"a"')
    failed, plain = second.content
    assert isinstance(failed, Text)
    assert write(source, {second.seq: (failed, Text("p"))}) == source.data.replace(b'"plain"', b'"p"')
    assert write(source, {second.seq: (Text("no"), plain)}) == source.data.replace(b'"no such file"', b'"no"')


def test_a_trace_cannot_be_written() -> None:
    source = excerpt("langchain_trace.json")
    (session,) = FORMAT.read(source)

    assert write(source, {}) == source.data
    with pytest.raises(FormatError, match="recording"):
        write(source, {results(session)[0].seq: (Text("x"),)})
