"""Codex rollouts. Excerpts of MoonLadderStudios/MoonMind and jazzyalex/agent-sessions (see NOTICE), texts shortened."""

import json
from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import check
from tests.formats.reading import answers, excerpt, kinds, lines, of, results, said, shown, texts, where

from refold.events import (
    DeveloperMessage,
    EndSeed,
    FormatError,
    Opaque,
    Overflow,
    Reasoning,
    RequestContext,
    RequestHeader,
    SurfaceRewind,
    Text,
    ToolUse,
    TurnEnd,
    Usage,
    UserMessage,
)
from refold.events.formats._source import Session, Source
from refold.events.formats.codex import FORMAT


def read(name: str) -> Session:
    (session,) = FORMAT.read(excerpt(name))
    check(session)
    return session


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}


def user(text: str) -> dict[str, Any]:
    return line("response_item", type="message", role="user", content=[{"type": "input_text", "text": text}])


def assistant(text: str) -> dict[str, Any]:
    return line("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": text}])


def call(call_id: str) -> dict[str, Any]:
    return line("response_item", type="function_call", name="shell", call_id=call_id, arguments="{}")


def output(call_id: str, text: Any) -> dict[str, Any]:
    return line("response_item", type="function_call_output", call_id=call_id, output=text)


def tokens(prompt: int, total: int, cached: int = 0) -> dict[str, Any]:
    last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": 7, "total_tokens": prompt + 7}
    return line(
        "event_msg", type="token_count", info={"total_token_usage": {"total_tokens": total}, "last_token_usage": last}
    )


META = line("session_meta", id="s1")


def made(*found: dict[str, Any]) -> Session:
    (session,) = FORMAT.read(lines(META, *found))
    check(session)
    return session


def test_one_new_usage_report_is_one_step_and_a_repeated_one_is_none() -> None:
    session = read("codex_exec.jsonl")

    assert where(session) == [(1, 1), (1, 2), (1, 3)]
    assert [answer.usage for answer in answers(session)] == [
        Usage(input_tokens=5233 - 3072, output_tokens=136, cache_read_tokens=3072),
        Usage(input_tokens=5382 - 5248, output_tokens=47, cache_read_tokens=5248),
        Usage(input_tokens=5519 - 4992, output_tokens=177, cache_read_tokens=4992),
    ]


def test_usage_that_stands_before_its_items_is_theirs() -> None:
    first = answers(read("codex_exec.jsonl"))[0]
    assert [type(block) for block in first.content] == [Reasoning, ToolUse]
    assert first.model == "gpt-5.1-codex"
    reasoning = first.content[0]
    assert isinstance(reasoning, Reasoning)
    assert reasoning.text == "**Considering multi-step plan**"
    assert reasoning.signature.startswith("gAAAA")


def test_usage_that_stands_after_its_items_is_theirs() -> None:
    session = made(
        user("go"),
        call("c1"),
        output("c1", "one"),
        tokens(100, 107),
        call("c2"),
        output("c2", "two"),
        tokens(200, 314, cached=150),
        assistant("done"),
        tokens(300, 621),
    )
    assert where(session) == [(1, 1), (1, 2), (1, 3)]
    assert [a.usage for a in answers(session)] == [Usage(100, 7), Usage(50, 7, 150), Usage(300, 7)]
    assert [(r.call_id, r.step) for r in results(session)] == [("c1", 1), ("c2", 2)]


def test_parallel_calls_stay_in_one_step_when_usage_came_first() -> None:
    session = made(
        user("go"),
        tokens(100, 107),
        call("c1"),
        output("c1", "one"),
        call("c2"),
        output("c2", "two"),
        line("turn_context", model="m"),
        tokens(200, 314),
        assistant("done"),
    )
    assert where(session) == [(1, 1), (1, 2)]
    assert [(r.call_id, r.step) for r in results(session)] == [("c1", 1), ("c2", 1)]


