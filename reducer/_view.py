"""The derived view, and the mutable twin in which one fold changes it."""

import msgspec
from msgspec import field
from msgspec.structs import astuple
from pyrsistent import PSet, PVector, pset, pvector

from refold.events import (
    AssistantChunks,
    AssistantMessage,
    Block,
    DeveloperMessage,
    SystemMessage,
    ToolResult,
    UserMessage,
)
from refold.reducer._rows import Rows

Message = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolResult


class Node(msgspec.Struct, frozen=True, gc=False):
    """One message on the surface.

    `seq` is the event that stands there now, `born` the event that first stood there: a rewrite moves the first and
    keeps the second. `tokens` is the price under the reducer's meter. `steps` is the counter of step/starts when
    these bytes were born, so the model has been sent them `view.steps - node.steps` times. `cut_by` is the part of
    the policy whose cut this is, -1 for none; `tickets` are its places in the parts' queues, -1 for none. `freed`
    is what the policy's cuts took from the original, in tokens; `ghost` the part of that which is in no log yet.
    `opens_turn` marks the answer to the first call of a turn; `place` counts the results of a step from 1.
    """

    seq: int
    message: Message
    tokens: int
    born: int
    steps: int
    tool: str = ""
    arguments: str = ""
    rewritten: bool = False
    cut_by: int = -1
    tickets: tuple[int, ...] = ()
    freed: int = 0
    ghost: int = 0
    opens_turn: bool = False
    place: int = 0

    @property
    def content(self) -> tuple[Block, ...]:
        return self.message.content


class Latch(msgspec.Struct, frozen=True, gc=False):
    """The latch is open: since the boundary at `seq`, where `tokens` were measured."""

    seq: int
    tokens: int


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A candidate in a queue: its slot, its stamp on each odometer, and what its cut would gain."""

    slot: int
    stamps: tuple[int, ...]
    gain_tokens: int
    gain_chars: int


class Counters(msgspec.Struct, frozen=True, gc=False):
    """The named odometers as they stood at one moment; none ever falls."""

    steps: int = 0
    turns: int = 0
    results: int = 0
    admitted: int = 0
    admitted_tokens: int = 0
    spans: int = 0


class PartState(msgspec.Struct, gc=False):
    """What one part of the policy has derived: its latch, its queue, the queue's sums.

    Of `end` entries those before `boundary` are ripe, `since[i]` being the step count at which entry i ripened; those
    before `head` are gone. The sums run over the live ripe entries: `gain` in tokens, `moment` = sum of gain x since,
    `ripe` their number; over all live ones `live` is the number and `chars` the code points their cuts would take.
    `span` is the newest span with a candidate; `samples` the odometers as they stood at the last turn/starts;
    `matters` what the candidates that came so far, and were not passed by, are about.
    """

    latch: Latch | None = None
    entries: Rows[Entry] = field(default_factory=Rows)
    since: Rows[int] = field(default_factory=Rows)
    head: int = 0
    boundary: int = 0
    end: int = 0
    gain: int = 0
    moment: int = 0
    ripe: int = 0
    live: int = 0
    chars: int = 0
    admitted: int = 0
    admitted_tokens: int = 0
    spans: int = 0
    span: int = -1
    samples: tuple[Counters, ...] = ()
    weights: Rows[int] | None = None
    matters: PSet[str] = pset()


class Header(msgspec.Struct, frozen=True, gc=False):
    """The last request/header: its parts for comparison, and its price in tokens."""

    system: str | None
    tools: str
    config: str
    tokens: int


class Anchor(msgspec.Struct, frozen=True, gc=False):
    """The last answer's measure: `tokens` stood for a surface of `surface` estimated tokens under `header`."""

    header: Header | None
    surface: int
    tokens: int
    kind: str


class Call(msgspec.Struct, frozen=True, gc=False):
    """A tool call waiting for its result; `seq` of its tool/call event, -1 before there is one.

    `opens_turn` marks the first call of a turn, in the order in which the model asked.
    """

    seq: int
    id: str
    name: str
    arguments: str
    opens_turn: bool = False


class State(msgspec.Struct):
    """The fields of a view. Mutable only inside one fold; it shares every collection with the view it came from."""

    fingerprint: str
    position: int = 0
    time: int = 0
    # clock; `newest` is turn, step and place of the newest result
    turn: int = 0
    step: int = 0
    steps: int = 0
    turns: int = 0
    results: int = 0
    newest: tuple[int, int, int] = (-1, -1, 0)
    boundary: int = -1
    turn_open: bool = False
    step_open: bool = False
    turn_has_step: bool = False
    overflow: bool = False
    step_time: int | None = None
    enforced: tuple[int, ...] = ()
    # surface: slot i is the i-th append; a dead slot that starts a dead run holds the slot to go on at; the slots
    # before `sent` stand as the last call sent them
    slots: Rows[Node | int] = field(default_factory=Rows)
    births: Rows[int] = field(default_factory=Rows)
    moved: Rows[tuple[int, int]] = field(default_factory=Rows)
    alive: int = 0
    replace_generation: int = 0
    sent: int = 0
    system: SystemMessage | None = None
    calls: tuple[Call, ...] = ()
    span: int = -1
    turn_has_call: bool = False
    # measure
    tokens: int = 0
    header: Header | None = None
    meter_step: tuple[int, int, int] | None = None
    pending: PVector[AssistantChunks] = pvector()
    anchor: Anchor | None = None
    refusal: str | None = None
    context_window: int | None = None
    freed: int = 0
    ghost: int = 0
    # policy
    parts: tuple[PartState, ...] = ()


class View(State, frozen=True):  # type: ignore[misc]  # a frozen child of a mutable parent: one list of fields for both
    """Everything the reducer derives from the events so far. Immutable: an older view stays valid.

    `position` is the number of log places folded, `time` the newest event's. `steps` counts every step/start,
    `turns` every ended turn that had a step. `enforced` are the seqs of the results that the open step's start, and an
    overflow since, cut in derive mode. `latch` tells the first part's latch; see also `frozen` and `views`.
    """

    @property
    def latch(self) -> Latch | None:
        return next((part.latch for part in self.parts if part.latch), None)


def thaw(view: View) -> State:
    """A mutable twin: its own Rows and parts, everything else shared with the view."""
    state = State(*astuple(view))
    state.slots, state.births, state.moved = state.slots.fork(), state.births.fork(), state.moved.fork()
    state.parts = tuple(_thaw_part(part) for part in state.parts)
    return state


def _thaw_part(part: PartState) -> PartState:
    twin = PartState(*astuple(part))
    twin.entries, twin.since = twin.entries.fork(), twin.since.fork()
    if twin.weights is not None:
        twin.weights = twin.weights.fork()
    return twin


def freeze(state: State) -> View:
    """The twin's fields as a view; the twin must not be used again."""
    return View(*astuple(state))


class Operation(msgspec.Struct, frozen=True):
    """One replacement of one tool result's content, due now.

    `seq` is the node's current event and `before` that event; `content` is what shall stand there. `views` is how
    often the model was sent it. Tokens are priced by the reducer's meter, chars are code points of text. `cut_at` is
    the number of leading code points that stay as they were; `dropped` the non-text blocks that go. `part` is the
    place in the policy of the part that decided it, `reason` that part's name.
    """

    seq: int
    before: ToolResult
    content: tuple[Block, ...]
    tool: str
    views: int
    tokens_before: int
    tokens_after: int
    chars_before: int
    chars_after: int
    cut_at: int
    dropped: tuple[Block, ...]
    part: int
    reason: str
