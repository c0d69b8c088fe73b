"""The preset `openai-trim` beside the OpenAI Agents SDK's own ToolOutputTrimmer, in runs of the SDK."""

from typing import Any

import pytest
from agents.extensions import ToolOutputTrimmer
from agents.run_config import CallModelData, ModelInputData
from frameworks import openai_agents_run
from frameworks.session import content
from peers.history import TURNS, cut_by, cut_in

from refold.lab.peers import openai_trim


@pytest.mark.parametrize(
    "settings", [{}, {"recent_turns": 1}, {"recent_turns": 3}, {"max_output_chars": 1_000}, {"max_output_chars": 2_999}]
)
def test_the_preset_trims_what_the_sdk_trims_at_the_same_calls(settings: dict[str, int]) -> None:
    sent = openai_agents_run.run(lambda: ToolOutputTrimmer(**settings), 0, TURNS)
    cut = cut_in(call.texts for call in sent)
    assert cut[-1], "something was trimmed"
    assert cut_by(openai_trim(**settings)) == cut


def test_the_defaults_are_the_sdks() -> None:
    real = ToolOutputTrimmer()
    assert openai_trim() == openai_trim(real.recent_turns, real.max_output_chars, real.preview_chars)


def test_a_user_message_in_the_middle_of_a_turn_counts_for_the_sdk() -> None:
    said = [
        {"role": "user", "content": "Read it."},
        openai_agents_run.native("call", 1),
        openai_agents_run.native("result", 1),
        {"role": "user", "content": "And quickly."},
        {"role": "user", "content": "Please."},
    ]
    data: Any = CallModelData(ModelInputData(said, None), None, None)  # type: ignore[arg-type]
    assert ToolOutputTrimmer()(data).input[2]["output"] != content(1)
