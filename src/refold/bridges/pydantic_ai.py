"""refold in a pydantic-ai agent: `Agent(..., capabilities=[Refold(policy)])`.

The message history keeps every message as it was; the model is sent what the policy leaves of them. Needs
`refold[pydantic-ai]`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, SystemPromptPart
from pydantic_ai.models import ModelRequestContext

from refold.bridges.history import History, unknown
from refold.events import Block
from refold.events.formats import pydantic_ai
from refold.events.formats._conversation import Conversation, Request
from refold.events.formats._messages import Path, native
from refold.reducer import Meter, Policy


class Refold(AbstractCapability[Any]):
    """Shapes each model request. What is cut is what a `derive` fold of the message history cuts, in any process.

    The tool list is no part of the history and is not measured, unless `meter` is Reported(). Messages that refold does
    not know are sent as they are; a value that is no JSON is read as the name of its type. Raises PolicyError for a
    policy that needs a context window; a request raises FormatError where a tool's return stands before every answer.
    """

    def __init__(self, policy: Policy, meter: Meter | None = None) -> None:
        self._history = History(policy, meter, _tell, _change, frozenset({"usage", "times"}))

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        return replace(request_context, messages=self._history.shown(request_context.messages))


def _tell(told: Conversation, items: Sequence[ModelMessage], known: int) -> None:
    prompts = _prompts(items) if known else []
    for place, item in enumerate(items[known:], known):
        value = _dumped(item)
        if pydantic_ai.is_message(value):
            pydantic_ai.tell(told, value, (place,), prompts)
        else:
            told.ask(Request(messages=[unknown()], system=told.system, follows="what is known"))


def _prompts(items: Sequence[ModelMessage]) -> list[str]:
    """The system prompts that the history begins with."""
    found: list[str] = []
    for part in (part for item in items for part in getattr(item, "parts", ())):
        if not isinstance(part, SystemPromptPart):
            break
        found.append(part.content)
    return found


def _dumped(item: ModelMessage) -> Any:
    """A message as JSON values, None for what cannot be written so: an agent must go on."""
    try:
        return ModelMessagesTypeAdapter.dump_python([item], mode="json", fallback=_named, warnings="none")[0]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _named(value: Any) -> str:
    return f"<{type(value).__name__}>"


def _change(item: Any, path: Path, content: Sequence[Block]) -> Any:
    _, place, _ = path
    before = pydantic_ai.result_blocks(_dumped(item)["parts"][place]["content"])
    parts = list(item.parts)
    parts[int(place)] = replace(parts[int(place)], content=native(parts[int(place)].content, before, content, str))
    return replace(item, parts=parts)
