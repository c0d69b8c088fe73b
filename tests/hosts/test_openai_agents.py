"""An agent of the OpenAI Agents SDK, run by the SDK itself: what its model is sent is what the run's items say."""

import json
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, function_tool
from agents.exceptions import AgentsException
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call
from tests.hosts.scenario import (
    POLICY,
    PROMPT,
    RESTART,
    STEPS,
    example,
    expected,
    of_example,
    prompts,
    said,
    text_of,
    views,
)

from refold.bridges.openai_agents import InputFilter
from refold.events import FormatError
from refold.events.formats import openai_responses
from refold.events.formats._source import Source
from refold.reducer import Part, Policy, how, ripe, when
from refold.reducer.which import Which

pytestmark = pytest.mark.hosts


class Killed(AgentsException):
    """The process dies before the answer comes."""


def model(first: int, last: int) -> ScriptedModel:
    """The SDK's scripted model: it answers calls `first` to `last`, then dies, unless the last call was the run's."""
    steps: list[Any] = [
        [function_call("read_file", {"step": step}, call_id=f"call-{step}")] for step in range(first, last + 1)
    ]
    steps[-1:] = [[assistant_message("done")]] if last == STEPS else [*steps[-1:], Killed()]
    return ScriptedModel(steps)


@function_tool
def read_file(step: int) -> str:
    """Read a file."""
    return text_of(step)


def run(model: ScriptedModel, given: Any, **settings: Any) -> Any:
    agent = Agent("reader", instructions="You read.", tools=[read_file], model=model)
    config = RunConfig(call_model_input_filter=InputFilter(POLICY), tracing_disabled=True)
    return Runner.run_sync(agent, given, run_config=config, max_turns=200, **settings)


def listed(model: ScriptedModel) -> list[list[Any]]:
    return [said(openai_responses.messages(call.input, (), pytest.fail)) for call in model.calls]


def logged(result: Any) -> list[list[Any]]:
    source = Source(json.dumps(result.to_input_list()).encode())
    return prompts(openai_responses.read(source)[0].events)


def texts(items: list[Any]) -> dict[str, str]:
    return {item["call_id"]: item["output"] for item in items if item.get("type") == "function_call_output"}


def test_every_call_is_sent_what_the_items_of_the_run_say() -> None:
    fake = model(1, STEPS)
    result = run(fake, PROMPT)

    assert len(fake.calls) == STEPS
    assert listed(fake) == logged(result)


def test_a_large_result_is_sent_whole_three_times_and_those_of_before_the_gate_for_ever() -> None:
    fake = model(1, STEPS)
    result = run(fake, PROMPT)
    calls = [texts(call.input) for call in fake.calls]

    assert {step: views(calls, step) for step in range(1, STEPS)} == {step: expected(step) for step in range(1, STEPS)}
    assert texts(result.to_input_list()) == {f"call-{step}": text_of(step) for step in range(1, STEPS)}


def test_a_run_that_is_taken_up_by_a_new_process_goes_on_as_if_nothing_had_happened() -> None:
    before, after = model(1, RESTART - 1), model(RESTART, STEPS)
    with pytest.raises(Killed) as death:
        run(before, PROMPT)
    data = death.value.run_data
    items = [{"role": "user", "content": data.input}, *(item.to_input_item() for item in data.new_items)]
    result = run(after, json.loads(json.dumps(items)))

    assert len(before.calls) == RESTART
    assert listed(before)[:-1] + listed(after) == logged(result)
    assert listed(before)[-1] == listed(after)[0]


def test_a_history_that_the_server_keeps_is_refused() -> None:
    with pytest.raises(FormatError, match="starts with a tool result"):
        run(model(1, STEPS), PROMPT, auto_previous_response_id=True)


def test_items_nobody_knows_are_sent_as_they_are_and_are_no_model_call() -> None:
    calls = [{"type": "function_call", "call_id": f"{at}", "name": "read_file", "arguments": "{}"} for at in range(2)]
    results = [{"type": "function_call_output", "call_id": f"{at}", "output": "long " * 20} for at in range(2)]
    unreadable = {"type": "function_call_output", "call_id": "9", "output": [object()]}
    odd: list[Any] = [{"type": "brand_new", "x": 1}, {"role": "narrator", "content": "x"}, unreadable]
    cuts = Policy("twice", (Part("twice", when.Always(), Which(("*",)), ripe.Views(2), how.Placeholder("cut")),))

    def sent(*items: Any) -> list[Any]:
        data = CallModelData(ModelInputData([{"role": "user", "content": "go"}, *items], None), Agent("a"), None)
        return InputFilter(cuts)(data).input

    # After its first answer a result has been seen once, whatever stands behind or inside of that answer.
    for place in range(2, 5):
        items = [calls[0], results[0], {"type": "reasoning", "summary": []}, calls[1]]
        items[place:place] = odd
        assert sent(*items)[1:] == items
    items = [calls[0], results[0], *odd, calls[1], results[1], *odd]
    shown = sent(*items, {"type": "message", "role": "assistant", "content": "so"}, {"role": "user", "content": "?"})
    assert shown[2]["output"] == "cut"
    assert [each is given for each, given in zip(shown[3:6], odd, strict=True)] == [True] * 3
    assert shown[7]["output"] == "long " * 20


def test_the_example_tells_what_the_rule_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert example("openai_agents_agent.py", capsys) == of_example(frozen=4)
