"""Writing down a foreign session in the order of DSH's log: turns around prompts, steps around model calls.

A reader tells what happened; the journal numbers it, opens and closes turns and steps, joins results to the calls
they answer, and mirrors the surface, so that a reset can name what it drops.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import msgspec

from refold.events._blocks import Block, ToolUse
from refold.events._errors import FormatError
from refold.events._events import (
    AssistantMessage,
    DeveloperMessage,
    EndSeed,
    Event,
    Other,
    RequestContext,
    RequestHeader,
    StepEnd,
    StepStart,
    SurfaceEvent,
    SurfaceRewind,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    Usage,
    UserMessage,
)
from refold.events.formats._calls import Calls
from refold.events.formats._fields import IMPOSSIBLE
from refold.events.formats._source import Session

RESTORED = 50_000, 10
"""The most messages that come back to one session's surface: this many, and this many times those that were told.

Each is an event again. A person's tree of branches stays far below it; one that changes branch with every line makes
of a megabyte some millions of events.
"""


class Node(msgspec.Struct, frozen=True):
    """A message on the surface. `key` is what the foreign log calls it, None for what has no name there."""

    event: SurfaceEvent
    key: Hashable = None


class Journal:
    """One session being written. Messages wait until the request that sends them; results are written at once."""

    def __init__(self, name: str = "transcript") -> None:
        self.name = name  # what error messages call the source
        self.events: list[Event] = []
        self.nodes: list[Node] = []
        self.partial = False
        self.time = 0
        self.turn = self.step = 0
        self.in_turn = self.in_step = False
        self.outcome = "completed"  # why the turn would end now: set after a call that failed, undone by the next
        self._waiting: list[Node] = []
        self._calls = Calls()
        self._keys: Counter[Hashable] = Counter()  # of the upcoming nodes
        self._told = self._restored = 0  # messages, those that came back apart
        self._notes: dict[str, int] = {}
        self._header, self._sent_header = RequestHeader(0, 0), RequestHeader(0, 0)
        self._context, self._sent_context = RequestContext(0, 0), RequestContext(0, 0)

    def note(self, text: str) -> None:
        """Remember what was left out or taken on trust; equal notes are counted, not repeated."""
        self._notes[text] = self._notes.get(text, 0) + 1

    def damaged(self, text: str) -> None:
        """A part of the source could not be read: the session is partial, and says so."""
        self.partial = True
        self.note(text)

    @property
    def upcoming(self) -> list[Node]:
        """Messages on the surface, and those that will be on it with the next request."""
        return [*self.nodes, *self._waiting]

    @property
    def size(self) -> int:
        """How many these are."""
        return len(self.nodes) + len(self._waiting)

    @property
    def newest(self) -> tuple[Node, ...]:
        """The last on the surface and the last that waits: what was told just now is one of them."""
        return (*self.nodes[-1:], *self._waiting[-1:])

    def holds(self, key: Hashable) -> bool:
        """Has one of these this key?"""
        return key in self._keys

    def behind(self, key: Hashable) -> int:
        """How many of these stand up to the last one with this key, itself counted: 0 where none has it.

        It is looked for from the end, so that a rewind to it costs no more than what the rewind drops.
        """
        if key not in self._keys:
            return 0
        for kept, nodes in ((len(self.nodes), self._waiting), (0, self.nodes)):
            for at in range(len(nodes) - 1, -1, -1):
                if nodes[at].key == key:
                    return kept + at + 1
        return 0

    # what goes with the next request

    def header(self, **fields: Any) -> None:
        """What is known of the request's frame from here on: `system`, `tools`, `config` as in RequestHeader."""
        self._header = msgspec.structs.replace(self._header, **fields)

    def context(self, **fields: Any) -> None:
        """Who is asked from here on: `provider`, `model`, `context_window` as in RequestContext."""
        self._context = msgspec.structs.replace(self._context, **fields)

    def prompt(self, time: int, content: tuple[Block, ...], key: Hashable = None) -> None:
        """A person asks. It opens a turn, unless the open turn has not been sent yet."""
        if self.in_turn and self.step:
            self.end_turn()
        self._open_turn(time)
        self.user(time, content, "user", key)

    def user(self, time: int, content: tuple[Block, ...], source: str, key: Hashable = None) -> None:
        self._told += 1
        self._wait(Node(UserMessage(-1, time, content, source=source), key))

    def developer(self, time: int, content: tuple[Block, ...], key: Hashable = None) -> None:
        """A system message that is not the first: it stands where it was said."""
        self._told += 1
        self._wait(Node(DeveloperMessage(-1, time, content), key))

    # a model call

    def request(self, time: int) -> None:
        """A step begins: what waits is sent. A step that is still open ends."""
        self.end_step()
        self._open_turn(time)
        self.step += 1
        self.in_step = True
        self.outcome = "completed"
        self.add(StepStart, time, turn=self.turn, step=self.step)
        self.settle()
        if self._header != self._sent_header:
            self._sent_header = self._header
            self._append(msgspec.structs.replace(self._header, seq=len(self.events), time=time))
        if self._context != self._sent_context:
            self._sent_context = self._context
            self._append(msgspec.structs.replace(self._context, seq=len(self.events), time=time))

    def answer(
        self,
        time: int,
        content: tuple[Block, ...],
        *,
        usage: Usage | None = None,
        interrupted: bool = False,
        model: str = "",
        key: Hashable = None,
    ) -> None:
        """What the model said in the open step; its ToolUse blocks may be answered by results from here on."""
        if usage == IMPOSSIBLE:
            usage = None
            self.note("a call reports a number of tokens that cannot be; its usage counts as unknown")
        event = AssistantMessage(
            len(self.events), time, content, self.turn, self.step, usage=usage, interrupted=interrupted, model=model
        )
        self._told += 1
        self._surface(Node(event, key))
        for block in content:
            if isinstance(block, ToolUse):
                self._calls.ask(block.id, self.turn, self.step)

    def call(self, time: int, call_id: str, name: str, arguments: str) -> None:
        """A tool starts to run. A call that the answer has no block for may be answered by a result, too."""
        self._calls.run(call_id, self.turn, self.step, len(self.events))
        self.add(ToolCall, time, turn=self.turn, step=self.step, call_id=call_id, name=name, arguments=arguments)

    def calls(self, time: int, content: tuple[Block, ...]) -> None:
        """Every tool that an answer asks for starts to run."""
        for block in content:
            if isinstance(block, ToolUse):
                self.call(time, block.id, block.name, block.arguments)

    def result(
        self, time: int, call_id: str, content: tuple[Block, ...], *, is_error: bool = False, key: Hashable = None
    ) -> None:
        """A result. Its step is that of the newest call of this id that waits for one; an orphan's the open one."""
        turn, step, sources = self.turn, self.step, None
        owner = self._calls.answer(call_id)
        if owner is not None:
            turn, step = owner.turn, owner.step
            sources = (owner.seq,) if owner.seq >= 0 else None
        elif self._calls.had(call_id):
            self.note("a call has a second result")
        else:
            self.note("a result answers no call")
        if not self.in_step:
            self.note("a result came after its step had ended")
            self.settle()
        event = ToolResult(len(self.events), time, content, turn, step, call_id, is_error=is_error, sources=sources)
        self._told += 1
        self._surface(Node(event, key))

    def end_step(self, time: int = 0) -> None:
        if self.in_step:
            self.add(StepEnd, time or self.time, turn=self.turn, step=self.step)
            self.in_step = False

    def end_turn(self, time: int = 0, reason: str = "") -> None:
        """The turn ends. What still waits was never sent, and stands on the surface all the same."""
        self.end_step(time)
        if self.in_turn:
            self.settle()
            self.add(TurnEnd, time or self.time, turn=self.turn, reason=reason or self.outcome)
            self.in_turn = False

    # resets

    def settle(self) -> None:
        """Put what waits on the surface. An answer belongs in a step: while one waits to come back, all of it waits."""
        if not self.in_step and any(isinstance(node.event, AssistantMessage) for node in self._waiting):
            return
        waiting, self._waiting = self._waiting, []
        self._forget(waiting)
        for node in waiting:
            place: dict[str, Any] = {"seq": len(self.events)}
            if isinstance(node.event, AssistantMessage):
                place |= {"turn": self.turn, "step": self.step}
            self._surface(Node(msgspec.structs.replace(node.event, **place), node.key))

    def replace(
        self, time: int, first: int, last: int, content: tuple[Block, ...], source: str, key: Hashable = None
    ) -> None:
        """One user message takes the place of the nodes from position `first` to `last`."""
        self.settle()
        gone = tuple(node.event.seq for node in self.nodes[first : last + 1])
        event = UserMessage(len(self.events), time, content, source=source, replaces=(gone[0], gone[-1]), sources=gone)
        self._append(event)
        self._forget(self.nodes[first : last + 1])
        self._keys[key] += 1
        self.nodes[first : last + 1] = [Node(event, key)]

    def clear(self, time: int, at: int, content: tuple[Block, ...], key: Hashable = None) -> None:
        """The tool result at position `at` is sent with another content from here on."""
        self.settle()
        seq = self.nodes[at].event.seq
        event = msgspec.structs.replace(
            self.nodes[at].event, seq=len(self.events), time=time, content=content, replaces=(seq, seq), sources=(seq,)
        )
        self._append(event)
        self._forget(self.nodes[at : at + 1])
        self._keys[key] += 1
        self.nodes[at] = Node(event, key)

    def rewind(self, time: int, keep: int) -> None:
        """Only the first `keep` nodes stay, counted with those that wait to come back."""
        self.settle()
        waits = max(0, keep - len(self.nodes))
        self._forget(self._waiting[waits:])
        del self._waiting[waits:]
        if keep < len(self.nodes):
            self.add(SurfaceRewind, time, to_seq=self.nodes[keep - 1].event.seq if keep else -1)
            self._forget(self.nodes[keep:])
            del self.nodes[keep:]

    def restore(self, time: int, nodes: Iterable[Node]) -> None:
        """Nodes of an earlier surface come back with the next request. Their usage was counted the first time.

        Raises FormatError where that happens so often that the session would be many times as long as its source.
        """
        for node in nodes:
            self._restored += 1
            if self._restored > RESTORED[0] + RESTORED[1] * self._told:
                raise FormatError(
                    f"{self.name}: goes back and forth between its branches so often that its {self._told} messages "
                    f"would be told {RESTORED[1]} times over and more; export the branch you want alone"
                )
            back: dict[str, Any] = {"time": time, "replaces": None, "sources": None}
            if isinstance(node.event, AssistantMessage):
                back["usage"] = None
            self._wait(Node(msgspec.structs.replace(node.event, **back), node.key))
            self.note("messages came back to the surface after a branch or a compaction")

    def end_seed(self, time: int, *, inherited: bool) -> None:
        """What comes now is the session's own; a fork inherited what came before, a resume reloaded it."""
        self.end_turn()
        self.settle()
        self.add(EndSeed, time, inherited=inherited)

    def other(self, time: int, name: str) -> None:
        self.add(Other, time, name=name)

    # the end

    def session(self, session_id: str, parent: str | None = None) -> Session:
        """Everything written, its open turn closed."""
        self.end_turn()
        self.settle()
        if self._waiting:
            self.note("no request followed that would have brought messages back to the surface; they are left out")
        unanswered = self._calls.unanswered
        if unanswered:
            self.note(f"{unanswered} call{'s have' if unanswered > 1 else ' has'} no result")
        notes = tuple(note if count == 1 else f"{note} ({count} times)" for note, count in self._notes.items())
        return Session(session_id, tuple(self.events), parent, notes, self.partial)

    def add(self, kind: type[Event], time: int, **fields: Any) -> None:
        self._append(kind(len(self.events), time, **fields))

    def _append(self, event: Event) -> None:
        self.events.append(event)
        self.time = event.time or self.time

    def _surface(self, node: Node) -> None:
        self._append(node.event)
        self.nodes.append(node)
        self._keys[node.key] += 1

    def _wait(self, node: Node) -> None:
        self._waiting.append(node)
        self._keys[node.key] += 1

    def _forget(self, nodes: Iterable[Node]) -> None:
        """These are not upcoming any more."""
        for node in nodes:
            self._keys[node.key] -= 1
            if not self._keys[node.key]:
                del self._keys[node.key]

    def _open_turn(self, time: int) -> None:
        if not self.in_turn:
            self.turn += 1
            self.step = 0
            self.outcome = "completed"
            self.in_turn = True
            self.add(TurnStart, time, turn=self.turn)
