"""The session in pydantic-ai, with the harness's capabilities."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from frameworks.session import DONE, POLICIES, Sent, asked, content, history, prompt
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits
from pydantic_ai_harness.compaction import ClearToolResults

from refold.bridges.pydantic_ai import Refold

CONTENDERS: dict[str, Any] = {
    "nothing": AbstractCapability,
    "ClearToolResults": lambda: ClearToolResults(max_tokens=100_000),
    **{name: lambda policy=policy: Refold(policy) for name, policy in POLICIES.items()},
}


# With a limit that is always passed something is cleared at every call, not now and then.
DUE: dict[str, Any] = {"ClearToolResults": lambda: ClearToolResults(max_tokens=1)}


class Timed(AbstractCapability[Any]):
    def __init__(self, inner: AbstractCapability[Any]) -> None:
        self.inner, self.sent = inner, list[Sent]()

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        started = time.process_time()
        shaped = await self.inner.before_model_request(ctx, request_context)
        seconds = time.process_time() - started
        self.sent.append(Sent([text(part) for message in shaped.messages for part in message.parts], seconds))
        return shaped


def text(part: Any) -> str:
    return str(part.args) if isinstance(part, ToolCallPart) else part.content


def call(number: int) -> ModelResponse:
    return ModelResponse([ToolCallPart("read_file", {"number": number}, f"call-{number}")])


class Answers:
    """A turn's answers. Each reports a token for four characters, as a provider would, and saves the model counting."""

    def __init__(self, turn: int) -> None:
        self.left = iter([*map(call, asked(turn)), ModelResponse([TextPart(DONE)])])

    def __call__(self, messages: list[ModelMessage], info: Any) -> ModelResponse:
        sent = sum(len(text(part)) for message in messages for part in message.parts)
        return replace(next(self.left), usage=RequestUsage(input_tokens=sent // 4, output_tokens=10))


def read_file(number: int) -> str:
    """Read a file."""
    return content(number)


def run(make: Callable[[], Any], before: int, turns: int) -> list[Sent]:
    """The model calls of so many turns, behind the history of those before."""
    timed = Timed(make())
    messages: list[ModelMessage] = [native(*said) for said in history(before)]
    for turn in range(before, before + turns):
        answers = iter([*map(call, asked(turn)), ModelResponse([TextPart(DONE)], usage=RequestUsage(output_tokens=1))])
        agent = Agent(
            FunctionModel(lambda messages, info, left=answers: next(left)), tools=[read_file], capabilities=[timed]
        )
        result = agent.run_sync(prompt(turn), message_history=messages, usage_limits=UsageLimits(request_limit=None))
        messages = result.all_messages()
    return timed.sent


def native(kind: str, number: int) -> ModelMessage:
    match kind:
        case "prompt":
            return ModelRequest.user_text_prompt(prompt(number))
        case "call":
            return call(number)
        case "result":
            return ModelRequest([ToolReturnPart("read_file", content(number), f"call-{number}")])
    return ModelResponse([TextPart(DONE)])