def test_what_the_harness_says_in_the_users_place_opens_no_turn() -> None:
    session = read("codex_exec.jsonl")
    assert [event.source for event in of(session, UserMessage)] == ["context", "context", "user"]
    assert kinds(session)[:6] == [
        "turn/start",
        "step/start",
        "user/message",
        "user/message",
        "user/message",
        "request/context",
    ]


def test_the_context_window_and_the_model_are_told() -> None:
    (context,) = of(read("codex_exec.jsonl"), RequestContext)
    assert (context.provider, context.model, context.context_window) == ("openai", "gpt-5.1-codex", 258_400)


def test_an_exit_code_other_than_zero_is_an_error_wherever_it_stands() -> None:
    session = made(
        user("go"),
        call("a"),
        call("b"),
        call("c"),
        call("d"),
        call("e"),
        output("a", json.dumps({"output": "x", "metadata": {"exit_code": 127}})),
        output("b", json.dumps({"output": "exit_code 1", "metadata": {"exit_code": 0}})),
        output("c", "Exit code: 2\nWall time: 0.1 seconds\nOutput:\nno"),
        output("d", "Chunk ID: 1\nProcess exited with code 0\nOutput:\nExit code: 1"),
        output("e", {"content": "no", "success": False}),
    )
    assert [result.is_error for result in results(session)] == [True, False, True, False, True]
    assert [result.is_error for result in results(read("codex_exec.jsonl"))] == [False, True, True]


def test_a_result_is_the_whole_text_that_the_model_is_sent() -> None:
    session = read("codex_exec.jsonl")
    assert results(session)[0].content == (Text("Plan updated"),)
    assert said(results(session)[1]).startswith('{"output":"/usr/bin/env')


def test_a_compaction_puts_the_new_context_in_the_place_of_the_old() -> None:
    session = read("codex_compacted.jsonl")

    (summary,) = [event for event in of(session, UserMessage) if event.replaces is not None]
    header, *before = shown(session, summary.seq)
    assert [message.role for message in before] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert summary.sources == tuple(message.seq for message in before)
    assert shown(session) == (header, summary)
    assert summary.content == (
        Text("[trimmed for fixture]"),
        Opaque('{"type":"input_image","image_url":null,"detail":"auto"}'),
    )


def test_a_compaction_without_the_new_context_takes_its_summary_and_says_so() -> None:
    session = made(
        user("go"), assistant("ok"), line("compacted", message="what happened"), user("on"), assistant("yes")
    )
    assert texts(session) == ["what happened", "on", "yes"]
    assert any("its summary alone" in note for note in session.notes)


def test_the_usage_of_a_compactions_own_call_is_no_step() -> None:
    session = made(
        user("go"),
        assistant("ok"),
        tokens(100, 107),
        tokens(120, 234),
        line("compacted", message="", replacement_history=[{"type": "message", "role": "user", "content": "sum"}]),
        user("on"),
        assistant("yes"),
        tokens(30, 271),
    )
    assert [a.usage for a in answers(session)] == [Usage(100, 7), Usage(30, 7)]


def test_usage_without_items_is_a_call_with_an_empty_answer() -> None:
    session = made(tokens(12091, 12273))
    assert [(a.content, a.usage) for a in answers(session)] == [((), Usage(12091, 7))]
    assert "a call has usage and no items" in session.notes


def test_a_total_that_starts_anew_is_a_resume_before_the_prompt_that_follows() -> None:
    session = made(
        user("go"), assistant("ok"), tokens(100, 2_993_540), user("back"), assistant("again"), tokens(50, 60_023)
    )
    seed = of(session, EndSeed)[0]
    assert texts(session, seed.seq) == ["go", "ok"]
    assert where(session) == [(1, 1), (2, 1)]


