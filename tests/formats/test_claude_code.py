"""Claude Code transcripts. Excerpts: entireio/cli and jazzyalex/agent-sessions (see NOTICE), long texts shortened."""

import json
from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import check
from tests.formats.reading import (
    answers,
    excerpt,
    kinds,
    lines,
    of,
    results,
    shown,
    texts,
    where,
)

from refold.events import (
    EndSeed,
    FormatError,
    Opaque,
    Overflow,
    Reasoning,
    SurfaceRewind,
    Text,
    ToolCall,
    ToolResult,
    ToolUse,
    Usage,
    UserMessage,
)
from refold.events.formats._source import Session, Source
from refold.events.formats.claude_code import FORMAT

CLEARED = (Text("[Old tool result content cleared]"),)


def read(name: str) -> Session:
    (session,) = FORMAT.read(excerpt(name))
    check(session)
    return session


def record(kind: str, uuid: str, content: Any = None, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": fields.pop("id", f"msg_{uuid}"), "model": fields.pop("model", "claude-x")}
    frame = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": False}
    return frame | ({} if content is None else {"message": message}) | fields


def made(*found: dict[str, Any]) -> Session:
    session = FORMAT.read(lines(*found))[0]
    check(session)
    return session


def use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {"n": 1}}


def gave(call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def test_the_lines_of_one_message_id_are_one_step_and_its_usage_counts_once() -> None:
    session = read("claude_code_microcompaction.jsonl")

    assert where(session) == [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert [type(block) for block in answers(session)[0].content] == [Reasoning, Text, ToolUse, ToolUse]
    assert [answer.usage for answer in answers(session)] == [
        Usage(input_tokens=8, output_tokens=1, cache_read_tokens=44042, cache_write_tokens=30428),
        Usage(input_tokens=162, output_tokens=1, cache_read_tokens=74470, cache_write_tokens=1315),
        Usage(input_tokens=8, output_tokens=4, cache_read_tokens=134319, cache_write_tokens=884),
        Usage(input_tokens=8, output_tokens=1, cache_read_tokens=18591, cache_write_tokens=91253),
    ]
    assert answers(session)[0].model == "claude-opus-4-5-20251101"


def test_a_step_has_its_answer_then_its_calls_then_its_results() -> None:
    session = read("claude_code_microcompaction.jsonl")

    first = kinds(session)[: kinds(session).index("step/end") + 1]
    assert first == [
        "turn/start",
        "step/start",
        "user/message",
        "assistant/message",
        "tool/call",
        "tool/call",
        "tool/result",
        "tool/result",
        "step/end",
    ]
    assert kinds(session)[-1] == "turn/end"


def test_results_belong_to_the_answer_that_has_their_id_whatever_stands_between() -> None:
    session = read("claude_code_microcompaction.jsonl")

    assert [(r.call_id[-6:], r.turn, r.step) for r in results(session)] == [
        ("jgmWK6", 1, 1),  # logged before that of the first call
        ("AGXJWX", 1, 1),
        ("VTo1Ld", 1, 2),
        ("41Ri8q", 1, 2),
        ("QGapUF", 1, 3),
        ("n2JvDE", 1, 4),
    ]


def test_a_micro_compaction_clears_the_results_it_names_before_the_next_request() -> None:
    session = read("claude_code_microcompaction.jsonl")

    cleared = [event for event in of(session, ToolResult) if event.replaces is not None]
    originals = {r.call_id: r.seq for r in results(session)}
    assert {event.call_id[-6:] for event in cleared} == {"jgmWK6", "AGXJWX", "VTo1Ld", "41Ri8q"}
    assert all(event.content == CLEARED for event in cleared)
    assert all(event.replaces == (originals[event.call_id],) * 2 for event in cleared)
    fourth = answers(session)[3].seq
    assert cleared[-1].seq < fourth
    seen = {m.call_id[-6:]: m.content == CLEARED for m in shown(session, fourth) if isinstance(m, ToolResult)}
    assert seen == {"jgmWK6": True, "AGXJWX": True, "VTo1Ld": True, "41Ri8q": True, "QGapUF": False}
    assert "a micro-compaction names 5 results that are not on the surface" in session.notes


def test_the_surface_shrinks_at_the_call_whose_reported_prompt_does() -> None:
    session = read("claude_code_microcompaction.jsonl")
    third, fourth = answers(session)[2:]

    assert third.usage
    assert fourth.usage
    assert (third.usage.total - 4, fourth.usage.total - 1) == (135_211, 109_852)  # less what they answered
    before, after = (sum(map(len, texts(session, answer.seq))) for answer in (third, fourth))
    assert after < before


def test_a_micro_compaction_that_names_nothing_changes_nothing() -> None:
    boundary = record("system", "b", subtype="microcompact_boundary", microcompactMetadata={"compactedToolIds": []})
    session = made(
        record("user", "u", "hello"),
        record("assistant", "a", [use("t1")]),
        record("user", "r", [gave("t1", "kept")]),
        boundary,
        record("assistant", "a2", "done"),
    )
    assert texts(session) == ["hello", "", "kept", "done"]


def test_a_compaction_puts_one_summary_in_the_place_of_everything_before_it() -> None:
    session = read("claude_code_compaction.jsonl")

    (summary,) = [event for event in of(session, UserMessage) if event.replaces is not None]
    surface = [e.seq for e in session.events[: summary.seq] if e.type in ("user/message", "assistant/message")]
    surface += [result.seq for result in results(session)]
    assert summary.replaces == (min(surface), max(surface))
    assert summary.sources == tuple(sorted(surface))
    assert len(shown(session, summary.seq)) == 3  # prompt, answer, result
    before_second = shown(session, answers(session)[1].seq)
    assert len(before_second) == 1
    assert texts(session, answers(session)[1].seq)[0].startswith("This session is being continued")
    assert where(session) == [(1, 1), (1, 2)]  # in the middle of a turn, which goes on
    assert not any("fell" in note for note in session.notes)


def test_a_compaction_keeps_the_segment_it_names() -> None:
    session = made(
        record("user", "u1", "first"),
        record("assistant", "a1", [use("t1")], "u1"),
        record("user", "r1", [gave("t1", "old")], "a1"),
        record("assistant", "a2", [use("t2")], "r1"),
        record("user", "r2", [gave("t2", "kept")], "a2"),
        record(
            "system",
            "b",
            subtype="compact_boundary",
            compactMetadata={"preservedSegment": {"headUuid": "a2", "anchorUuid": "s", "tailUuid": "r2"}},
        ),
        record("user", "s", "the summary", "b", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        record("assistant", "a3", "done", "s"),
    )
    assert texts(session) == ["the summary", "", "kept", "done"]


def test_a_compaction_without_a_summary_leaves_nothing() -> None:
    session = made(
        record("user", "u1", "first"),
        record("assistant", "a1", "answer"),
        record("system", "b", subtype="compact_boundary"),
        record("user", "u2", "second"),
        record("assistant", "a2", "again"),
    )
    assert texts(session) == ["second", "again"]
    assert "a compaction left no summary" in session.notes


def test_two_prompts_under_one_record_are_a_rewind() -> None:
    session = made(
        record("user", "u1", "first"),
        record("assistant", "a1", "one", "u1"),
        record("user", "u2", "second", "a1"),
        record("assistant", "a2", "two", "u2"),
        record("user", "u3", "instead", "a1"),
        record("assistant", "a3", "three", "u3"),
    )
    (rewind,) = of(session, SurfaceRewind)
    assert rewind.to_seq == answers(session)[0].seq
    assert texts(session) == ["first", "one", "instead", "three"]


def test_a_parallel_call_forks_the_tree_and_is_no_rewind() -> None:
    session = read("claude_code_microcompaction.jsonl")
    assert of(session, SurfaceRewind) == []


def test_another_version_in_one_file_is_a_resume() -> None:
    session = read("claude_code_resume.jsonl")

    (seed,) = of(session, EndSeed)
    assert not seed.inherited
    assert where(session) == [(1, 1), (1, 2), (2, 1)]
    assert answers(session)[1].seq < seed.seq < answers(session)[2].seq


def test_a_record_that_a_resume_wrote_again_counts_once() -> None:
    session = read("claude_code_resume.jsonl")
    assert [type(block) for block in answers(session)[1].content] == [Reasoning, Text]
    assert "a record that stands in the file twice was taken once" in session.notes


def test_an_answer_that_no_model_gave_is_no_step() -> None:
    session = read("claude_code_resume.jsonl")
    assert "No response requested." not in texts(session)


def test_two_records_on_one_line_are_two() -> None:
    data = excerpt("claude_code_resume.jsonl").data.split(b"\n")
    joined = b"\n".join((*data[:4], data[4] + data[5], *data[6:]))
    assert FORMAT.read(Source(joined))[0].events == read("claude_code_resume.jsonl").events


def test_what_was_said_before_a_turn_goes_with_its_first_request() -> None:
    session = read("claude_code_resume.jsonl")
    users = [(event.source, event.content[0]) for event in of(session, UserMessage)]
    assert [source for source, _ in users] == ["meta", "user", "local-command", "user"]


def test_a_sub_agents_file_is_a_session_of_its_own() -> None:
    session = read("claude_code_subagent.jsonl")
    assert session.id == "a0ad4f44468bdf20d"
    assert texts(session) == ["Search the repo for TODO comments", "Searching.", "a.txt:1: TODO fix"]
    assert any("does not name" in note for note in session.notes)


def test_a_sub_agent_inside_progress_lines_is_a_session_of_its_own() -> None:
    def progress(uuid: str, message: dict[str, Any]) -> dict[str, Any]:
        return record("progress", uuid, data={"type": "agent_progress", "agentId": "agent1", "message": message})

    main, side = FORMAT.read(
        lines(
            record("user", "u1", "delegate"),
            record("assistant", "a1", [use("task")]),
            progress("p1", record("user", "n1", "look")),
            progress("p2", record("assistant", "n2", [use("inner")])),
            progress("p3", record("user", "n3", [gave("inner", "found")])),
            record("user", "r1", [gave("task", "report")]),
        )
    )
    assert (main.id, main.parent, texts(main)) == ("s", None, ["delegate", "", "report"])
    assert (side.id, side.parent, texts(side)) == ("agent1", "s", ["look", "", "found"])


def test_sidechain_lines_in_one_file_are_grouped_by_their_root() -> None:
    main, side = FORMAT.read(
        lines(
            record("user", "w1", "warm up", isSidechain=True),
            record("assistant", "w2", "ready", "w1", isSidechain=True),
            record("user", "u1", "hello"),
            record("assistant", "a1", "hi", "u1"),
        )
    )
    assert texts(main) == ["hello", "hi"]
    assert (side.id, side.parent, texts(side)) == ("w1", "s", ["warm up", "ready"])


def test_errors_are_those_that_the_result_says() -> None:
    session = made(
        record("user", "u", "go"),
        record("assistant", "a", [use("t1"), use("t2")]),
        record("user", "r1", [gave("t1", "boom", is_error=True)]),
        record("user", "r2", [gave("t2", "Error: but only in the text", is_error=False)]),
    )
    assert [result.is_error for result in results(session)] == [True, False]


def test_signed_thinking_keeps_its_signature_and_unknown_blocks_stay_as_they_are() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    hidden = {"type": "redacted_thinking", "data": "xyz"}
    session = made(
        record("user", "u", [{"type": "text", "text": "see"}, image]),
        record("assistant", "a", [{"type": "thinking", "thinking": "hm", "signature": "sig"}, hidden]),
    )
    assert of(session, UserMessage)[0].content == (Text("see"), Opaque(json.dumps(image, separators=(",", ":"))))
    assert answers(session)[0].content == (Reasoning("hm", "sig"), Opaque('{"type":"redacted_thinking","data":"xyz"}'))


def test_an_orphan_result_is_kept_and_reported() -> None:
    session = made(record("user", "r", [gave("t9", "late")]), record("assistant", "a", "ok"))
    assert texts(session) == ["late", "ok"]
    assert any("answers no call" in note for note in session.notes)


def test_a_refused_prompt_that_was_too_long_is_an_overflow() -> None:
    session = made(
        record("user", "u", "go"),
        record("assistant", "a", "Prompt is too long", model="<synthetic>", isApiErrorMessage=True),
    )
    assert kinds(session) == ["turn/start", "step/start", "user/message", "overflow", "step/end", "turn/end"]
    assert len(of(session, Overflow)) == 1


def test_a_prompt_that_shrank_without_a_record_is_reported() -> None:
    def answer(uuid: str, prompt: int) -> dict[str, Any]:
        line = record("assistant", uuid, "ok")
        line["message"]["usage"] = {"input_tokens": prompt, "output_tokens": 5}
        return line

    session = made(record("user", "u", "go"), answer("a", 138_395), record("user", "u2", "on"), answer("b", 95_864))
    assert any("turn 2 step 1: the reported prompt fell from 138395 to 95864" in note for note in session.notes)


def test_arguments_are_the_json_the_model_wrote_and_times_unix_milliseconds() -> None:
    session = read("claude_code_compaction.jsonl")
    assert json.loads(of(session, ToolCall)[0].arguments)["file_path"].startswith("/Users/")
    assert session.events[0].time == 1767789296468  # 2026-01-07T12:34:56.468Z


def test_a_torn_last_line_makes_the_session_partial() -> None:
    whole = excerpt("claude_code_compaction.jsonl").data
    (session,) = FORMAT.read(Source(whole[:-200]))
    assert session.partial
    assert "the last line, 10, breaks off and is left out" in session.notes


@pytest.mark.parametrize("line", [b"42", b"[1]", b'"text"', b"{", b"\xff\xfe"])
def test_a_line_that_is_no_record_is_left_out_and_said(line: bytes) -> None:
    whole = excerpt("claude_code_compaction.jsonl").data
    (session,) = FORMAT.read(Source(line + b"\n" + whole))
    assert session.partial
    assert session.events == read("claude_code_compaction.jsonl").events


def test_a_file_without_a_message_is_refused() -> None:
    with pytest.raises(FormatError, match="made up: no Claude Code transcript"):
        FORMAT.read(lines({"type": "summary", "summary": "x", "leafUuid": "y"}))


@pytest.mark.parametrize(
    "name",
    [
        "claude_code_compaction.jsonl",
        "claude_code_microcompaction.jsonl",
        "claude_code_resume.jsonl",
        "claude_code_subagent.jsonl",
    ],
)
def test_broken_input_never_breaks_the_reader(name: str) -> None:
    never_breaks(FORMAT, excerpt(name))
