"""Kimi sessions: excerpts of its context file and both wire protocols, and records that no public file holds."""

import json
from typing import Any

import pytest
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, of, results, said

from refold.events import (
    FormatError,
    RequestContext,
    RequestHeader,
    StepStart,
    SurfaceRewind,
    Text,
    ToolCall,
    ToolUse,
    TurnStart,
    Usage,
    UserMessage,
)
from refold.events.formats._source import Source
from refold.events.formats.kimi_cli import FORMAT

METADATA = {"type": "metadata", "protocol_version": "1.4"}


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def asked(text: str, **origin: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    message = {"role": "user", "content": content, "origin": origin or {"kind": "user"}}
    return {"type": "context.append_message", "message": message}


def step(*events: dict[str, Any]) -> list[dict[str, Any]]:
    every = ({"type": "step.begin", "uuid": "s"}, *events, {"type": "step.end", "uuid": "s"})
    return [{"type": "context.append_loop_event", "event": event} for event in every]


def part(text: str) -> dict[str, Any]:
    return {"type": "content.part", "stepUuid": "s", "part": {"type": "text", "text": text}}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "tool.call", "stepUuid": "s", "toolCallId": call_id, "name": "Bash", "args": {"command": call_id}}


def result(call_id: str, output: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool.result", "toolCallId": call_id, "result": {"output": output, **fields}}


def test_context_usage_before_an_answer_is_its_input_and_behind_it_the_whole() -> None:
    (session,) = read_file(FORMAT, "kimi_cli_context.jsonl")

    assert [answer.usage for answer in answers(session)] == [Usage(4504, 4711 - 4504), Usage(4736, 4788 - 4736)]


def test_context_results_are_joined_by_id_and_a_missing_one_is_reported() -> None:
    (session,) = read_file(FORMAT, "kimi_cli_context.jsonl")

    assert [(each.call_id, said(each)) for each in results(session)] == [("Think:0", "<system>Thought logged</system>")]
    assert session.notes == ("1 call has no result",)


def test_context_messages_of_kimi_itself_open_no_turn() -> None:
    source = lines(
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": "go"},
        {"role": "user", "content": [{"type": "text", "text": "<system>CHECKPOINT 1</system>"}]},
        {"role": "assistant", "content": "yes"},
    )

    (session,) = read(FORMAT, source)

    assert len(of(session, TurnStart)) == 1
    assert [event.source for event in of(session, UserMessage)] == ["user", "kimi"]


def test_context_an_error_is_marked_in_the_first_text() -> None:
    source = lines(
        {"role": "_checkpoint", "id": 0},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "Bash", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "<system>ERROR: no</system>"}]},
    )

    (session,) = read(FORMAT, source)

    assert [each.is_error for each in results(session)] == [True]


def test_wire_usage_counts_once_and_the_cached_tokens_stand_beside_the_others() -> None:
    (session,) = read_file(FORMAT, "kimi_cli_wire.jsonl")

    assert [answer.usage for answer in answers(session)] == [
        Usage(11025, 133, 1536, 0),
        Usage(250, 78, 12544, 0),
        Usage(4862, 434, 12544, 0),
    ]
    assert [each.context_window for each in of(session, RequestContext)] == [262144]


def test_wire_argument_parts_reach_the_call_they_continue() -> None:
    (session,) = read_file(FORMAT, "kimi_cli_wire.jsonl")

    arguments = '{"path": ".agents/skills/example-task/scripts/inspect_session.py"}'
    assert of(session, ToolCall)[2].arguments == arguments
    assert answers(session)[1].content[-1] == ToolUse("tool_300OLXjS5RZxFz9LvWJP6QyJ", "ReadFile", arguments)


def test_wire_results_are_sent_with_what_the_tool_says_of_itself() -> None:
    (session,) = read_file(FORMAT, "kimi_cli_wire.jsonl")

    first = results(session)[0]
    assert first.content[0] == Text("<system>Found 5 matches for pattern `.agents/skills/example-task/**/*`.</system>")
    assert said(first).count(".agents/skills/example-task/SKILL.md") == 1


