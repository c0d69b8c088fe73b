"""Messages API traffic: bodies recorded by pydantic-ai's tests, and lists as Anthropic's reference spells them."""

import json
import sys
from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, excerpt, lines, of, results, said, where

from refold.events import (
    FormatError,
    Opaque,
    Reasoning,
    RequestHeader,
    Text,
    ToolCall,
    ToolResult,
    ToolUse,
    TurnEnd,
    TurnStart,
    Usage,
    UserMessage,
)
from refold.events.formats._source import Source
from refold.events.formats.anthropic_messages import FORMAT, write

USE = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}


def listed(*messages: dict[str, Any]) -> Source:
    return Source(json.dumps(messages).encode(), "made up")


def block(call: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **fields}


def test_a_cassette_is_read_as_the_bodies_it_recorded() -> None:
    (session,) = read_file(FORMAT, "anthropic_parallel.yaml")

    assert where(session) == [(1, 1), (1, 2)]
    assert [(call.name, call.arguments) for call in of(session, ToolCall)] == [
        ("retrieve_entity_info", '{"name":"Alice"}'),
        ("retrieve_entity_info", '{"name":"Bob"}'),
        ("retrieve_entity_info", '{"name":"Charlie"}'),
        ("retrieve_entity_info", '{"name":"Daisy"}'),
    ]
    assert [said(result) for result in results(session)] == [
        "alice is bob's wife",
        "bob is alice's husband",
        "charlie is alice's son",
        "daisy is bob's daughter and charlie's younger sister",
    ]
    assert [answer.usage for answer in answers(session)] == [Usage(423, 202), Usage(771, 77)]
    (header,) = of(session, RequestHeader)
    assert header.system is not None
    assert header.system.startswith("\n    Use the `retrieve_entity_info` tool")
    assert header.config == '{"max_tokens":4096,"model":"claude-haiku-4-5","tool_choice":{"type":"auto"}}'


def test_a_cassette_needs_a_yaml_parser_and_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    source = excerpt("anthropic_parallel.yaml")
    monkeypatch.setitem(sys.modules, "yaml", None)

    assert FORMAT.detect(source), "recognised without one"
    with pytest.raises(FormatError, match=r"refold\[yaml\]"):
        FORMAT.read(source)


def test_a_cassette_cannot_be_written() -> None:
    source = excerpt("anthropic_parallel.yaml")
    (session,) = FORMAT.read(source)

    with pytest.raises(FormatError, match="recording"):
        write(source, {results(session)[0].seq: (Text("x"),)})


@pytest.mark.parametrize("bomb", ["&a [x, x]", "&a {k: *a}", "&a [*a]"])
def test_yaml_aliases_cannot_blow_a_cassette_up(bomb: str) -> None:
    doubled = "".join(f"n{level}: &n{level} [*n{level - 1}, *n{level - 1}]\n" for level in range(1, 60))
    text = f"n0: &n0 {bomb}\n{doubled}interactions:\n- request: {{uri: api.anthropic.com, parsed_body: *n59}}\n"

    with pytest.raises(FormatError):
        FORMAT.read(Source(text.encode(), "bomb"))


def test_thinking_keeps_its_signature_and_stays_in_front() -> None:
    (session,) = read_file(FORMAT, "anthropic_thinking.json")

    first, second = answers(session)
    thought, text, use = first.content
    assert isinstance(thought, Reasoning)
    assert thought.text.startswith("The user is asking about the largest city")
    assert (len(thought.signature), thought.signature[:8]) == (736, "EqEECkYI")
    assert isinstance(text, Text)
    assert use == ToolUse("toolu_01YGzqpRE16Vricda3Aqcejo", "get_user_country", "{}")
    assert said(results(session)[0]) == "Mexico"
    assert second.usage == Usage(566, 126)


def test_a_compaction_block_replaces_everything_before_it() -> None:
    (session,) = read_file(FORMAT, "anthropic_compaction.json")

    prompt, summary = of(session, UserMessage)
    written, hello = answers(session)
    assert (summary.source, summary.replaces, summary.sources) == (
        "compaction",
        (prompt.seq, written.seq),
        (prompt.seq, written.seq),
    )
    assert said(summary).startswith("The user provided a very long context")
    assert surface(session)[1:] == ["assistant: Hello!"]
    assert said(hello) == "Hello!"


