"""OpenHands: excerpts of its own example files, and condensations and delegates that no public file holds."""

import json
from typing import Any

import pytest
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, of, results, said

from refold.events import FormatError, RequestContext, RequestHeader, StepStart, ToolCall, ToolUse, Usage
from refold.events.formats._source import Session, Source
from refold.events.formats.openhands import FORMAT

TIME = "2025-01-01T00:00:00"


def v0(*events: dict[str, Any]) -> str:
    return json.dumps([{"id": place, "timestamp": TIME, **event} for place, event in enumerate(events)])


def v1(*events: dict[str, Any]) -> str:
    return json.dumps([{"timestamp": TIME, "source": "agent", **event} for event in events])


def asked(text: str) -> dict[str, Any]:
    return {"source": "user", "action": "message", "args": {"content": text}}


def response(number: int, *call_ids: str, text: str = "") -> dict[str, Any]:
    calls = [{"id": each, "function": {"name": "execute_bash", "arguments": "{}"}} for each in call_ids]
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}}
    return {"id": f"r{number}", "choices": [{"message": {"content": text, "tool_calls": calls}}], "usage": usage}


def run(answer: dict[str, Any], call_id: str, kind: str = "run") -> dict[str, Any]:
    return {"source": "agent", "action": kind, "args": {}, "tool_call_metadata": of_call(answer, call_id)}


def saw(answer: dict[str, Any], call_id: str, content: str, **fields: Any) -> dict[str, Any]:
    told = {"source": "agent", "observation": "run", "content": content, **fields}
    return {**told, "tool_call_metadata": of_call(answer, call_id)}


def of_call(answer: dict[str, Any], call_id: str) -> dict[str, Any]:
    return {"function_name": "execute_bash", "tool_call_id": call_id, "model_response": answer}


def one(source: str) -> Session:
    (session,) = read(FORMAT, source)
    return session


def test_v0_a_response_copied_into_action_and_observation_counts_once() -> None:
    (session,) = read_file(FORMAT, "openhands_v0.jsonl")

    assert session.id == "ponylang__ponyc-4593"
    assert [answer.usage for answer in answers(session)] == [Usage(5549, 88)]
    assert [(call.call_id, call.arguments) for call in of(session, ToolCall)] == [
        ("toolu_01", '{"command": "ls /workspace/ponylang__ponyc__0.1"}')
    ]


def test_v0_an_error_that_answers_no_call_tells_of_a_call_without_answer() -> None:
    (session,) = read_file(FORMAT, "openhands_v0.jsonl")

    assert len(of(session, StepStart)) == 2
    assert session.notes == ("a model call failed; its answer is not in the log, only the error that followed",)
    assert surface(session)[-1] == (
        "user: Parameter 'command' is expected to be one of ['view', 'create', 'str_replace', 'insert', 'undo_edit']."
    )


def test_v0_parallel_calls_of_a_response_are_one_step() -> None:
    both = response(1, "a", "b")

    session = one(v0(asked("go"), run(both, "a"), run(both, "b"), saw(both, "b", "B"), saw(both, "a", "A")))

    assert len(of(session, StepStart)) == 1
    assert [(each.call_id, said(each)) for each in results(session)] == [("b", "B"), ("a", "A")]


def test_v0_cached_tokens_are_taken_out_of_the_prompt() -> None:
    answer = response(1, "a")

    assert [each.usage for each in answers(one(v0(asked("go"), run(answer, "a"))))] == [Usage(40, 5, 60)]


def test_v0_without_call_ids_the_cause_names_the_action() -> None:
    action = {"source": "agent", "action": "run", "args": {"command": "ls", "thought": "look"}}
    seen = {"source": "agent", "observation": "run", "content": "a.txt", "cause": 1, "success": False}

    session = one(v0(asked("go"), action, seen))

    assert answers(session)[0].content[-1] == ToolUse("event-1", "run", '{"command":"ls"}')
    assert [(each.call_id, said(each), each.is_error) for each in results(session)] == [("event-1", "a.txt", True)]


