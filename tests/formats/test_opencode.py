"""OpenCode: a packed storage directory of public test data, and exports made up to show each rule."""

import json
from typing import Any

import pytest
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, of, results, said

from refold.events import FormatError, RequestHeader, StepStart, SurfaceRewind, ToolResult, ToolUse, TurnEnd, Usage
from refold.events.formats._source import Session, Source
from refold.events.formats._tree import pack_tree
from refold.events.formats.opencode import FORMAT


def export(*messages: dict[str, Any], **info: Any) -> str:
    return json.dumps({"info": {"id": "ses", "directory": "/", **info}, "messages": list(messages)})


def user(message_id: str, text: str, created: int = 1) -> dict[str, Any]:
    info = {"id": message_id, "role": "user", "time": {"created": created}}
    return {"info": info, "parts": [{"type": "text", "text": text}]}


def assistant(message_id: str, *parts: dict[str, Any], created: int = 2, **info: Any) -> dict[str, Any]:
    told = {"id": message_id, "role": "assistant", "time": {"created": created, "completed": created + 1}, **info}
    return {"info": told, "parts": list(parts)}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def tool(call_id: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "id": f"p-{call_id}", "callID": call_id, "tool": "bash", "state": {"input": {}, **state}}


def one(source: str) -> Session:
    (session,) = read(FORMAT, source)
    return session


def compaction(message_id: str, **part: Any) -> dict[str, Any]:
    return {
        "info": {"id": message_id, "role": "user", "time": {"created": 5}},
        "parts": [{"type": "compaction", "auto": True, **part}],
    }


def test_a_storage_directory_holds_its_sessions_in_order_of_time() -> None:
    small, large = read_file(FORMAT, "opencode_storage.json")

    assert (small.id, large.id) == ("s_stage0_small", "s_stage0_large")
    assert surface(small) == ["user: Hello", "assistant: Found 2 files.", "tool: a.txt\nb.txt\n"]
    assert surface(large)[-2:] == ["user: Step 2", "assistant: Ok"]


def test_a_tool_part_is_the_call_and_its_result() -> None:
    small, _ = read_file(FORMAT, "opencode_storage.json")

    (result,) = results(small)
    assert answers(small)[0].content[0] == ToolUse("call_1", "bash", '{"command":"ls","cwd":"/tmp/repo"}')
    assert (result.call_id, result.time, result.is_error) == ("call_1", 1730000003000, False)


def test_an_aborted_message_that_did_something_stays() -> None:
    _, large = read_file(FORMAT, "opencode_storage.json")

    assert answers(large)[0].interrupted
    assert [end.reason for end in of(large, TurnEnd)] == ["aborted", "completed"]
    assert not of(large, SurfaceRewind)


def test_a_failed_message_is_not_sent_again() -> None:
    failed = assistant("a1", text("half"), error={"name": "APIError"}, tokens={"input": 7, "output": 1})

    session = one(export(user("u1", "go"), failed, assistant("a2", text("whole"), created=4)))

    assert surface(session) == ["user: go", "assistant: whole"]
    assert [answer.usage for answer in answers(session)] == [Usage(7, 1), None]


def test_input_excludes_the_cache_and_reasoning_stands_beside_output() -> None:
    tokens = {"input": 10, "output": 5, "reasoning": 3, "cache": {"read": 100, "write": 20}}
    within = {**tokens, "total": 135}

    session = one(export(user("u", "go"), assistant("a", text("1"), tokens=tokens), assistant("b", tokens=within)))

    assert [answer.usage for answer in answers(session)] == [Usage(10, 8, 100, 20), Usage(10, 5, 100, 20)]


def test_a_message_of_several_steps_is_as_many_calls() -> None:
    finish = {"type": "step-finish", "tokens": {"input": 10, "output": 1}}
    parts = (
        {"type": "step-start"},
        text("first"),
        tool("c", status="completed", output="done", time={"start": 3, "end": 4}),
        finish,
        {"type": "step-start"},
        text("second"),
        {**finish, "tokens": {"input": 20, "output": 2}},
    )

    session = one(export(user("u", "go"), assistant("a", *parts, tokens={"input": 20, "output": 2})))

    assert len(of(session, StepStart)) == 2
    assert [answer.usage for answer in answers(session)] == [Usage(10, 1), Usage(20, 2)]
    assert surface(session) == ["user: go", "assistant: first", "tool: done", "assistant: second"]


def test_a_step_that_was_started_again_is_one_call() -> None:
    finish = {"type": "step-finish", "tokens": {"input": 10, "output": 1}}
    parts = ({"type": "step-start"}, {"type": "step-start"}, text("said"), finish)

    session = one(export(user("u", "go"), assistant("a", *parts)))

    assert [answer.usage for answer in answers(session)] == [Usage(10, 1)]


