"""refold in the OpenHands SDK: `Agent(..., condenser=RefoldCondenser(policy=policy))`.

The conversation's events stay as they were, and no condensation is written; the model is sent what the policy leaves
of the observations. Needs `refold[openhands]`.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from openhands.sdk.context.condenser.base import PipelinableCondenserBase
from openhands.sdk.context.view import View
from openhands.sdk.event import ObservationEvent
from openhands.sdk.event.condenser import CondensationSummaryEvent
from openhands.sdk.llm import LLM, TextContent
from pydantic import PlainSerializer, PlainValidator, PrivateAttr

from refold.bridges.history import History
from refold.events import Block, Text, ToolResult
from refold.events.formats._fields import blocks, millis
from refold.events.formats._messages import Path, native
from refold.events.formats._openhands_v1 import V1Conversation
from refold.reducer import Counted, Meter, Policy

AsJson = PlainSerializer(msgspec.to_builtins)


class RefoldCondenser(PipelinableCondenserBase):
    """Shapes each model call. What is cut is what a `derive` fold of the conversation's events cuts, in any process.

    Errors and rejections are left whole. Behind a condenser that forgets events, what it keeps is the history. Raises
    PolicyError for a policy or meter that needs usage or a context window.
    """

    policy: Annotated[Policy, PlainValidator(lambda given: msgspec.convert(given, Policy)), AsJson]
    meter: Annotated[Meter, PlainValidator(lambda given: msgspec.convert(given, Meter)), AsJson] = Counted()
    _history: History = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        self._history = History(self.policy, self.meter, _tell, _change, frozenset({"times"}), start=_Told)

    def condense(self, view: View, agent_llm: LLM | None = None) -> View:
        return view.model_copy(update={"events": self._history.shown(view.events)})


class _Told:
    def __init__(self) -> None:
        self.reader = V1Conversation([], {})
        self.journal = self.reader.journal
        self.origins: dict[int, Path] = {}

    def settle(self) -> None:
        pass

    def open_step(self) -> None:
        self.journal.request(self.journal.time)


def _tell(told: _Told, events: Sequence[Any], known: int) -> None:
    new = [event.model_dump(mode="json") for event in events[known:]]
    told.reader.expect(new)
    for place, event in enumerate(new, known):
        before = len(told.journal.events)
        if isinstance(events[place], CondensationSummaryEvent):
            told.journal.user(millis(event["timestamp"]), (Text(event["summary"]),), "condensation")
        else:
            told.reader.event(event)
        for written in told.journal.events[before:]:
            if isinstance(written, ToolResult):
                told.origins[written.seq] = (place,)


def _change(event: Any, path: Path, content: Sequence[Block]) -> Any:
    if not isinstance(event, ObservationEvent):
        return event
    old = [*event.observation.content, *event.extended_content]
    before = blocks([part.model_dump(mode="json") for part in old])
    said = native(old, before, content, lambda text: TextContent(text=text))
    shown = event.observation.model_copy(update={"content": said})
    return event.model_copy(update={"observation": shown, "extended_content": []})
