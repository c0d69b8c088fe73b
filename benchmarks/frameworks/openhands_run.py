"""The session in the OpenHands SDK. Its condenser asks a model for summaries; here that is a scripted one."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from frameworks.session import DONE, POLICIES, Sent, asked, content, history, prompt
from openhands.sdk import Agent, Conversation
from openhands.sdk.context.condenser import LLMSummarizingCondenser, NoOpCondenser
from openhands.sdk.context.condenser.base import CondenserBase
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, MessageEvent, ObservationEvent
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import Action, Observation, Tool, ToolDefinition, ToolExecutor, register_tool
from pydantic import PrivateAttr

from refold.bridges.openhands import RefoldCondenser

SUMMARY = "Of each file read so far: what it is about, and what of it matters. " * 30


class Summarizer(TestLLM):
    def completion(self, messages: list[Message], *args: Any, **settings: Any) -> Any:
        self._scripted_responses.append(said(SUMMARY))
        return super().completion(messages, *args, **settings)


CONTENDERS: dict[str, Callable[[], CondenserBase]] = {
    "nothing": NoOpCondenser,
    "LLMSummarizingCondenser": lambda: LLMSummarizingCondenser(llm=Summarizer.from_messages([], usage_id="summaries")),
    **{name: lambda policy=policy: RefoldCondenser(policy=policy) for name, policy in POLICIES.items()},
}


class Timed(CondenserBase):
    """Where the inner one answers with a summary, the agent asks again: both belong to the call that follows."""

    inner: CondenserBase
    _seconds: float = PrivateAttr(0.0)
    _calls: list[float] = PrivateAttr(default_factory=list)

    def condense(self, view: View, agent_llm: Any = None) -> Any:
        started = time.process_time()
        found = self.inner.condense(view, agent_llm)
        self._seconds += time.process_time() - started
        if isinstance(found, View):
            self._calls.append(self._seconds)
            self._seconds = 0.0
        return found


class Model(TestLLM):
    _sent: list[list[str]] = PrivateAttr(default_factory=list)

    def completion(self, messages: list[Message], *args: Any, **settings: Any) -> Any:
        self._sent.append(list(map(text, messages)))
        return super().completion(messages, *args, **settings)


class Read(Action):
    number: int


class Content(Observation):
    pass


class Reader(ToolExecutor[Read, Content]):
    def __call__(self, action: Read, conversation: Any = None) -> Content:
        return Content.from_text(content(action.number))


class ReadFile(ToolDefinition[Read, Content]):
    @classmethod
    def create(cls, *args: Any, **settings: Any) -> Sequence[Self]:
        return [cls(description="Read a file.", action_type=Read, observation_type=Content, executor=Reader())]


register_tool("ReadFile", ReadFile)


def text(message: Message) -> str:
    calls = "".join(call.arguments for call in message.tool_calls or ())
    return "".join(part.text for part in message.content if isinstance(part, TextContent)) + calls


def said(text: str, role: str = "assistant") -> Message:
    return Message(role=role, content=[TextContent(text=text)])


def call(number: int) -> MessageToolCall:
    arguments = json.dumps({"number": number})
    return MessageToolCall(id=f"call-{number}", name="read_file", arguments=arguments, origin="completion")


def run(make: Callable[[], Any], before: int, turns: int) -> list[Sent]:
    """The model calls of so many turns, behind the history of those before."""
    answers = [
        answer
        for turn in range(before, before + turns)
        for answer in (
            *(Message(role="assistant", content=[], tool_calls=[call(number)]) for number in asked(turn)),
            said(DONE),
        )
    ]
    model, timed = Model.from_messages(answers), Timed(inner=make())
    agent = Agent(llm=model, tools=[Tool(name="ReadFile")], condenser=timed)
    with tempfile.TemporaryDirectory() as folder:
        talk = Conversation(agent, workspace=folder, visualizer=None, stuck_detection=False)
        if before:
            _remember(talk, before)
        for turn in range(before, before + turns):
            talk.send_message(prompt(turn))
            talk.run()
    return [Sent(*sent) for sent in zip(model._sent, timed._calls, strict=True)]


def _remember(talk: Any, turns: int) -> None:
    """Put the history of so many turns into the conversation, as a run would have left it."""
    talk.send_message(prompt(0))  # writes the system prompt as well
    with talk.state as state:
        for event in list(_events(turns))[1:]:
            state.append_event(event)


def _events(turns: int) -> Iterator[Any]:
    action = ""
    for kind, number in history(turns):
        match kind:
            case "prompt":
                yield MessageEvent(source="user", llm_message=said(prompt(number), "user"))
            case "call":
                event = ActionEvent(
                    thought=[],
                    action=Read(number=number),
                    tool_name="read_file",
                    tool_call_id=f"call-{number}",
                    tool_call=call(number),
                    llm_response_id=f"earlier-{number}",
                )
                action = event.id
                yield event
            case "result":
                shown = Content.from_text(content(number))
                yield ObservationEvent(
                    observation=shown, action_id=action, tool_name="read_file", tool_call_id=f"call-{number}"
                )
            case _:
                yield MessageEvent(source="agent", llm_message=said(DONE), llm_response_id=f"earlier-word-{number}")
