"""A LangChain agent that reads twelve pages; refold cuts those its model has seen three times.

pip install "refold[langchain]"
python examples/langchain_agent.py        # LangChain's fake model: no key, no network
"""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult

from refold import presets
from refold.bridges.langchain import RefoldMiddleware

PAGES = 12


class Model(GenericFakeChatModel):
    """Asks for one page after the other, and tells how much it was sent."""

    def bind_tools(self, tools: Any, **settings: Any) -> "Model":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **settings: Any) -> ChatResult:
        print(f"the model is sent {characters(messages):7,} characters")
        return super()._generate(messages, *args, **settings)


def characters(messages: list[BaseMessage]) -> int:
    return sum(len(message.text) for message in messages if message.type == "tool")


def read_page(number: int) -> str:
    """Read a page."""
    return f"Page {number}. " + "What stands on it, at length. " * 400


calls = [{"id": f"call-{page}", "name": "read_page", "args": {"number": page}} for page in range(1, PAGES + 1)]
model = Model(messages=iter([*(AIMessage("", tool_calls=[call]) for call in calls), AIMessage("Read.")]))

policy = presets.keep3(gate=10_000, tools=("read_*",))
agent = create_agent(model, [read_page], middleware=[RefoldMiddleware(policy)])
state = agent.invoke({"messages": [("user", "Read the pages.")]}, {"recursion_limit": 100})
print(f"the state keeps   {characters(state['messages']):7,} characters")
