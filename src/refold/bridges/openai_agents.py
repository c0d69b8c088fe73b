"""refold in the OpenAI Agents SDK: `RunConfig(call_model_input_filter=InputFilter(policy))`.

The run's items stay as they were; the model is sent what the policy leaves of them. Needs `refold[openai-agents]`.
"""

from collections.abc import Sequence
from operator import eq
from typing import Any

import msgspec
from agents.run_config import CallModelData, ModelInputData

from refold.bridges.history import UNKNOWN, History, change_json, read_each, refuse, tell, unknown
from refold.events import Opaque
from refold.events.formats import openai_responses
from refold.events.formats._conversation import Conversation
from refold.events.formats._fields import compact
from refold.events.formats._messages import Message
from refold.reducer import Meter, Policy

_KNOWN = ("message", "reasoning", "compaction", "item_reference", "mcp_list_tools", "mcp_approval_request")
_KNOWN_ENDS = ("_call", "_call_output")


class InputFilter:
    """Shapes each model call. What is cut is what a `derive` fold of the run's items cuts, in any process.

    Instructions and tools are no items and are not measured. Items of a type that refold does not know are sent as they
    are. The history must be the client's: with `conversation_id`
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
    found: list[Message] = []
    for message in read_each(items, known, _read):
        said = found[-1] if found and found[-1].role == "assistant" else None
        if said is not None and (message.role == "assistant" or message.source == UNKNOWN):
            # The items of one answer are one message; nothing unknown makes two model calls of it.
            found[-1] = msgspec.structs.replace(said, content=said.content + message.content)
        else:
            found.append(message)
    tell(told, found, known)


def _read(item: Any) -> list[Message]:
    kind = item.get("type") or "message"
    if kind in _KNOWN or kind.endswith(_KNOWN_ENDS):
        return openai_responses.messages([item], (), refuse)
    return [unknown((Opaque(compact(item)),))]
