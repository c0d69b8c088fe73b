"""The session in LangChain."""

import time
from collections.abc import Callable
from typing import Any

from frameworks.session import DONE, POLICIES, Sent, asked, content, history, prompt
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ClearToolUsesEdit, ContextEditingMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from refold.bridges.langchain import RefoldMiddleware

CONTENDERS: dict[str, Any] = {
    "nothing": AgentMiddleware,
    "ContextEditingMiddleware": lambda: ContextEditingMiddleware(edits=[ClearToolUsesEdit()]),
    **{name: lambda policy=policy: RefoldMiddleware(policy) for name, policy in POLICIES.items()},
}


class Timed(AgentMiddleware):
    def __init__(self, inner: AgentMiddleware) -> None:
        super().__init__()
        self.inner, self.sent = inner, list[Sent]()

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        started = time.process_time()

        def ask(shaped: Any) -> Any:
            seconds = time.process_time() - started
            self.sent.append(Sent(list(map(text, shaped.messages)), seconds))
            return handler(shaped)

        return self.inner.wrap_model_call(request, ask) if type(self.inner) is not AgentMiddleware else ask(request)


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **settings: Any) -> "Model":
        return self


def text(message: BaseMessage) -> str:
    return message.text + "".join(str(call["args"]) for call in getattr(message, "tool_calls", ()))


def call(number: int) -> AIMessage:
    return AIMessage("", tool_calls=[{"id": f"call-{number}", "name": "read_file", "args": {"number": number}}])


def read_file(number: int) -> str:
    """Read a file."""
    return content(number)


def run(make: Callable[[], Any], before: int, turns: int) -> list[Sent]:
    """The model calls of so many turns, behind the history of those before."""
    timed = Timed(make())
    messages: list[BaseMessage] = [native(*said) for said in history(before)]
    for turn in range(before, before + turns):
        model = Model(messages=iter([*map(call, asked(turn)), AIMessage(DONE)]))
        agent = create_agent(model, [read_file], middleware=[timed])
        given = {"messages": [*messages, HumanMessage(prompt(turn))]}
        messages = agent.invoke(given, {"recursion_limit": 1000})["messages"]
    return timed.sent


def native(kind: str, number: int) -> BaseMessage:
    match kind:
        case "prompt":
            return HumanMessage(prompt(number))
        case "call":
            return call(number)
        case "result":
            return ToolMessage(content(number), tool_call_id=f"call-{number}", name="read_file")
    return AIMessage(DONE)
