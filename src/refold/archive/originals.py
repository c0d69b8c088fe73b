"""The original tool results of a session, straight from its log: what each tool gave back, before anyone cut it."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from refold.events import AssistantMessage, Event, Text, ToolCall, ToolResult
from refold.reducer._calls import Calls, answered, asked, started, without
from refold.reducer._receipt import Origin


class Original(msgspec.Struct, frozen=True):
    """A tool result as it was first logged, with the tool/call it answers, None where no such event is known."""

    origin: Origin
    result: ToolResult
    call: ToolCall | None = None

    @property
    def text(self) -> str:
        """The text blocks, joined by nothing."""
        return "".join(block.text for block in self.result.content if isinstance(block, Text))


class Walk(msgspec.Struct, frozen=True):
    """What must be known of a log so far to tell where its next result comes from."""

    calls: Calls = ()
    turn: int = -1
    step: int = -1
    results: int = 0

    def origin(self, result: ToolResult) -> Origin:
        """Where a result comes from that is the next to be logged."""
        call = answered(self.calls, result)
        before = self.results if (self.turn, self.step) == (result.turn, result.step) else 0
        tool, arguments = (call.name, call.arguments) if call else ("", "")
        return Origin(result.turn, result.step, before + 1, tool, result.call_id, arguments)

    def after(self, event: Event) -> "Walk":
        """The walk one event further."""
        if isinstance(event, ToolResult) and event.replaces is None:
            rest = without(self.calls, answered(self.calls, event))
            return Walk(rest, event.turn, event.step, self.origin(event).place)
        if isinstance(event, AssistantMessage):
            return replace(self, calls=asked(event))
        return replace(self, calls=started(self.calls, event)) if isinstance(event, ToolCall) else self


def originals(events: Iterable[Event]) -> Iterator[Original]:
    """Every tool result that was appended, in log order. Replacements, the work of cutters, are passed over."""
    walk = Walk()
    calls: dict[int, ToolCall] = {}
    for event in events:
        if isinstance(event, ToolResult) and event.replaces is None:
            call = answered(walk.calls, event)
            yield Original(walk.origin(event), event, calls.pop(call.seq, None) if call else None)
        elif isinstance(event, ToolCall):
            calls[event.seq] = event
        elif isinstance(event, AssistantMessage):
            calls.clear()
        walk = walk.after(event)
