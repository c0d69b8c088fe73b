"""The preset `langchain-clear` beside LangChain's own ClearToolUsesEdit, in an agent that LangChain runs."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from frameworks import langchain_run
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain_core.messages import BaseMessage
from peers.history import TURNS, Cuts, cut_by, cut_in, measured, tokens

from refold.lab.peers import langchain_clear
from refold.reducer.how import Placeholder
from refold.reducer.presets import none


def counted(messages: Sequence[BaseMessage]) -> int:
    """A message's texts by the meter that refold measures with, so that both see the trigger at the same call."""
    return sum(map(_counted, messages))


def _counted(message: BaseMessage) -> int:
    calls = getattr(message, "tool_calls", ())
    return tokens(message.text) + sum(tokens(call["name"]) + tokens(json.dumps(call["args"])) for call in calls)


def cut_by_langchain(**settings: Any) -> Cuts:
    edits = [ClearToolUsesEdit(**settings)]
    sent = langchain_run.run(lambda: ContextEditingMiddleware(edits=edits, token_counter=counted), 0, TURNS)
    return cut_in(call.texts for call in sent)


AT_A_CALL = measured(none())[40]


@pytest.mark.parametrize(
    "settings",
    [
        {"trigger": 20_000},
        {"trigger": AT_A_CALL},
        {"trigger": AT_A_CALL - 1},
        {"trigger": 60_000, "keep": 10},
        {"trigger": 20_000, "clear_at_least": 8_000},
        {"trigger": 0, "clear_at_least": 500},
    ],
)
def test_the_preset_clears_what_langchain_clears_at_the_same_calls(settings: dict[str, int]) -> None:
    cut = cut_by_langchain(**settings)
    assert cut[-1], "something was cleared"
    assert cut_by(langchain_clear(**settings)) == cut


def test_the_defaults_are_langchains() -> None:
    edit = ClearToolUsesEdit()
    assert langchain_clear() == langchain_clear(edit.trigger, edit.keep, edit.clear_at_least)
    assert langchain_clear().parts[0].how == Placeholder(edit.placeholder)
