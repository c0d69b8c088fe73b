"""A pydantic-ai agent, run by pydantic-ai itself: what its model is sent is what the message history says."""

from typing import Any

import pytest
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits
from tests.hosts.scenario import POLICY, PROMPT, RESTART, STEPS, example, expected, of_example, prompts, text_of, views

from refold.bridges.pydantic_ai import Refold
from refold.events.formats import pydantic_ai
from refold.events.formats._source import Source
from refold.reducer import Part, Policy, how, ripe, when
from refold.reducer.which import Which

pytestmark = pytest.mark.hosts
LIMITS = UsageLimits(request_limit=None)


class Script:
    """What pydantic-ai's function model answers from call `first` on; it dies where it is asked for call `dies`."""

    def __init__(self, first: int = 1, dies: int = 0) -> None:
        self.step, self.dies = first, dies
        self.sent: list[list[ModelMessage]] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.sent.append(list(messages))
        step, self.step = self.step, self.step + 1
        if step == self.dies:
            raise KeyboardInterrupt
        if step == STEPS:
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart("read_file", {"step": step}, f"call-{step}")])


def agent(script: Script) -> Agent[None, str]:
    return Agent(
        FunctionModel(script),
        system_prompt="You read.",
        instructions="Read on.",
        tools=[read_file],
        capabilities=[Refold(POLICY)],
    )


def read_file(step: int) -> str:
    """Read a file."""
    return text_of(step)


def listed(messages: list[ModelMessage]) -> list[Any]:
    """A list in the form of `refold messages`."""
    found: list[Any] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            content = [
                {
                    "type": "tool-call",
                    "id": call.tool_call_id,
                    "name": call.tool_name,
                    "arguments": call.args_as_json_str(),
                }
                for call in calls
            ]
            found.append({"role": "assistant", "content": content})
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                content = [{"type": "text", "text": part.content}]
                found.append({"role": "tool", "call_id": part.tool_call_id, "is_error": False, "content": content})
            elif isinstance(part, UserPromptPart):
                found.append({"role": "user", "content": [{"type": "text", "text": part.content}]})
            else:
                assert isinstance(part, SystemPromptPart)
    return found


def logged(messages: bytes) -> list[list[Any]]:
    return prompts(pydantic_ai.read(Source(messages))[0].events)


def texts(messages: list[ModelMessage]) -> dict[str, str]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    parts = [part for message in requests for part in message.parts if isinstance(part, ToolReturnPart)]
    return {part.tool_call_id: part.content for part in parts}


def test_every_call_is_sent_what_the_message_history_says() -> None:
    script = Script()
    result = agent(script).run_sync(PROMPT, usage_limits=LIMITS)

    assert len(script.sent) == STEPS
    assert [listed(messages) for messages in script.sent] == logged(result.all_messages_json())


def test_a_large_result_is_sent_whole_three_times_and_those_of_before_the_gate_for_ever() -> None:
    script = Script()
    result = agent(script).run_sync(PROMPT, usage_limits=LIMITS)
    calls = [texts(messages) for messages in script.sent]

    assert {step: views(calls, step) for step in range(1, STEPS)} == {step: expected(step) for step in range(1, STEPS)}
    assert texts(result.all_messages()) == {f"call-{step}": text_of(step) for step in range(1, STEPS)}


def test_a_run_that_is_taken_up_by_a_new_process_goes_on_as_if_nothing_had_happened() -> None:
    before, after = Script(dies=RESTART), Script(RESTART)
    with capture_run_messages() as messages, pytest.raises(KeyboardInterrupt):
        agent(before).run_sync(PROMPT, usage_limits=LIMITS)
    history = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))
    result = agent(after).run_sync(message_history=history, usage_limits=LIMITS)

    assert len(before.sent) == RESTART
    assert [listed(messages) for messages in (*before.sent[:-1], *after.sent)] == logged(result.all_messages_json())
    assert listed(before.sent[-1]) == listed(after.sent[0])


def test_what_is_no_json_is_sent_as_it_is_and_stops_nobody() -> None:
    class Handle:
        pass

    circle: list[Any] = []
    circle.append(circle)
    history: list[ModelMessage] = [ModelRequest([UserPromptPart(PROMPT)])]
    for step, value in enumerate([Handle(), {"rows": text_of(1), "handle": Handle()}, circle, text_of(2), "x"]):
        history += [
            ModelResponse([ToolCallPart("read_file", {}, f"call-{step}")]),
            ModelRequest([ToolReturnPart("read_file", value, f"call-{step}")]),
        ]
    cuts = Policy("once", (Part("once", when.Always(), Which(("*",)), ripe.Views(1), how.Placeholder("cut")),))
    odd: Any = Handle()
    sent: list[Any] = Refold(cuts)._history.shown([*history, odd])
    returned = [sent[at].parts[0].content for at in range(2, 11, 2)]

    assert returned[1] == "cut"
    assert [shown is given for shown, given in zip(sent[5:7], history[5:7], strict=True)] == [True, True]
    assert returned[3:] == ["cut", "x"]
    assert sent[-1] is odd


def test_the_example_tells_what_the_rule_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert example("pydantic_ai_agent.py", capsys) == of_example(frozen=4)
