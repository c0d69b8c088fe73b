"""An OpenHands agent that reads twelve pages; refold cuts those its model has seen three times.

pip install "refold[openhands]"           # Python 3.12
python examples/openhands_agent.py        # the SDK's scripted model: no key, no network
"""

import json
import tempfile
from collections.abc import Sequence
from typing import Any, Self

from openhands.sdk import Agent, Conversation
from openhands.sdk.event import ObservationEvent
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import Action, Observation, Tool, ToolDefinition, ToolExecutor, register_tool

from refold import presets
from refold.bridges.openhands import RefoldCondenser

PAGES = 12


class ReadPage(Action):
    number: int


class Page(Observation):
    pass


class Reader(ToolExecutor[ReadPage, Page]):
    def __call__(self, action: ReadPage, conversation: Any = None) -> Page:
        return Page.from_text(f"Page {action.number}. " + "What stands on it, at length. " * 400)


class ReadPageTool(ToolDefinition[ReadPage, Page]):
    @classmethod
    def create(cls, *args: Any, **settings: Any) -> Sequence[Self]:
        return [cls(description="Read a page.", action_type=ReadPage, observation_type=Page, executor=Reader())]


class Model(TestLLM):
    """Asks for one page after the other, and tells how much it was sent."""

    def completion(self, messages: list[Message], *args: Any, **settings: Any) -> Any:
        sent = sum(len(part.text) for message in messages if message.role == "tool" for part in message.content)
        print(f"the model is sent {sent:7,} characters")
        return super().completion(messages, *args, **settings)


def asks(page: int) -> Message:
    arguments = json.dumps({"number": page})
    call = MessageToolCall(id=f"call-{page}", name="read_page", arguments=arguments, origin="completion")
    return Message(role="assistant", content=[], tool_calls=[call])


register_tool("ReadPageTool", ReadPageTool)
read = Message(role="assistant", content=[TextContent(text="Read.")])
model = Model.from_messages([*map(asks, range(1, PAGES + 1)), read])

policy = presets.keep3(gate=10_000, tools=("read_*",))
agent = Agent(llm=model, tools=[Tool(name="ReadPageTool")], condenser=RefoldCondenser(policy=policy))
with tempfile.TemporaryDirectory() as folder:
    conversation = Conversation(agent, workspace=folder, visualizer=None)
    conversation.send_message("Read the pages.")
    conversation.run()
    kept = [event for event in conversation.state.events if isinstance(event, ObservationEvent)]
    print(f"the events keep   {sum(len(event.observation.text) for event in kept):7,} characters")
