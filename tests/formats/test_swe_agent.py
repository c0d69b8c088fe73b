"""SWE-agent trajectories: excerpts of its demonstrations, and what they do not show made up."""

import json
from typing import Any

import pytest
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, of, results, said

from refold.events import FormatError, RequestHeader, ToolCall, TurnStart, UserMessage
from refold.events.formats._source import Session, Source
from refold.events.formats.swe_agent import FORMAT


def trajectory(*history: dict[str, Any], steps: tuple[dict[str, Any], ...] = (), **fields: Any) -> str:
    return json.dumps({"environment": "main", "trajectory": list(steps), "history": list(history), **fields})


def one(source: str) -> Session:
    (session,) = read(FORMAT, source)
    return session


def user(text: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **fields}


def answer(text: str, action: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "action": action}


def test_a_result_answers_the_ids_it_lists() -> None:
    (session,) = read_file(FORMAT, "swe_agent_calls.traj")

    assert [(call.call_id, call.name) for call in of(session, ToolCall)] == [
        ("call_cyI71DYnRdoLHWwtZgIaW2wr", "create"),
        ("call_q3VsBszvsntfyPkxeHq4i5N1", "edit"),
    ]
    assert [each.call_id for each in results(session)] == [call.call_id for call in of(session, ToolCall)]
    assert said(results(session)[0]).startswith("[File: reproduce.py (1 lines total)]\r\n1:")


def test_without_ids_the_next_user_message_is_the_result_of_the_action() -> None:
    (session,) = read_file(FORMAT, "swe_agent_text.traj")

    first = of(session, ToolCall)[0]
    assert (first.name, first.arguments) == ("bash", '{"command":"file release\\n"}')
    assert results(session)[0].call_id == first.call_id
    assert said(results(session)[0]).startswith("release: ELF 64-bit LSB executable, x86-64")


def test_the_last_observation_stands_in_the_trajectory_alone() -> None:
    history = (user("task"), answer("I submit", "submit"))

    session = one(trajectory(*history, steps=({"action": "submit", "observation": "the patch"},)))

    assert surface(session) == ["user: task", "assistant: I submit", "tool: the patch"]


def test_system_messages_are_the_header_and_demonstrations_open_no_turn() -> None:
    session = one(
        trajectory(
            {"role": "system", "content": "be brief", "message_type": "system_prompt"},
            user("watch", is_demo=True),
            user("task"),
            answer("done", "submit"),
        )
    )

    assert [header.system for header in of(session, RequestHeader)] == ["be brief"]
    assert [message.source for message in of(session, UserMessage)] == ["demonstration", "user"]
    assert len(of(session, TurnStart)) == 1


def test_a_query_that_shows_a_shortened_observation_clears_it_for_that_step() -> None:
    history = (
        user("task"),
        answer("one", "ls"),
        user("long listing"),
        answer("two", "cat"),
        user("text"),
        answer("three", "submit"),
    )
    query = [user("task"), answer("one", "ls"), user("(cut)"), answer("two", "cat"), user("text")]

    session = one(trajectory(*history, steps=({}, {}, {"query": query})))

    assert "tool: long listing" in surface(session, answers(session)[1].seq)
    assert "tool: (cut)" in surface(session, answers(session)[2].seq)


def test_history_processors_without_queries_are_reported() -> None:
    config = {"agent": {"name": "i", "history_processors": [{"type": "last_n_observations", "n": 5}]}}

    session = one(trajectory(user("task"), answer("one", "ls"), replay_config=config))

    assert session.id == "i"
    assert any("last_n_observations" in note for note in session.notes)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"history":[]}', b'{"history":[{"role":"user"}]}', b"{"])
def test_other_files_are_no_swe_agent_trajectory(data: bytes) -> None:
    assert not FORMAT.detect(Source(data))
    with pytest.raises(FormatError, match=r"no SWE-agent trajectory|not JSON"):
        FORMAT.read(Source(data))
