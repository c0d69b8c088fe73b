"""Small sessions for tests, in DSH's order of events."""

from typing import Any

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


class Script:
    """Events in order: each method appends one, with the next seq, and gives its seq."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.turn = self.step = self._next = 0

    def add(self, kind: type[Event], *args: Any, **fields: Any) -> int:
        event = kind(self._next, 1_000 * (self._next + 1), *args, **fields)
        self.events.append(event)
        self._next += event.width
        return event.seq

    def start_turn(self) -> int:
        self.turn, self.step = self.turn + 1, 0
        return self.add(TurnStart, self.turn)

    def end_turn(self, reason: str = "completed") -> int:
        return self.add(TurnEnd, self.turn, reason)

    def start_step(self) -> int:
        self.step += 1
        return self.add(StepStart, self.turn, self.step)

    def end_step(self) -> int:
        return self.add(StepEnd, self.turn, self.step)

    def user(self, text: str = "go on", **fields: Any) -> int:
        return self.add(UserMessage, (Text(text),), **fields)

    def answer(self, *blocks: Block, **fields: Any) -> int:
        return self.add(AssistantMessage, blocks, self.turn, self.step, **fields)

    def call(self, name: str, call_id: str, arguments: str = "{}") -> int:
        return self.add(ToolCall, self.turn, self.step, call_id, name, arguments)

    def result(self, text: str | tuple[Block, ...], call_id: str, cites: int | None, **fields: Any) -> int:
        content = (Text(text),) if isinstance(text, str) else text
        sources = None if cites is None else (cites,)
        return self.add(ToolResult, content, self.turn, self.step, call_id, sources=sources, **fields)

    def tool_step(self, *texts: str, tool: str = "read", **fields: Any) -> list[int]:
        """A whole step whose answer calls `tool` once for each text; gives the results' seqs."""
        self.start_step()
        ids = [f"call-{self._next}-{place}" for place in range(len(texts))]
        self.answer(*(ToolUse(call_id, tool, "{}") for call_id in ids))
        seqs = []
        for call_id, text in zip(ids, texts, strict=True):
            seqs.append(self.result(text, call_id, self.call(tool, call_id), **fields))
        self.end_step()
        return seqs

    def plain_step(self) -> None:
        """A whole step whose answer calls nothing."""
        self.start_step()
        self.answer(Text("thinking"))
        self.end_step()