def test_v0_an_observation_without_call_and_cause_is_an_orphan() -> None:
    session = one(v0(asked("go"), {"source": "agent", "observation": "run", "content": "lost"}))

    assert 'an observation "run" answers no call' in session.notes
    assert surface(session) == ["user: go", "tool: lost"]


def test_v0_a_condensation_puts_its_summary_where_the_forgotten_stood() -> None:
    first, second = response(1, "a", text="one"), response(2, "b", text="two")
    condensation = {"forgotten_events_start_id": 1, "forgotten_events_end_id": 2, "summary": "short"}
    events = (
        asked("go"),
        run(first, "a"),
        saw(first, "a", "A"),
        run(second, "b"),
        saw(second, "b", "B"),
        {"source": "agent", "action": "condensation", "args": condensation},
    )

    assert surface(one(v0(*events))) == ["user: go", "user: short", "assistant: two", "tool: B"]


def test_v0_the_newest_summary_takes_the_place_of_the_one_before() -> None:
    answer = response(1, "a", text="one")
    events = (
        asked("go"),
        run(answer, "a"),
        saw(answer, "a", "A"),
        {"source": "agent", "action": "condensation", "args": {"forgotten_event_ids": [1, 2], "summary": "first"}},
        asked("more"),
        {"source": "agent", "action": "condensation", "args": {"forgotten_event_ids": [4], "summary": "second"}},
    )

    assert surface(one(v0(*events))) == ["user: go", "user: second"]


def test_v0_recalled_knowledge_is_part_of_the_prompt() -> None:
    extras = {"repo_instructions": "be kind", "microagent_knowledge": [{"name": "git", "content": "use git"}]}

    session = one(v0(asked("go"), {"source": "environment", "observation": "recall", "extras": extras}))

    assert surface(session) == ["user: go", "user: be kinduse git"]


def test_v0_a_delegate_is_a_session_of_its_own() -> None:
    delegating, below = response(1, "d"), response(2, "x", text="below")
    back = saw(delegating, "d", "all done", observation="delegate")
    events = (asked("go"), run(delegating, "d", "delegate"), run(below, "x"), saw(below, "x", "X"), back)

    main, child = read(FORMAT, v0(*events), "log")

    assert (main.id, child.id, child.parent) == ("log", "log:d", "log")
    assert surface(main) == ["user: go", "assistant: ", "tool: all done"]
    assert surface(child) == ["assistant: below", "tool: X"]


def test_v0_each_line_of_an_output_is_a_session_and_a_torn_one_is_reported() -> None:
    lines = [json.dumps({"instance_id": name, "history": json.loads(v0(asked(name)))}) for name in ("one", "two")]

    sessions = read(FORMAT, "\n".join((*lines, '{"instance_id":"thr')))

    assert [session.id for session in sessions] == ["one", "two"]
    assert sessions[1].partial
    assert sessions[1].notes == ("the last line, 3, breaks off and is left out",)


def test_v1_usage_and_window_stand_in_the_state_by_response() -> None:
    (session,) = read_file(FORMAT, "openhands_v1.json")

    assert session.id == "cd945624-03b9-487e-bdd4-018e3f531dfd"
    assert [answer.usage for answer in answers(session)] == [
        Usage(3778, 36),
        Usage(3869 - 3712, 32, 3712),
        Usage(3936 - 3840, 26, 3840),
    ]
    assert [each.context_window for each in of(session, RequestContext)] == [128000]


def test_v1_a_result_answers_its_call_and_may_be_empty() -> None:
    (session,) = read_file(FORMAT, "openhands_v1.json")

    assert [(each.call_id, said(each)) for each in results(session)] == [
        ("call_KaQ0kUcBb5tbMzhxbIx9dvoZ", ""),
        ("call_HhojVstik9LFNxVlLTgV0iIA", "The current directory has been written to tool_output.txt."),
    ]


def test_v1_a_changed_system_prompt_is_a_new_header() -> None:
    def prompt(kind: str, text: str) -> dict[str, Any]:
        return {"id": kind, "kind": kind, "system_prompt": {"type": "text", "text": text}}

    def answer(number: int) -> dict[str, Any]:
        message = {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}
        return {"id": f"m{number}", "kind": "MessageEvent", "llm_message": message, "llm_response_id": f"r{number}"}

    session = one(
        v1(prompt("SystemPromptEvent", "one"), answer(1), prompt("SystemPromptUpdateEvent", "two"), answer(2))
    )

    assert [header.system for header in of(session, RequestHeader)] == ["one", "two"]


