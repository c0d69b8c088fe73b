"""mini-swe-agent trajectories: its own old test file, an excerpt of a real run, and small lists made up."""

import json
from typing import Any

import pytest
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, of, results, said

from refold.events import FormatError, RequestHeader, Text, ToolCall, TurnStart, Usage
from refold.events.formats._source import Source
from refold.events.formats.mini_swe_agent import FORMAT


def test_each_answer_tells_its_usage_with_the_cached_tokens_inside_the_prompt() -> None:
    (session,) = read_file(FORMAT, "mini_swe_agent_1_1.traj.json")

    assert answers(session)[0].usage == Usage(25, 76, 1664)
    assert answers(session)[-1].usage == Usage(35424 - 35200, 79, 35200)
    assert {answer.model for answer in answers(session)} == {"deepseek/deepseek-chat"}


def test_a_return_code_other_than_0_is_an_error() -> None:
    (session,) = read_file(FORMAT, "mini_swe_agent_1_1.traj.json")

    assert [each.is_error for each in results(session)] == [False, True]
    assert results(session)[0].call_id == "call_00_KVNoGhlWmTJUowwDsUa74968"


def test_the_exit_message_is_no_part_of_the_prompt() -> None:
    (session,) = read_file(FORMAT, "mini_swe_agent_1_1.traj.json")

    assert (
        surface(session)[-1]
        == "assistant: The patch looks correct. Let me verify it only contains the intended change:"
    )
    assert session.notes == ("1 call has no result",)


def test_times_are_those_of_the_response_and_of_the_record() -> None:
    (session,) = read_file(FORMAT, "mini_swe_agent_1_1.traj.json")

    assert of(session, TurnStart)[0].time == 1780680347000
    assert answers(session)[0].time == 1780680349441
    assert results(session)[0].time == 1780680349629


def test_a_command_in_a_fenced_block_is_a_call_and_the_next_user_message_its_result() -> None:
    (session,) = read_file(FORMAT, "mini_swe_agent_text.traj.json")

    assert [call.arguments for call in of(session, ToolCall)] == [
        '{"command":"echo \'hello world\'"}',
        '{"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}',
    ]
    assert [each.content for each in results(session)] == [
        (Text("<returncode>0</returncode>\n<output>\nhello world\n</output>"),),
        (Text(""),),
    ]
    assert len(of(session, RequestHeader)) == 1


def test_older_results_tell_their_return_code_in_the_text() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "```mswea_bash_command\nfalse\n```"},
        {"role": "user", "content": "<returncode>1</returncode>\n<output>\n</output>"},
    ]

    (session,) = read(FORMAT, json.dumps(messages))

    assert [each.is_error for each in results(session)] == [True]


def test_an_answer_without_a_command_is_followed_by_a_message_of_the_harness() -> None:
    messages = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "```mswea_bash_command\nls\n```"},
        {"role": "user", "content": "<returncode>0</returncode>"},
        {"role": "assistant", "content": "I am done"},
        {"role": "user", "content": "Please give a command"},
    ]

    (session,) = read(FORMAT, json.dumps(messages))

    assert surface(session)[-2:] == ["assistant: I am done", "user: Please give a command"]
    assert len(of(session, TurnStart)) == 1
    assert [said(each) for each in results(session)] == ["<returncode>0</returncode>"]


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'[{"role":"user","content":"hi"}]', b'{"messages":[],"info":{}}', b"["]
)
def test_other_files_are_no_mini_swe_agent_trajectory(data: bytes) -> None:
    assert not FORMAT.detect(Source(data))
    with pytest.raises(FormatError, match=r"no mini-swe-agent trajectory|not JSON"):
        FORMAT.read(Source(data))