def test_the_usage_of_a_compaction_pass_is_that_of_a_call_of_its_own() -> None:
    (session,) = read_file(FORMAT, "anthropic_compaction.json")

    # usage.iterations: the compaction wrote 55,096 to the cache and read 100, the answer read 229
    assert [answer.usage for answer in answers(session)] == [Usage(100, 131, 0, 55096), Usage(229, 5)]
    assert where(session) == [(1, 1), (1, 2)]


def test_a_list_that_sends_a_compaction_again_goes_on_from_it() -> None:
    bodies = json.loads(excerpt("anthropic_compaction.json").data)
    asked, answered = bodies[0]["request"], bodies[0]["response"]
    more = [
        *asked["messages"],
        {"role": "assistant", "content": answered["content"]},
        {"role": "user", "content": "And now?"},
    ]
    again = {"request": {**asked, "messages": more}}
    (session,) = read(FORMAT, lines(*bodies, again).data)

    assert len([message for message in of(session, UserMessage) if message.replaces]) == 1
    assert surface(session)[1:] == ["assistant: Hello!", "user: And now?"]
    shorter = {"request": {**asked, "messages": more[1:]}}
    (same,) = read(FORMAT, lines(*bodies, shorter).data)
    assert surface(same) == surface(session)


def test_several_results_of_one_message_are_several_events() -> None:
    (session,) = read(
        FORMAT,
        listed(
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [USE, {**USE, "id": "t2"}]},
            {
                "role": "user",
                "content": [
                    block("t2", [{"type": "text", "text": "second"}], is_error=True),
                    block("t1", "first"),
                    {"type": "text", "text": "be quick"},
                ],
            },
        ).data,
    )

    assert [(result.call_id, said(result), result.is_error) for result in results(session)] == [
        ("t2", "second", True),
        ("t1", "first", False),
    ]
    assert len(of(session, TurnStart)) == 1, "what is said along with results opens no turn"
    assert surface(session)[-1] == "user: be quick"


def test_tools_that_the_server_runs_are_part_of_the_answer() -> None:
    asked = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    (session,) = FORMAT.read(
        listed(
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [asked, found, {"type": "text", "text": "so"}]},
        )
    )

    assert of(session, ToolResult) == []
    (answer,) = answers(session)
    assert answer.content[:2] == (
        Opaque('{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"q"}}'),
        Opaque('{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}'),
    )


def test_the_four_buckets_are_taken_as_they_are() -> None:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 1111,
        "cache_creation_input_tokens": 418,
        "output_tokens": 33,
    }
    response = {"type": "message", "content": [{"type": "text", "text": "ok"}], "usage": usage}
    (session,) = FORMAT.read(lines({"messages": [{"role": "user", "content": "go"}], "response": response}))

    assert [answer.usage for answer in answers(session)] == [Usage(3, 33, 1111, 418)]


def test_an_answer_cut_by_its_length_ends_the_turn_so() -> None:
    response = {"type": "message", "content": [{"type": "text", "text": "on"}], "stop_reason": "max_tokens"}
    (session,) = FORMAT.read(lines({"messages": [{"role": "user", "content": "go"}], "response": response}))

    assert [end.reason for end in of(session, TurnEnd)] == ["max-tokens"]


def test_what_the_server_cleared_is_said() -> None:
    response = {
        "type": "message",
        "content": [{"type": "text", "text": "ok"}],
        "context_management": {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8}]},
    }
    (session,) = FORMAT.read(lines({"messages": [{"role": "user", "content": "go"}], "response": response}))

    assert session.notes == ("the server cleared 8 tool results from a prompt and does not say which",)


def test_a_prompt_refused_for_its_length_is_an_overflow() -> None:
    refused = {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens"},
    }
    request = {"system": "s", "messages": [{"role": "user", "content": "go"}]}
    (session,) = read(FORMAT, lines({"request": request, "response": refused}).data)

    assert "overflow" in [event.type for event in session.events]