def test_a_rollback_drops_the_last_turns() -> None:
    session = made(
        user("one"),
        assistant("1"),
        user("two"),
        assistant("2"),
        user("three"),
        assistant("3"),
        line("event_msg", type="thread_rolled_back", num_turns=2),
        user("instead"),
        assistant("4"),
    )
    assert len(of(session, SurfaceRewind)) == 1
    assert texts(session) == ["one", "1", "instead", "4"]


def test_an_aborted_turn_ends_as_one() -> None:
    session = made(
        user("go"), assistant("ok"), line("event_msg", type="turn_aborted", reason="interrupted"), user("on")
    )
    assert [end.reason for end in of(session, TurnEnd)] == ["aborted", "completed"]


def test_a_request_refused_as_too_long_is_an_overflow() -> None:
    session = made(user("go"), line("event_msg", type="error", codex_error_info="context_window_exceeded"))
    assert len(of(session, Overflow)) == 1


def test_the_base_instructions_are_the_header_and_a_developer_message_is_one() -> None:
    session = FORMAT.read(
        lines(
            line("session_meta", id="s", base_instructions={"text": "You are."}, parent_thread_id="p"),
            line("response_item", type="message", role="developer", content=[{"type": "input_text", "text": "rules"}]),
            user("go"),
            assistant("ok"),
        )
    )[0]
    assert of(session, RequestHeader)[0].system == "You are."
    assert [said(event) for event in of(session, DeveloperMessage)] == ["rules"]
    assert session.parent == "p"


def test_an_item_of_an_unknown_type_stays_as_it_stood() -> None:
    session = made(user("go"), line("response_item", type="web_search_call", id="w", action={"query": "x"}))
    assert answers(session)[0].content == (Opaque('{"type":"web_search_call","id":"w","action":{"query":"x"}}'),)


def test_items_without_a_payload_are_read_as_old_rollouts_wrote_them() -> None:
    session = FORMAT.read(
        lines(
            {"created_at": "2025-09-10T12:00:00Z", "role": "user", "message": "Translate"},
            {"created_at": "2025-09-10T12:00:01Z", "type": "function_call", "function": {"name": "t"}, "arguments": {}},
            {"created_at": "2025-09-10T12:00:01Z", "type": "function_result", "name": "t", "result": "hola"},
            {"created_at": "2025-09-10T12:00:02Z", "role": "assistant", "content": "hola"},
        )
    )[0]
    assert texts(session) == ["Translate", "", "hola", "hola"]
    assert where(session) == [(1, 1), (1, 2)]


def test_a_rollout_without_a_message_is_refused() -> None:
    with pytest.raises(FormatError, match="no message of a user or a model"):
        FORMAT.read(lines(META))


def test_a_torn_last_line_makes_the_session_partial() -> None:
    (session,) = FORMAT.read(Source(excerpt("codex_exec.jsonl").data[:-100]))
    assert session.partial
    assert any("breaks off" in note for note in session.notes)


@pytest.mark.parametrize("name", ["codex_exec.jsonl", "codex_compacted.jsonl"])
def test_broken_input_never_breaks_the_reader(name: str) -> None:
    never_breaks(FORMAT, excerpt(name))


def test_rollbacks_go_back_one_prompt_at_a_time_and_never_before_the_first() -> None:
    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}

    def says(role: str, text: str) -> dict[str, Any]:
        content = [{"type": "input_text" if role != "assistant" else "output_text", "text": text}]
        return {"type": "response_item", "payload": {"type": "message", "role": role, "content": content}}

    turns = [says(role, f"{role} {at}") for at in range(3) for role in ("user", "assistant")]
    opened = {"type": "session_meta", "payload": {"id": "s"}}
    rules, anew = says("developer", "rules"), says("user", "anew")
    (session,) = FORMAT.read(lines(opened, rules, *turns, *[back] * 2, anew, *[back] * 4))

    assert texts(session) == ["rules"]
    assert len(of(session, SurfaceRewind)) == 4
    assert "a rollback goes back further than the surface does (2 times)" in session.notes