def test_a_pruned_result_is_cleared_when_it_was_pruned() -> None:
    pruned = tool("c", status="completed", output="long", time={"start": 2, "end": 3, "compacted": 15})
    messages = (
        user("u1", "one", 1),
        assistant("a1", pruned, created=2),
        user("u2", "two", 10),
        assistant("a2", text("before"), created=11),
        user("u3", "three", 20),
        assistant("a3", text("after"), created=21),
    )

    session = one(export(*messages))

    (cleared,) = (event for event in of(session, ToolResult) if event.replaces)
    assert said(cleared) == "[Old tool result content cleared]"
    assert "tool: long" in surface(session, answers(session)[1].seq)
    assert "tool: long" not in surface(session, answers(session)[2].seq)


def test_an_error_and_an_interrupted_tool_are_told_apart() -> None:
    kept = {"interrupted": True, "output": "so far"}
    failed = tool("a", status="error", error="no such file", time={"start": 2, "end": 3})
    stopped = tool("b", status="error", error="Tool execution aborted", metadata=kept, time={"start": 2, "end": 3})
    running = tool("c", status="running", time={"start": 2})

    session = one(export(user("u", "go"), assistant("m", failed, stopped, running)))

    assert [(said(each), each.is_error) for each in results(session)] == [("no such file", True), ("so far", True)]
    assert session.notes == ("1 call has no result",)


def test_a_finished_summary_drops_what_stood_before_its_request() -> None:
    summary = assistant("s", text("short"), created=6, summary=True, finish="stop", parentID="c")

    session = one(export(user("u", "go"), assistant("a", text("long")), compaction("c"), summary, user("v", "on", 8)))

    assert surface(session) == ["user: What did we do so far?", "assistant: short", "user: on"]


def test_a_summary_that_failed_drops_nothing() -> None:
    summary = assistant("s", text("half"), created=6, summary=True, error={"name": "APIError"}, parentID="c")

    session = one(export(user("u", "go"), assistant("a", text("long")), compaction("c"), summary))

    assert surface(session) == ["user: go", "assistant: long", "user: What did we do so far?"]


def test_a_retained_tail_follows_the_summary() -> None:
    messages = (
        user("u1", "old", 1),
        assistant("a1", text("old answer"), created=2),
        user("u2", "recent", 3),
        assistant("a2", text("recent answer"), created=4),
        compaction("c", tail_start_id="u2"),
        assistant("s", text("short"), created=6, summary=True, finish="stop", parentID="c"),
        user("u3", "go on", 8),
        assistant("a3", text("done"), created=9),
    )

    assert surface(one(export(*messages))) == [
        "user: What did we do so far?",
        "assistant: short",
        "user: recent",
        "assistant: recent answer",
        "user: go on",
        "assistant: done",
    ]


def test_a_reverted_session_ends_before_the_message_it_names() -> None:
    messages = (user("u1", "one", 1), assistant("a1", text("first")), user("u2", "two", 5))

    assert surface(one(export(*messages, revert={"messageID": "u2"}))) == ["user: one", "assistant: first"]


def test_a_child_session_comes_behind_its_parent() -> None:
    records = {
        "session/p/b.json": {"id": "child", "projectID": "p", "parentID": "main", "time": {"created": 1}},
        "session/p/a.json": {"id": "main", "projectID": "p", "time": {"created": 2}},
        "message/child/m.json": {"id": "m", "role": "user", "time": {"created": 1}},
        "part/m/1.json": {"type": "text", "text": "task"},
    }
    source = pack_tree({path: json.dumps(record).encode() for path, record in records.items()}, "storage")

    main, child = read(FORMAT, source.data)

    assert (main.id, main.parent, child.id, child.parent) == ("main", None, "child", "main")
    assert surface(child) == ["user: task"]


def test_a_file_of_the_directory_that_is_no_json_makes_the_sessions_partial() -> None:
    whole = b'{"id":"s","projectID":"p","time":{"created":1}}'
    source = pack_tree({"session/p/s.json": whole, "message/s/m.json": b'{"id":"m"'}, "storage")

    (session,) = read(FORMAT, source.data)

    assert session.partial
    assert session.notes == ("message/s/m.json is no JSON object; it is left out",)


def test_a_recorded_system_prompt_is_the_header() -> None:
    session = one(export(user("u", "go"), assistant("a", text("said"), system=["You are", "brief"])))

    assert [header.system for header in of(session, RequestHeader)] == ["You are\nbrief"]


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"info":{},"messages":[]}', b'{"session/a":{}}', b"{"])
def test_other_files_are_no_opencode_session(data: bytes) -> None:
    assert not FORMAT.detect(Source(data))
    with pytest.raises(FormatError, match=r"no OpenCode session|not JSON"):
        FORMAT.read(Source(data))