@pytest.mark.parametrize("data", [b"", b"[]", b'[{"role":"user","content":"plain"}]', b"interactions: [", b"\x00"])
def test_nothing_peculiar_to_this_api_is_not_recognised(data: bytes) -> None:
    assert not FORMAT.detect(Source(data, "x"))


def test_broken_input_is_refused_or_read_in_good_order() -> None:
    never_breaks(FORMAT, excerpt("anthropic_thinking.json"))
    never_breaks(FORMAT, excerpt("anthropic_compaction.json"))
    never_breaks(FORMAT, excerpt("anthropic_parallel.yaml"))


# writing


def test_nothing_replaced_is_the_same_bytes() -> None:
    source = excerpt("anthropic_thinking.json")
    assert write(source, {}) == source.data


def test_only_the_cut_content_of_a_result_block_changes() -> None:
    source = excerpt("anthropic_thinking.json")
    (session,) = FORMAT.read(source)

    written = write(source, {results(session)[0].seq: (Text("M"),)})
    assert source.data.count(b'"content": "Mexico"') == 1
    assert written == source.data.replace(b'"content": "Mexico"', b'"content": "M"')


def test_each_of_several_results_of_a_message_changes_alone() -> None:
    data = json.dumps(
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [USE, {**USE, "id": "t2"}]},
            {
                "role": "user",
                "content": [
                    block("t1", "one"),
                    {"type": "text", "text": "one"},
                    block("t2", [{"type": "text", "text": "two"}]),
                ],
            },
        ],
        indent=2,
    ).encode()
    (session,) = FORMAT.read(Source(data, "x"))
    first, second = results(session)

    assert write(Source(data, "x"), {second.seq: (Text("2"),)}) == data.replace(b'"two"', b'"2"')
    both = write(Source(data, "x"), {second.seq: (Text("2"),), first.seq: (Text("1"),)})
    assert both == data.replace(b'"content": "one"', b'"content": "1"').replace(b'"two"', b'"2"')


def test_a_result_without_content_has_nothing_to_replace() -> None:
    source = listed(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [USE]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]},
    )
    (session,) = FORMAT.read(source)

    (result,) = results(session)
    assert result.content == ()
    with pytest.raises(FormatError, match=r"nothing stands at 2\.content\.0\.content"):
        write(source, {result.seq: (Text("x"),)})


@pytest.mark.parametrize("cut", [b"    status:", b"  response:", b"version: 1"])
def test_a_cassette_that_breaks_off_says_so(cut: bytes) -> None:
    data = excerpt("anthropic_parallel.yaml").data
    (session,) = FORMAT.read(Source(data[: data.rindex(cut)], "cut"))

    assert session.partial
    assert "the recording breaks off: it has no version line at its end" in session.notes


@pytest.mark.parametrize(
    ("response", "note"),
    [
        ('{"status": {"code": 200}, "body": {"string": "{\\"id\\": \\"m"}}', "has a response whose body is no JSON"),
        ("{}", "has no response"),
        ('{"parsed_body": {"content": []}}', "has a response that breaks off"),
    ],
)
def test_an_interaction_without_its_whole_response_says_so(response: str, note: str) -> None:
    request = '{"uri": "https://api.anthropic.com/v1/messages", "body": "{\\"messages\\": [{\\"role\\": \\"user\\", '
    request += '\\"content\\": \\"go\\"}]}"}'
    made = f"interactions:\n- {{request: {request}, response: {response}}}\nversion: 1\n"

    (session,) = FORMAT.read(Source(made.encode(), "made up"))

    assert session.partial
    assert f"interaction 1 {note}" in session.notes


def test_a_recording_cut_inside_a_text_is_read_up_to_the_interaction_before() -> None:
    data = excerpt("anthropic_parallel.yaml").data
    second = data.rindex(b"\n- request") + 1
    cut = data[:second] + b'- request:\n    uri: "https://api.anthro'
    (session,) = FORMAT.read(Source(cut, "cut"))

    assert where(session) == [(1, 1)]
    assert session.partial
    assert "interaction 2 breaks off and is left out" in session.notes
