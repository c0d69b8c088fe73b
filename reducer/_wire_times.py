"""When an entry of the outgoing copy changes, told from the view alone, and told the same for ever after.

Requests are numbered by the step/starts before them, their own included. An answer or result that was born when `n`
had been counted is first sent by request n+1. Each rule is the number of the first request that shows the entry
shaped; since it names a moment and no age, it never moves once it is past. What counts later entries counts those too
that have left the surface: of an empty slot nobody can say what stood there, so each counts as an entry, and the count
never falls. A tool loop starts at the first request of a turn that a user message opened.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

from refold.events import AssistantMessage, ToolResult, ToolUse, UserMessage
from refold.reducer import _surface as surface
from refold.reducer._view import Node, View

NEVER: Final = 1 << 62


class Times:
    """The living nodes of a view in order, and when each of them was born, by request number.

    `now` is the number of the request that the view stands before or in; `births[i]` the count when node i's bytes
    were born, those of its original where it was rewritten; `loops[i]` the tool loop it belongs to, `starts` the
    number of each loop's first request.
    """

    def __init__(self, view: View) -> None:
        slots, nodes = zip(*surface.nodes(view), strict=True) if view.alive else ((), ())
        self.nodes: tuple[Node, ...] = nodes
        self.now = view.steps + (not view.step_open)
        self.births = _births(nodes)
        self.loops, self.starts = _loops(nodes, self.births, view.turn, self.now)
        self._slots: tuple[int, ...] = slots
        self._end = len(view.slots)
        # What was replaced may have been an entry. A result only ever replaces a result.
        self._moved = [
            view.births[slot] != node.seq and not isinstance(node.message, ToolResult)
            for slot, node in zip(slots, nodes, strict=True)
        ]

    def later(self, counts: Sequence[bool]) -> Callable[[int, int], int]:
        """A function of place and k: the first request that the k-th later entry was there for.

        `counts[i]` says that node i is one. An empty slot's was there before the next node whose birth is known: an
        answer to, or a message in, the request of its own number.
        """
        latest, bounds = NEVER, []
        for node, birth, moved in zip(*map(reversed, (self.nodes, self.births, self._moved)), strict=True):
            if not moved:
                latest = min(latest, birth + isinstance(node.message, ToolResult))
            bounds.append(min(latest, self.now))
        bounds.reverse()
        upto: list[int] = []
        since: list[int] = []
        seen: list[int] = []
        total = previous = 0
        for place, slot in enumerate(self._slots):
            total = self._note(upto, since, total, slot - previous, bounds[place])
            if self._moved[place]:
                total = self._note(upto, since, total, 1, bounds[place])
            elif counts[place]:
                total = self._note(upto, since, total, 1, self.births[place] + 1)
            seen.append(total)
            previous = slot + 1
        self._note(upto, since, total, self._end - previous, self.now)

        def when(place: int, count: int) -> int:
            found = bisect_left(upto, seen[place] + count)
            return since[found] if found < len(upto) else NEVER

        return when

    @staticmethod
    def _note(upto: list[int], since: list[int], total: int, more: int, when: int) -> int:
        if more:
            upto.append(total + more)
            since.append(when)
        return total + more

    def at_a_loop(self, place: int, when: int) -> int:
        """The first request of a loop after the node's own that is no earlier than `when`."""
        first = bisect_left(self.starts, when, self.loops[place] + 1)
        return self.starts[first] if first < len(self.starts) else NEVER


def _births(nodes: Sequence[Node]) -> list[int]:
    births, answered = [], 0
    for node in nodes:
        if isinstance(node.message, AssistantMessage):
            answered = node.steps
        births.append(answered if node.rewritten else node.steps)
    return births


def _loops(nodes: Sequence[Node], births: Sequence[int], turn_now: int, now: int) -> tuple[list[int], list[int]]:
    """The loop of each node, and each loop's first request: it begins with what the user said for that turn."""
    loops = [-1] * len(nodes)
    starts: list[int] = []
    turn, asked = -1, -1

    def begin(first_request: int) -> None:
        loops[asked:] = [len(starts)] * (len(nodes) - asked)
        starts.append(max(first_request, starts[-1] if starts else 0))

    for place, node in enumerate(nodes):
        message = node.message
        if isinstance(message, UserMessage):
            if asked < 0 or births[place] != births[asked]:
                asked = place
        elif isinstance(message, AssistantMessage | ToolResult):
            if asked >= 0 and message.turn > turn and isinstance(message, AssistantMessage):
                begin(node.steps)
            turn, asked = max(turn, message.turn), -1
    if asked >= 0 and turn_now > turn:
        begin(now)
    return loops, starts


def span_starts(nodes: Sequence[Node]) -> list[int]:
    """For each node the place where its span begins: an answer that calls tools takes the results behind it along."""
    starts: list[int] = []
    open_span = -1
    for place, node in enumerate(nodes):
        if not (isinstance(node.message, ToolResult) and open_span >= 0):
            calls = any(type(block) is ToolUse for block in node.content)
            open_span = place if isinstance(node.message, AssistantMessage) and calls else -1
            starts.append(place)
        else:
            starts.append(open_span)
    return starts
