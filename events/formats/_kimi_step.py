"""A step of Kimi's wire while it runs: parts, calls and results come interleaved, and are written down when it ends."""

import msgspec

from refold.events._blocks import Block, ToolUse
from refold.events._events import Usage
from refold.events.formats._journal import Journal


class Call(msgspec.Struct):
    time: int
    id: str
    name: str
    arguments: str


class Result(msgspec.Struct):
    time: int
    call_id: str
    content: tuple[Block, ...]
    is_error: bool


class Step(msgspec.Struct):
    """`content` holds a Call where the model asked for one, so that late argument parts still reach it."""

    begun: int
    content: list[Block | Call] = []
    results: list[Result] = []
    usage: Usage | None = None
    ended: int = 0

    def write(self, journal: Journal, model: str) -> None:
        """The whole step in the journal. A step that was cut off before a word was said has no answer."""
        journal.request(self.begun)
        calls = [part for part in self.content if isinstance(part, Call)]
        if self.content or self.usage:
            time = self.ended or max((part.time for part in calls), default=self.begun)
            answer = tuple(
                ToolUse(part.id, part.name, part.arguments) if isinstance(part, Call) else part for part in self.content
            )
            journal.answer(time, answer, usage=self.usage, model=model)
        else:
            journal.note("a step has no answer")
        for call in calls:
            journal.call(call.time, call.id, call.name, call.arguments)
        for result in self.results:
            journal.result(result.time, result.call_id, result.content, is_error=result.is_error)
        journal.end_step(max(self.ended, journal.time))
