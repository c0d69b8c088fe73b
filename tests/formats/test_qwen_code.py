"""Qwen Code recordings. Excerpts: jazzyalex/agent-sessions (see NOTICE)."""

from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import check
from tests.formats.reading import answers, excerpt, lines, of, results, said, shown, texts, where

from refold.events import (
    EndSeed,
    FormatError,
    Reasoning,
    RequestContext,
    SurfaceRewind,
    Text,
    ToolUse,
    Usage,
    UserMessage,
)
from refold.events.formats._source import Session, Source
from refold.events.formats.qwen_code import FORMAT


def read(name: str) -> Session:
    (session,) = FORMAT.read(excerpt(name))
    check(session)
    return session


def record(kind: str, uuid: str, parent: str | None, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    role = "model" if kind == "assistant" else "user"
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "type": kind,
        "message": {"role": role, "parts": list(parts)},
        **fields,
    }


def say(text: str) -> dict[str, Any]:
    return {"text": text}


def use(call_id: str) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": "read_file", "args": {}}}


def gave(call_id: str, **response: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "read_file", "response": response}}


def made(*found: dict[str, Any]) -> Session:
    session = FORMAT.read(lines(*found))[0]
    check(session)
    return session


def test_a_result_is_joined_by_the_id_of_its_call() -> None:
    session = read("qwen_code_tool.jsonl")
    assert where(session) == [(1, 1), (1, 2)]
    assert [(r.call_id, r.step, said(r)) for r in results(session)] == [
        ("synthetic-call-1", 1, "Synthetic file contents.")
    ]
    assert [type(block) for block in answers(session)[0].content] == [Reasoning, ToolUse]


def test_what_hooks_add_to_a_prompt_is_part_of_it_and_a_notification_opens_no_turn() -> None:
    users = of(read("qwen_code_tool.jsonl"), UserMessage)
    assert [(event.source, len(event.content)) for event in users] == [("user", 2), ("notification", 1)]


def test_a_rewind_leaves_the_branch_behind_the_record_it_goes_back_to() -> None:
    session = read("qwen_code_rewind.jsonl")

    (rewind,) = of(session, SurfaceRewind)
    assert rewind.to_seq == of(session, UserMessage)[0].seq
    assert texts(session) == [
        "Begin the active-chain fixture.",
        "Continue from the rewound branch.",
        "Active branch answer.",
    ]


def test_records_of_one_uuid_are_one_answer() -> None:
    session = read("qwen_code_rewind.jsonl")
    last = answers(session)[-1]
    assert [type(block) for block in last.content] == [Reasoning, ToolUse, Text]
    assert (last.usage, last.model) == (Usage(12, 4), "synthetic-active-model")
    assert len(answers(session)) == 2


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ({"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 9}, Usage(40, 9, 60)),
        ({"promptTokenCount": 100, "candidatesTokenCount": 9, "thoughtsTokenCount": 5}, Usage(100, 9)),
        ({"promptTokenCount": 100, "candidatesTokenCount": 9, "thoughtsTokenCount": 20}, Usage(100, 29)),
        ({"promptTokenCount": 100, "candidatesTokenCount": 9, "totalTokenCount": 150}, Usage(100, 50)),
        ({"promptTokenCount": 0}, None),
    ],
)
def test_the_cached_tokens_are_part_of_the_prompt_and_the_output_is_the_rest_of_the_total(
    report: dict[str, int], expected: Usage | None
) -> None:
    session = made(record("user", "u", None, say("x")), record("assistant", "a", "u", say("y"), usageMetadata=report))
    assert answers(session)[0].usage == expected


def test_the_context_window_is_told() -> None:
    session = made(
        record("user", "u", None, say("x")),
        record("assistant", "a", "u", say("y"), model="coder", contextWindowSize=131_072),
    )
    (context,) = of(session, RequestContext)
    assert (context.model, context.context_window) == ("coder", 131_072)


def test_errors_are_told_by_status_or_response() -> None:
    session = made(
        record("user", "u", None, say("x")),
        record("assistant", "a", "u", use("1"), use("2"), use("3")),
        record("tool_result", "r1", "a", gave("1", output="x"), toolCallResult={"status": "error"}),
        record("tool_result", "r2", "r1", gave("2", error="no"), toolCallResult={"status": "success"}),
        record("tool_result", "r3", "r2", gave("3", output="Error: in text"), toolCallResult={"status": "success"}),
    )
    assert [result.is_error for result in results(session)] == [True, True, False]


