"""An OpenHands agent, run by the SDK itself: what its model is sent is what the conversation's events say."""

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest
from openhands.sdk import Agent, Conversation
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import Action, Observation, Tool, ToolDefinition, ToolExecutor, register_tool
from tests.hosts.scenario import POLICY, PROMPT, RESTART, STEPS, example, expected, of_example, prompts, text_of, views

from refold.bridges.openhands import RefoldCondenser
from refold.events.formats import openhands
from refold.events.formats._source import Source

pytestmark = [pytest.mark.hosts, pytest.mark.filterwarnings("default")]  # litellm warns about its own types


class Read(Action):
    step: int


class Content(Observation):
    pass


class Reader(ToolExecutor[Read, Content]):
    def __call__(self, action: Read, conversation: Any = None) -> Content:
        return Content.from_text(text_of(action.step))


class ReadFile(ToolDefinition[Read, Content]):
    @classmethod
    def create(cls, *args: Any, **settings: Any) -> Sequence[Self]:
        return [cls(description="Read a file.", action_type=Read, observation_type=Content, executor=Reader())]


FROZEN = 3
"""Fewer than elsewhere: the SDK logs its long system prompt and its tools, and they are measured."""

register_tool("ReadFile", ReadFile)


class Model(TestLLM):
    """The SDK's scripted model; it keeps what it was sent."""

    _sent: list[list[Message]] = []  # noqa: RUF012

    def completion(self, messages: list[Message], *args: Any, **settings: Any) -> Any:
        self._sent.append(messages)
        return super().completion(messages, *args, **settings)


def model(first: int, last: int) -> Model:
    """Answers calls `first` to `last`, then fails, unless the last call was the run's."""
    calls = [
        MessageToolCall(id=f"call-{step}", name="read_file", arguments=json.dumps({"step": step}), origin="completion")
        for step in range(first, min(last + 1, STEPS))
    ]
    answers: list[Any] = [Message(role="assistant", content=[], tool_calls=[call]) for call in calls]
    answers += [Message(role="assistant", content=[TextContent(text="done")])] if last == STEPS else [KeyError("died")]
    found = Model.from_messages(answers)
    found._call_count = first - 1  # it numbers its responses; a provider's ids are not given twice
    return found


def conversation(model: Model, folder: Path) -> Any:
    agent = Agent(llm=model, tools=[Tool(name="ReadFile")], condenser=RefoldCondenser(policy=POLICY))
    return Conversation(
        agent, workspace=folder, persistence_dir=folder / "kept", conversation_id=uuid.UUID(int=7), visualizer=None
    )


def listed(messages: list[Message]) -> list[Any]:
    """A list in the form of `refold messages`, without the system's text."""
    found: list[Any] = []
    for message in messages[1:]:
        content: list[Any] = [{"type": "text", "text": part.text} for part in message.content]
        calls = [(call.id, call.name, call.arguments) for call in message.tool_calls or []]
        content += [{"type": "tool-call", "id": id, "name": name, "arguments": given} for id, name, given in calls]
        named = {"call_id": message.tool_call_id, "is_error": False} if message.role == "tool" else {}
        found.append({"role": message.role, **named, "content": content})
    return found


def logged(conversation: Any) -> list[list[Any]]:
    events = [event.model_dump(mode="json") for event in conversation.state.events]
    return prompts(openhands.read(Source(json.dumps(events).encode()))[0].events)


def texts(messages: list[Message]) -> dict[str, str]:
    return {message.tool_call_id: message.content[0].text for message in messages if message.role == "tool"}


def test_every_call_is_sent_what_the_events_say_and_a_large_result_whole_three_times(tmp_path: Path) -> None:
    fake = model(1, STEPS)
    talk = conversation(fake, tmp_path)
    talk.send_message(PROMPT)
    talk.run()
    calls = [texts(messages) for messages in fake._sent]

    assert len(fake._sent) == STEPS
    assert [listed(messages) for messages in fake._sent] == logged(talk)
    assert {step: views(calls, step) for step in range(1, STEPS)} == {
        step: expected(step, FROZEN) for step in range(1, STEPS)
    }


def test_a_conversation_that_is_taken_up_by_a_new_process_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    before, after = model(1, RESTART - 1), model(RESTART, STEPS)
    talk = conversation(before, tmp_path)
    talk.send_message(PROMPT)
    with pytest.raises(Exception, match="died"):
        talk.run()
    talk.close()
    again = conversation(after, tmp_path)
    again.run()

    assert len(before._sent) == RESTART
    assert [listed(messages) for messages in (*before._sent[:-1], *after._sent)] == logged(again)
    assert listed(before._sent[-1]) == listed(after._sent[0])


def test_the_example_tells_what_the_rule_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert example("openhands_agent.py", capsys) == of_example(frozen=2)
