"""OpenHands V1, the SDK's conversations: one event a file, and the agent's state beside them.

A step is one distinct `llm_response_id`. Its actions that follow one another are one message, as the SDK puts them into
the prompt (`events_to_messages`); one that comes later, behind a result or another answer, is a message of its own.
Usage and context window stand in `base_state.json` by response id, where that file is there, and count once. A changed
system prompt is a new request header.
"""

from collections import deque
from typing import Any

from refold.events._blocks import Block, Opaque, Reasoning, Text
from refold.events._errors import FormatError
from refold.events._events import Usage
from refold.events.formats._falls import falls
from refold.events.formats._fields import (
    Object,
    array,
    blocks,
    compact,
    millis,
    number,
    obj,
    objects,
    result_blocks,
    text,
    tokens,
    tool_uses,
    usage,
)
from refold.events.formats._journal import Journal
from refold.events.formats._lines import records
from refold.events.formats._openhands_parts import forget
from refold.events.formats._source import Session, Source
from refold.events.formats._tree import natural

SPOKEN = ("MessageEvent", "ObservationEvent", "AgentErrorEvent", "UserRejectObservation")  # between two messages
EVENT_FOLDER = "events/"
STATE = "base_state.json"


def is_v1_event(event: Object) -> bool:
    return isinstance(event.get("kind"), str) and "timestamp" in event and "source" in event


def is_v1_tree(document: Any) -> bool:
    return any(path.startswith(EVENT_FOLDER) and is_v1_event(obj(event)) for path, event in obj(document).items())


def read_v1(source: Source) -> tuple[Session, ...]:
    events, state, damage = _events(source)
    reader = V1Conversation(events, state)
    for problem in damage:
        reader.journal.damaged(problem)
    for event in events:
        reader.event(event)
    for fall in falls(reader.journal.events):
        reader.journal.note(fall)
    return (reader.journal.session(text(state.get("id")) or source.name),)


def _events(source: Source) -> tuple[list[Object], Object, list[str]]:
    """The events in order, the state ({} where there is none), and what could not be read."""
    try:
        document = source.document()
    except FormatError:
        lines, damage = records(source)
        return [event for _, event in lines], {}, damage
    state: Object = {}
    if is_v1_tree(document):
        paths = sorted((path for path in document if path.startswith(EVENT_FOLDER)), key=natural)
        found = [(path, document[path]) for path in paths]
        state = obj(document.get(STATE))
    else:
        rows = document if isinstance(document, list) else [document]
        found = [(f"event {place}", row) for place, row in enumerate(rows)]
    damage = [f"{path} is no event; it is left out" for path, row in found if not isinstance(row, dict)]
    return [row for _, row in found if isinstance(row, dict)], state, damage