def test_a_compression_replaces_all_but_the_end_that_it_keeps() -> None:
    kept = [{"role": "model", "parts": [use("2")]}, {"role": "user", "parts": [gave("2", output="kept")]}]
    summary = [
        {"role": "user", "parts": [say("the summary")]},
        {"role": "model", "parts": [say("Got it.")]},
    ]
    session = made(
        record("user", "u", None, say("first")),
        record("assistant", "a1", "u", use("1")),
        record("tool_result", "r1", "a1", gave("1", output="old")),
        record("assistant", "a2", "r1", use("2")),
        record("tool_result", "r2", "a2", gave("2", output="kept")),
        record("system", "c", "r2", subtype="chat_compression", systemPayload={"compressedHistory": summary + kept}),
        record("assistant", "a3", "c", say("done")),
    )
    (event,) = [event for event in of(session, UserMessage) if event.replaces is not None]
    assert event.content == (Text("the summary"), Text("Got it."))
    assert texts(session) == ["the summaryGot it.", "", "kept", "done"]
    assert shown(session)[2] == results(session)[1]


def test_a_kept_result_whose_call_is_summarized_goes_with_it() -> None:
    session = made(
        record("user", "u", None, say("first")),
        record("assistant", "a1", "u", use("1")),
        record("tool_result", "r1", "a1", gave("1", output="old")),
        record(
            "system",
            "c",
            "r1",
            subtype="chat_compression",
            systemPayload={"compressedHistory": [{"parts": [say("sum")]}, {"parts": [gave("1", output="old")]}]},
        ),
        record("assistant", "a2", "c", say("done")),
    )
    assert [message.role for message in shown(session)] == ["user", "assistant"]


def test_a_fork_ends_its_inherited_part_where_the_copies_end() -> None:
    origin = {"sessionId": "old", "messageUuid": "x"}
    session = made(
        record("user", "u", None, say("copied"), forkedFrom=origin),
        record("assistant", "a", "u", say("copied too"), forkedFrom=origin),
        record("user", "u2", "a", say("own")),
        record("assistant", "a2", "u2", say("answer")),
    )
    (seed,) = of(session, EndSeed)
    assert seed.inherited
    assert texts(session, seed.seq) == ["copied", "copied too"]


def test_a_sub_agents_records_are_a_session_of_their_own() -> None:
    main, side = FORMAT.read(
        lines(
            record("user", "u", None, say("delegate")),
            record("assistant", "a", "u", say("ok")),
            record("user", "x", None, say("look"), isSidechain=True, agentId="explore-1"),
            record("assistant", "y", "x", say("found"), isSidechain=True, agentId="explore-1"),
        )
    )
    assert texts(main) == ["delegate", "ok"]
    assert (side.id, side.parent, texts(side)) == ("explore-1", "s", ["look", "found"])


def test_a_torn_last_line_makes_the_session_partial() -> None:
    (session,) = FORMAT.read(Source(excerpt("qwen_code_tool.jsonl").data[:-40]))
    assert session.partial


def test_a_file_without_a_message_is_refused() -> None:
    with pytest.raises(FormatError, match="no Qwen Code recording"):
        FORMAT.read(lines(record("system", "a", None, subtype="ui_telemetry", systemPayload={})))


@pytest.mark.parametrize("name", ["qwen_code_tool.jsonl", "qwen_code_rewind.jsonl"])
def test_broken_input_never_breaks_the_reader(name: str) -> None:
    never_breaks(FORMAT, excerpt(name))


def test_a_parent_that_stands_later_is_no_place_to_go_back_to() -> None:
    session = made(
        record("user", "u1", None, say("one")),
        record("assistant", "a1", "u1", say("answer")),
        record("user", "u2", "a2", say("two")),
        record("assistant", "a2", "u2", say("other")),
    )

    assert texts(session) == ["one", "answer", "two", "other"]
    assert "a record branches off at one that does not stand before it in the file" in session.notes


def test_a_branch_goes_back_to_the_nearest_record_above_that_is_a_message() -> None:
    session = made(
        record("user", "u1", None, say("one")),
        record("system", "s1", "u1", subtype="ui_telemetry"),
        record("system", "s2", "s1", subtype="ui_telemetry"),
        record("assistant", "a1", "s2", say("first")),
        record("user", "u2", "s2", say("again")),
    )

    assert texts(session) == ["one", "again"]


def test_cached_tokens_that_cannot_be_are_not_cut_to_the_prompt() -> None:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 2, "cachedContentTokenCount": 10**30}
    answer = record("assistant", "a1", "u1", say("x"), usageMetadata=usage)
    session = made(record("user", "u1", None, say("go")), answer)

    assert answers(session)[0].usage is None
    assert "a call reports a number of tokens that cannot be; its usage counts as unknown" in session.notes
