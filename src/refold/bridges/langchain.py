"""refold in a LangChain or LangGraph agent: `create_agent(..., middleware=[RefoldMiddleware(policy)])`.

The agent's state keeps every message as it was; the model is sent what the policy leaves of them. Needs
`refold[langchain]`.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage

from refold.bridges.history import History, read_each, refuse, tell, unknown
from refold.events import Block
from refold.events.formats import langchain
from refold.events.formats._conversation import Conversation
from refold.events.formats._messages import Message, Path, native, parts
from refold.reducer import Meter, Policy


class RefoldMiddleware(AgentMiddleware):
    """Shapes each model call. What is cut is what a `derive` fold of the state's messages cuts, in any process.

    The system prompt and the tool list are no part of the state and are not measured, unless `meter` is Reported().
    Messages of a type that refold does not know are sent as they are. Raises PolicyError for a policy that needs times
    or a context window; a model call raises FormatError where a tool result stands before every answer, because its
    call was removed.
    """

    def __init__(self, policy: Policy, meter: Meter | None = None) -> None:
        super().__init__()
        self._history = History(policy, meter, _tell, _change, frozenset({"usage"}))

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        return handler(request.override(messages=self._history.shown(request.messages)))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        return await handler(request.override(messages=self._history.shown(request.messages)))


def _tell(told: Conversation, items: Sequence[BaseMessage], known: int) -> None:
    tell(told, read_each(items, known, _read), known)


def _read(item: BaseMessage) -> list[Message]:
    if langchain.is_message(vars(item)):
        return langchain.messages([vars(item)], (), refuse)
    return [unknown(parts(item.content))]


def _change(item: Any, path: Path, content: Sequence[Block]) -> Any:
    said = native(item.content, parts(item.content), content)
    return item.model_copy(update={"content": said})