class V1Conversation:
    """Tells events one by one; those of one answer must all be expected before the first of them is told."""

    def __init__(self, events: list[Object], state: Object) -> None:
        self.journal = Journal()
        self.together: deque[list[Object] | None] = deque()  # for each action to come: its message's, None if not first
        self.newest: list[Object] = []
        self.expect(events)
        self.usages = dict(_usages(state))
        model = obj(obj(state.get("agent")).get("llm"))
        self.model = text(model.get("model"))
        window = number(model.get("max_input_tokens"))
        self.journal.context(model=self.model, context_window=window or None)
        self.answered: set[str] = set()
        self.open = ""  # the response of the newest step

    def expect(self, events: list[Object]) -> None:
        for event in events:
            if event.get("kind") in SPOKEN:
                self.newest = []
            elif event.get("kind") == "ActionEvent":
                response = text(event.get("llm_response_id"))
                if self.newest and response and text(self.newest[0].get("llm_response_id")) == response:
                    self.newest.append(event)
                    self.together.append(None)
                else:
                    self.newest = [event]
                    self.together.append(self.newest)

    def event(self, event: Object) -> None:
        time, key, journal = millis(event.get("timestamp")), text(event.get("id")), self.journal
        call_id = text(event.get("tool_call_id"))
        match event.get("kind"):
            case "SystemPromptEvent" | "SystemPromptUpdateEvent":
                self._system(event)
            case "MessageEvent":
                self._message(time, event, key)
            case "ActionEvent":
                self._action(time, event, key, call_id)
            case "ObservationEvent":
                seen = obj(event.get("observation"))
                content = (*_result(seen), *blocks(event.get("extended_content")))
                journal.result(time, call_id, content, is_error=seen.get("is_error") is True, key=key)
            case "AgentErrorEvent":
                journal.result(time, call_id, (Text(text(event.get("error"))),), is_error=True, key=key)
            case "UserRejectObservation":
                said = f"Action rejected: {text(event.get('rejection_reason'))}"
                journal.result(time, call_id, (Text(said),), is_error=True, key=key)
            case "Condensation":
                gone = set(map(text, array(event.get("forgotten_event_ids"))))
                journal.end_step(time)
                forget(journal, time, lambda node: node.key in gone, text(event.get("summary")), f"{key}-summary")
            case other:
                journal.other(time, text(other) or compact(other))

    def _system(self, event: Object) -> None:
        said = [text(obj(event.get(part)).get("text")) for part in ("system_prompt", "dynamic_context")]
        if any(said):
            self.journal.header(system="\n\n".join(part for part in said if part))
        if array(event.get("tools")):
            self.journal.header(tools=compact(event["tools"]))

    def _message(self, time: int, event: Object, key: str) -> None:
        message = obj(event.get("llm_message"))
        content = (*_spoken(message), *blocks(event.get("extended_content")))
        response = event.get("llm_response_id")
        if isinstance(response, str) or message.get("role") == "assistant":
            self._answer(time, text(response), (*content, *tool_uses(message.get("tool_calls"))), key)
        elif event.get("source") == "user":
            self.journal.prompt(time, content, key)
        else:
            self.journal.user(time, content, text(event.get("source")) or "openhands", key)

    def _action(self, time: int, event: Object, key: str, call_id: str) -> None:
        together = self.together.popleft()
        if together is not None:
            calls = tool_uses([action.get("tool_call") for action in together])
            self._answer(time, text(event.get("llm_response_id")), (*_thoughts(event), *calls), key)
        asked = obj(event.get("tool_call"))
        self.journal.call(time, call_id, text(event.get("tool_name")), text(asked.get("arguments")))

    def _answer(self, time: int, response: str, content: tuple[Block, ...], key: str) -> None:
        spent, window = (None, 0) if response in self.answered else self.usages.get(response, (None, 0))
        if window:
            self.journal.context(context_window=window)
        if not (response and response == self.open and self.journal.in_step):
            self.journal.request(time)
        self.open = response
        self.answered.add(response)
        self.journal.answer(time, content, usage=spent, model=self.model, key=key)


def _usages(state: Object) -> list[tuple[str, tuple[Usage | None, int]]]:
    """Usage and context window by response id; the cached tokens are part of `prompt_tokens`."""
    found = []
    for metrics in obj(obj(state.get("stats")).get("usage_to_metrics")).values():
        for report in objects(obj(metrics).get("token_usages")):
            read, write = tokens(report.get("cache_read_tokens")), tokens(report.get("cache_write_tokens"))
            fresh = tokens(report.get("prompt_tokens")) - read - write
            spent = usage(fresh, report.get("completion_tokens"), read, write)
            found.append((text(report.get("response_id")), (spent, number(report.get("context_window")))))
    return found


def _spoken(message: Object) -> tuple[Block, ...]:
    return (*_thinking(message), *blocks(message.get("content")))


def _thoughts(event: Object) -> tuple[Block, ...]:
    return (*_thinking(event), *blocks(event.get("thought")))


def _thinking(record: Object) -> tuple[Block, ...]:
    found: list[Block] = []
    for block in objects(record.get("thinking_blocks")):
        if block.get("type") == "thinking":
            found.append(Reasoning(text(block.get("thinking")), text(block.get("signature"))))
        else:
            found.append(Opaque(compact(block)))
    spoken = text(record.get("reasoning_content"))
    if spoken and not found:
        found.append(Reasoning(spoken))
    return tuple(found)


def _result(seen: Object) -> tuple[Block, ...]:
    """The observation's content; a kind without content is shown as the fields it has."""
    if "content" in seen:
        return result_blocks(seen["content"])
    return (Text(compact({key: value for key, value in seen.items() if key != "kind"})),)
