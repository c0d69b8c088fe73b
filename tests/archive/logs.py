"""Sessions as a harness logs them, built event by event."""

import json
from typing import Any

from refold.archive import Receipts, Rules
from refold.events import (
    AssistantMessage,
    Block,
    Event,
    StepEnd,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    ToolUse,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from refold.prompt import rendered_block
from refold.reducer import Dsh, Policy, Reducer, View, presets

HOUR = 3_600_000


class Log:
    """A growing log. Its clock starts at 1970-01-01T01:00 and moves one second an event."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.turn_number = self.step_number = 0

    @property
    def at(self) -> tuple[int, int]:
        return len(self.events), HOUR + 1000 * len(self.events)

    def turn(self) -> None:
        if self.turn_number:
            self.end_turn()
        self.turn_number, self.step_number = self.turn_number + 1, 0
        self.events.append(TurnStart(*self.at, self.turn_number))

    def end_turn(self) -> None:
        if not isinstance(self.events[-1], TurnEnd):
            self.end_step()
            self.events.append(TurnEnd(*self.at, self.turn_number))

    def step(self, *calls: tuple[str, str, str]) -> None:
        """A step whose answer makes the calls, each (tool, arguments as JSON, call id)."""
        self.end_step()
        self.step_number += 1
        self.events.append(StepStart(*self.at, self.turn_number, self.step_number))
        if self.step_number == 1:
            self.events.append(UserMessage(*self.at, (Text("go on"),)))
        uses = tuple(ToolUse(call_id, tool, arguments) for tool, arguments, call_id in calls)
        self.events.append(AssistantMessage(*self.at, uses, self.turn_number, self.step_number))
        for tool, arguments, call_id in calls:
            place = (self.turn_number, self.step_number)
            self.events.append(ToolCall(*self.at, *place, call_id, tool, arguments))

    def end_step(self) -> None:
        if self.step_number and not isinstance(self.events[-1], StepEnd | TurnStart):
            self.events.append(StepEnd(*self.at, self.turn_number, self.step_number))

    def next_result(self, content: str | tuple[Block, ...], call_id: str, is_error: bool = False) -> ToolResult:
        """The result that a call would get next; it is not logged."""
        blocks = (Text(content),) if isinstance(content, str) else content
        return ToolResult(*self.at, blocks, self.turn_number, self.step_number, call_id, is_error)

    def result(self, content: str | tuple[Block, ...], call_id: str, is_error: bool = False) -> ToolResult:
        self.events.append(self.next_result(content, call_id, is_error))
        return self.events[-1]  # type: ignore[return-value]

    def called(self, tool: str, content: str | tuple[Block, ...], call_id: str = "c", **arguments: Any) -> ToolResult:
        """One step with one call and its result."""
        self.step((tool, json.dumps(arguments, ensure_ascii=False), call_id))
        return self.result(content, call_id)

    def view(self, policy: Policy | None = None) -> View:
        reducer = self.reducer(policy)
        return reducer.fold_all(reducer.start(), self.events)

    def reducer(self, policy: Policy | None = None) -> Reducer:
        return Reducer(policy or presets.none(), Dsh(4))

    def receipts(self, rules: Rules) -> Receipts:
        receipts = Receipts()
        for event in self.events:
            receipts = receipts.fold(event, rules)
        return receipts


def dsh_lines(events: list[Event]) -> bytes:
    """The events as a DSH log of format V4, as much of it as these sessions need."""
    header = {"type": "session", "version": 4, "id": "s-1", "createdAt": 0, "isSeeded": False, "delegationDepth": 0}
    rows = [header, *map(_row, events)]
    return b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n" for row in rows)


def _row(event: Event) -> dict[str, Any]:
    data: dict[str, Any] = {"turn": getattr(event, "turn", None), "step": getattr(event, "step", None)}
    row: dict[str, Any] = {"type": event.type, "seq": event.seq, "time": event.time, "data": data}
    if isinstance(event, TurnStart | TurnEnd):
        row["data"] = {"turn": event.turn}
    if isinstance(event, TurnEnd):
        row["data"]["reason"] = {"kind": "completed"}
    if isinstance(event, ToolCall):
        data |= {"callId": event.call_id, "name": event.name, "arguments": event.arguments}
    if not isinstance(event, UserMessage | AssistantMessage | ToolResult):
        return row
    content = [rendered_block(block) for block in event.content]
    row["surfaceOp"] = "append"
    message: dict[str, Any] = {"id": f"m{event.seq}", "role": event.role, "content": content}
    if isinstance(event, UserMessage):
        row["data"] = {**message, "source": {"kind": "user"}}
    elif isinstance(event, AssistantMessage):
        data |= {"message": {**message, "source": {"kind": "model", "provider": "p", "model": "m"}}, "stream": []}
    else:
        source = {"kind": "tool", "callId": event.call_id}
        data["message"] = {**message, "toolCallId": event.call_id, "source": source}
        if event.is_error:
            data["message"]["isError"] = True
    return row