def v1_action(call_id: str, thought: str = "", response: str = "r") -> dict[str, Any]:
    call = {"id": call_id, "name": "terminal", "arguments": "{}"}
    told = {"id": call_id, "kind": "ActionEvent", "tool_name": "terminal", "tool_call_id": call_id}
    return {**told, "tool_call": call, "llm_response_id": response, "thought": [{"type": "text", "text": thought}]}


def v1_observation(call_id: str) -> dict[str, Any]:
    seen = {"content": [{"type": "text", "text": f"of {call_id}"}]}
    return {"id": f"o-{call_id}", "kind": "ObservationEvent", "tool_call_id": call_id, "observation": seen}


def test_v1_actions_of_one_response_are_one_answer_and_errors_are_results() -> None:
    failed = {"id": "e", "kind": "AgentErrorEvent", "tool_name": "terminal", "tool_call_id": "b", "error": "no"}
    rejected = {"id": "u", "kind": "UserRejectObservation", "tool_call_id": "a", "rejection_reason": "stop"}

    session = one(v1(v1_action("a", "both"), v1_action("b"), failed, rejected))

    assert len(answers(session)) == 1
    assert [(said(each), each.is_error) for each in results(session)] == [("no", True), ("Action rejected: stop", True)]


def test_v1_actions_of_one_response_that_stand_apart_are_messages_of_their_own() -> None:
    """As the SDK's events_to_messages sends them: only neighbours are put together."""
    far = (v1_action("c", "other", "r2"), v1_observation("c"), v1_action("d", "late"), v1_observation("d"))
    session = one(v1(v1_action("a", "early"), v1_observation("a"), v1_action("b", "again"), v1_observation("b"), *far))

    asked = [[block.id for block in answer.content if isinstance(block, ToolUse)] for answer in answers(session)]
    assert asked == [["a"], ["b"], ["c"], ["d"]]
    assert [(answer.turn, answer.step) for answer in answers(session)] == [(1, 1), (1, 1), (1, 2), (1, 3)]
    assert surface(session)[1::2] == ["tool: of a", "tool: of b", "tool: of c", "tool: of d"]


def test_v1_usage_of_a_response_whose_actions_stand_apart_counts_once() -> None:
    report = {"response_id": "r", "prompt_tokens": 10, "completion_tokens": 2}
    state = {"id": "s", "stats": {"usage_to_metrics": {"agent": {"token_usages": [report]}}}}
    events = json.loads(v1(v1_action("a"), v1_observation("a"), v1_action("b"), v1_observation("b")))
    files = {f"events/event-{place}.json": event for place, event in enumerate(events)}

    session = one(json.dumps({**files, "base_state.json": state}))

    assert [answer.usage for answer in answers(session)] == [Usage(10, 2), None]


def test_v1_a_condensation_forgets_by_id_and_its_summary_may_be_forgotten_too() -> None:
    def message(event_id: str) -> dict[str, Any]:
        content = [{"type": "text", "text": event_id}]
        return {"id": event_id, "kind": "MessageEvent", "source": "user", "llm_message": {"content": content}}

    def forget(event_id: str, *gone: str, summary: str) -> dict[str, Any]:
        return {"id": event_id, "kind": "Condensation", "forgotten_event_ids": list(gone), "summary": summary}

    events = (
        message("a"),
        message("b"),
        forget("c1", "a", summary="first"),
        message("d"),
        forget("c2", "c1-summary", "d", summary="second"),
    )

    assert surface(one(v1(*events))) == ["user: second", "user: b", "user: "]


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b'[{"kind":"x"}]', b'{"instance_id":"i","history":[]}', b'{"history":[{"role":"user"}]}'],
)
def test_other_files_are_no_openhands_log(data: bytes) -> None:
    assert not FORMAT.detect(Source(data))
    with pytest.raises(FormatError, match="no OpenHands log"):
        FORMAT.read(Source(data))