def test_wire_results_follow_the_order_of_their_calls() -> None:
    def wire(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": 1.5, "message": {"type": kind, "payload": payload}}

    calls = [wire("ToolCall", id=name, function={"name": "Bash", "arguments": "{}"}) for name in "ab"]
    late, early = (wire("ToolResult", tool_call_id=name, return_value={"output": name}) for name in "ab")

    (session,) = read(FORMAT, lines(wire("TurnBegin", user_input="go"), wire("StepBegin", n=1), *calls, early, late))

    assert [each.call_id for each in results(session)] == ["a", "b"]


def test_wire_a_sub_agent_is_a_session_of_its_own() -> None:
    def wire(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": 1.0, "message": {"type": kind, "payload": payload}}

    nested = {"type": "ContentPart", "payload": {"type": "text", "text": "from below"}}
    source = lines(
        wire("TurnBegin", user_input="go"),
        wire("StepBegin", n=1),
        wire("ToolCall", id="t", function={"name": "Task", "arguments": "{}"}),
        wire("SubagentEvent", task_tool_call_id="t", event={"type": "StepBegin", "payload": {"n": 1}}),
        wire("SubagentEvent", task_tool_call_id="t", event=nested),
        wire("ToolResult", tool_call_id="t", return_value={"output": "done"}),
    )

    main, child = read(FORMAT, source, "wire")

    assert (main.id, child.id, child.parent) == ("wire", "wire:t", "wire")
    assert surface(main) == ["user: go", "assistant: ", "tool: done"]
    assert surface(child) == ["assistant: from below"]


def test_wire_a_compaction_keeps_the_last_two_messages() -> None:
    def wire(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": 1.0, "message": {"type": kind, "payload": payload}}

    turns = [
        each
        for text in ("one", "two")
        for each in (
            wire("TurnBegin", user_input=text),
            wire("StepBegin", n=1),
            wire("ContentPart", type="text", text=f"answer {text}"),
        )
    ]

    (session,) = read(FORMAT, lines(*turns, wire("CompactionBegin"), wire("CompactionEnd")))

    assert surface(session) == ["user: ", "user: two", "assistant: answer two"]


def test_protocol_a_step_that_was_cut_off_has_no_answer() -> None:
    (session,) = read_file(FORMAT, "kimi_cli_protocol.jsonl")

    assert "a step has no answer (2 times)" in session.notes
    assert len(of(session, TurnStart)) == 5
    assert len(of(session, StepStart)) == 5  # three greetings, one command, and the call that wrote the summary


def test_protocol_the_usage_of_a_step_is_not_counted_again() -> None:
    (session,) = read_file(FORMAT, "kimi_cli_protocol.jsonl")

    assert [answer.usage for answer in answers(session)] == [
        Usage(9431, 42, 14848, 0),
        Usage(205, 52, 24576, 0),
        Usage(1411, 937, 40960, 0),
    ]


def test_protocol_header_and_model_are_known() -> None:
    (session,) = read_file(FORMAT, "kimi_cli_protocol.jsonl")

    (header,) = of(session, RequestHeader)
    assert header.system == "You are Kimi Code CLI, an interactive general AI agent. [trimmed for fixture]"
    assert [(each.provider, each.model) for each in of(session, RequestContext)] == [("kimi", "kimi-k2.7-code")]


def test_protocol_an_error_is_marked_as_it_is_sent() -> None:
    (session,) = read_file(FORMAT, "kimi_cli_protocol.jsonl")

    (failed,) = results(session)
    assert failed.is_error
    assert said(failed) == (
        "<system>ERROR: Tool execution failed.</system>\n"
        "cat: /nonexistent-file-xyz: No such file or directory\nCommand failed with exit code: 1."
    )


def test_protocol_a_compaction_keeps_what_the_user_asked_and_nothing_else() -> None:
    (session,) = read_file(FORMAT, "kimi_cli_protocol.jsonl")

    (left,) = surface(session)
    asked_for = "hihihicat /nonexistent-file-xyzplan counting all html files in this repo"
    assert left.startswith(f"user: {asked_for}The conversation so far has been compacted to free up context.")


def test_protocol_an_older_compaction_keeps_the_messages_behind_its_count() -> None:
    compaction = {"type": "context.apply_compaction", "summary": "short", "compactedCount": 2}
    source = lines(METADATA, asked("one"), *step(part("answer one")), asked("two"), *step(part("last")), compaction)

    (session,) = read(FORMAT, source)

    assert surface(session) == ["user: short", "user: two", "assistant: last"]


def test_protocol_undo_drops_the_last_prompt_and_what_followed() -> None:
    undo = {"type": "context.undo", "count": 1}
    source = lines(METADATA, asked("one"), *step(part("first")), asked("two"), *step(part("second")), undo)

    (session,) = read(FORMAT, source)

    assert surface(session) == ["user: one", "assistant: first"]


def test_protocol_undo_does_not_cross_a_compaction() -> None:
    compaction = {
        "type": "context.apply_compaction",
        "summary": "short",
        "compactedCount": 2,
        "keptUserMessageCount": 1,
    }
    source = lines(METADATA, asked("one"), *step(part("first")), compaction, {"type": "context.undo", "count": 1})

    (session,) = read(FORMAT, source)

    assert surface(session) == ["user: oneshort"]
    assert not of(session, SurfaceRewind)


def test_protocol_clear_empties_the_surface() -> None:
    (session,) = read(FORMAT, lines(METADATA, asked("one"), *step(part("first")), {"type": "context.clear"}))

    assert surface(session) == []


def test_protocol_a_message_said_while_tools_run_follows_their_results() -> None:
    begin, *running, end = step(part("wait"), call("a"), result("a", "done"))
    source = lines(METADATA, asked("go"), begin, *running[:2], asked("note", kind="injection"), *running[2:], end)

    (session,) = read(FORMAT, source)

    assert surface(session) == ["user: go", "assistant: wait", "tool: done", "user: note"]


def test_protocol_an_empty_output_is_said_in_words() -> None:
    (session,) = read(FORMAT, lines(METADATA, asked("go"), *step(call("a"), result("a", " "))))

    assert [said(each) for each in results(session)] == ["<system>Tool output is empty.</system>"]


def test_protocol_a_sub_agents_file_names_the_main_agent_as_its_parent() -> None:
    (session,) = read(FORMAT, lines(METADATA, asked("do", kind="system_trigger", name="subagent"), *step(part("done"))))

    assert session.parent == "main"
    assert len(of(session, TurnStart)) == 1


@pytest.mark.parametrize("data", [b"", b"[]", b'{"role":"user","content":"hi"}', b'{"type":"metadata"}', b"\xff"])
def test_other_files_are_no_kimi_session(data: bytes) -> None:
    assert not FORMAT.detect(Source(data))
    with pytest.raises(FormatError, match="no Kimi session"):
        FORMAT.read(Source(data))
