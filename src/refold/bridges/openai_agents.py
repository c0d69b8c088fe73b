"""refold in the OpenAI Agents SDK: `RunConfig(call_model_input_filter=InputFilter(policy))`.

The run's items stay as they were; the model is sent what the policy leaves of them. Needs `refold[openai-agents]`.
"""

from collections.abc import Sequence
from operator import eq
from typing import Any

from agents.run_config import CallModelData, ModelInputData

from refold.bridges.history import History, change_json, refuse, tell
from refold.events.formats import openai_responses
from refold.events.formats._conversation import Conversation
from refold.reducer import Meter, Policy


class InputFilter:
    """Shapes each model call. What is cut is what a `derive` fold of the run's items cuts, in any process.

    Instructions and tools are no items and are not measured. The history must be the client's: with `conversation_id`
    or `previous_response_id` the server keeps it, and a call raises FormatError, as its results have no calls. Raises
    PolicyError for a policy or meter that needs usage, times or a context window.
    """

    def __init__(self, policy: Policy, meter: Meter | None = None) -> None:
        # The SDK makes the items anew for each call, so they are the same by what they hold.
        self._history = History(policy, meter, _tell, change_json, same=eq)

    def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        return ModelInputData(input=self._history.shown(given.input), instructions=given.instructions)


def _tell(told: Conversation, items: Sequence[Any], known: int) -> None:
    tell(told, openai_responses.messages(list(items[known:]), (), refuse), known)
