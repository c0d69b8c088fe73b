"""The preset `pydantic-clear` beside the harness's own ClearToolResults, in an agent that pydantic-ai runs."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from frameworks import pydantic_ai_run as host
from frameworks.session import DONE, asked, prompt
from peers.history import TOOL, TURNS, Cuts, arguments, cut_by, cut_in, measured, tokens
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits
from pydantic_ai_harness.compaction import ClearToolResults

from refold.lab.peers import pydantic_clear
from refold.reducer.how import Placeholder
from refold.reducer.presets import none


def counted(message: ModelMessage) -> int:
    """A message's texts by the meter that refold measures with."""
    return sum(
        tokens(part.tool_name) + tokens(str(part.args)) if isinstance(part, ToolCallPart) else tokens(host.text(part))
        for part in message.parts
    )


class Model:
    """A turn's answers; each reports what was really sent, as a provider would."""

    def __init__(self, turn: int) -> None:
        calls = (ModelResponse([ToolCallPart(TOOL, arguments(number), f"call-{number}")]) for number in asked(turn))
        self.left = iter([*calls, ModelResponse([TextPart(DONE)])])

    def __call__(self, messages: list[ModelMessage], info: Any) -> ModelResponse:
        answer = next(self.left)
        usage = RequestUsage(input_tokens=sum(map(counted, messages)), output_tokens=counted(answer))
        return replace(answer, usage=usage)


def cut_by_the_harness(**settings: Any) -> Cuts:
    timed = host.Timed(ClearToolResults(tokenizer=tokens, **settings))
    messages: list[ModelMessage] = []
    for turn in range(TURNS):
        agent = Agent(FunctionModel(Model(turn)), tools=[host.read_file], capabilities=[timed])
        run = agent.run(prompt(turn), message_history=messages, usage_limits=UsageLimits(request_limit=None))
        messages = asyncio.run(run).all_messages()
    return cut_in(call.texts for call in timed.sent)


AT_A_CALL = measured(none())[40]


@pytest.mark.parametrize(
    "settings",
    [
        {"max_tokens": 20_000},
        {"max_tokens": AT_A_CALL},
        {"max_tokens": AT_A_CALL - 1},
        {"max_tokens": 30_000, "keep_pairs": 10},
        {"max_tokens": 5_000, "min_clear_tokens": 4_000},
    ],
)
def test_the_preset_clears_what_the_harness_clears_at_the_same_calls(settings: dict[str, int]) -> None:
    cut = cut_by_the_harness(**settings)
    assert cut[-1], "something was cleared"
    assert cut_by(pydantic_clear(**settings)) == cut


def test_the_defaults_are_the_harness_own() -> None:
    real = ClearToolResults(max_tokens=100_000)
    assert pydantic_clear() == pydantic_clear(keep_pairs=real.keep_pairs)
    assert pydantic_clear().parts[0].how == Placeholder(real.placeholder)
