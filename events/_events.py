"""The immutable vocabulary: what may happen in a session, whatever log told it.

The names are those of DeepSeek Harness (DSH), whose log is event-sourced by nature. Every event has `seq`, its
place in the log counted from 0, and `time`, Unix milliseconds as the log gives them (0 where it gives none).
Events that put a message on the surface have `replaces`: None appends a node, `(start, end)` replaces the nodes
from seq `start` to seq `end`, both by position on the surface.
"""

import json
from typing import ClassVar, Literal

import msgspec

from refold.events._blocks import Block

Role = Literal["system", "developer", "user", "assistant", "tool"]


class Event(msgspec.Struct, frozen=True, gc=False, tag=True):
    """What every event has. `width` is the number of log places it takes: 1 but for a run of stream chunks."""

    type: ClassVar[str]
    seq: int
    time: int

    @property
    def width(self) -> int:
        return 1


class TurnStart(Event, frozen=True, gc=False):
    """A turn begins; `turn` is its number, counted from 1."""

    type: ClassVar[str] = "turn/start"
    turn: int


class TurnEnd(Event, frozen=True, gc=False):
    """`reason` is the kind alone: completed, aborted, blocked, error, max-tokens, interrupted, forked."""

    type: ClassVar[str] = "turn/end"
    turn: int
    reason: str = "completed"


class StepStart(Event, frozen=True, gc=False):
    """A model call is about to be made: step `step` of its turn, both counted from 1."""

    type: ClassVar[str] = "step/start"
    turn: int
    step: int


class StepEnd(Event, frozen=True, gc=False):
    """A step is over: the model has answered and every tool that it asked for has given its result."""

    type: ClassVar[str] = "step/end"
    turn: int
    step: int


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens a provider reported for one model call; the four buckets are disjoint, reasoning is part of output."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total(self) -> int:
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens


class SurfaceEvent(Event, frozen=True, gc=False):
    """An event that is a node of the surface. `sources` are the seqs it cites, None where the log has no list."""

    role: ClassVar[Role]
    content: tuple[Block, ...]


class SystemMessage(SurfaceEvent, frozen=True, gc=False):
    """What the harness tells the model for the whole session; as a message, where the log has it so."""

    type: ClassVar[str] = "system/message"
    role: ClassVar[Role] = "system"
    replaces: tuple[int, int] | None = None
    sources: tuple[int, ...] | None = None


class DeveloperMessage(SurfaceEvent, frozen=True, gc=False):
    """What the harness tells the model in the developer's role."""

    type: ClassVar[str] = "developer/message"
    role: ClassVar[Role] = "developer"
    replaces: tuple[int, int] | None = None
    sources: tuple[int, ...] | None = None


class UserMessage(SurfaceEvent, frozen=True, gc=False):
    """`source` says who wrote it: `user` for a person, else the part of the harness that did."""

    type: ClassVar[str] = "user/message"
    role: ClassVar[Role] = "user"
    source: str = "user"
    replaces: tuple[int, int] | None = None
    sources: tuple[int, ...] | None = None


class AssistantMessage(SurfaceEvent, frozen=True, gc=False):
    """One answer of the model. `model` is what the provider was asked for, "" where the log does not tell."""

    type: ClassVar[str] = "assistant/message"
    role: ClassVar[Role] = "assistant"
    turn: int
    step: int
    usage: Usage | None = None
    interrupted: bool = False
    model: str = ""
    replaces: tuple[int, int] | None = None
    sources: tuple[int, ...] | None = None


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """Everything of a tool result but its content, call id and error flag: a replacement must keep it all.

    `error`, `meta` and `extra` are JSON texts, "" for none; `extra` holds what refold knows no name for. `flagged`
    says whether the log spells the error flag out.
    """

    message_id: str = ""
    error: str = ""
    meta: str = ""
    extra: str = ""
    flagged: bool = False

    def same_as(self, other: "Envelope") -> bool:
        """Deep equality of JSON: the order of keys does not matter."""
        if self == other:
            return True
        if (self.message_id, self.flagged) != (other.message_id, other.flagged):
            return False
        pairs = ((self.error, other.error), (self.meta, other.meta), (self.extra, other.extra))
        return all(mine == theirs or (mine and theirs and _same_json(mine, theirs)) for mine, theirs in pairs)


def _same_json(one: str, other: str) -> bool:
    # By way of sorted text, because Python holds 1, 1.0 and True for equal.
    left, right = (json.dumps(json.loads(text), sort_keys=True) for text in (one, other))
    return left == right


class ToolResult(SurfaceEvent, frozen=True, gc=False):
    """What a tool gave back. `content` is the result's own blocks; `call_id` may be empty or repeated in real logs."""

    type: ClassVar[str] = "tool/result"
    role: ClassVar[Role] = "tool"
    turn: int
    step: int
    call_id: str
    is_error: bool = False
    envelope: Envelope = Envelope()
    replaces: tuple[int, int] | None = None
    sources: tuple[int, ...] | None = None


class ToolCall(Event, frozen=True, gc=False):
    """A tool starts to run. `arguments` is the raw JSON text the model wrote."""

    type: ClassVar[str] = "tool/call"
    turn: int
    step: int
    call_id: str
    name: str
    arguments: str


class RequestHeader(Event, frozen=True, gc=False):
    """The request's frame, a full snapshot. `tools` is the tool list as compact JSON, "" for none; `config` the
    remaining settings as canonical JSON (keys sorted), compared and never interpreted."""

    type: ClassVar[str] = "request/header"
    system: str | None = None
    tools: str = ""
    config: str = ""


class RequestContext(Event, frozen=True, gc=False):
    """`context_window` in tokens, None where unknown."""

    type: ClassVar[str] = "request/context"
    provider: str = ""
    model: str = ""
    context_window: int | None = None


# A chunk's `index` is the place of its block in the answer, -1 for one that belongs to no block.


class BlockStart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="block-start"):
    """A block of the answer begins; `block_type` is text, reasoning or tool-call."""

    index: int
    block_type: str = msgspec.field(name="blockType")


class TextDelta(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="text-delta"):
    """More text of a text block."""

    index: int
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="reasoning-delta"):
    """More text of a reasoning block."""

    index: int
    text: str


class ToolCallDelta(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="tool-call-delta"):
    """More of a tool call's raw JSON text; `name` is the tool's, "" where this chunk does not tell."""

    index: int
    arguments: str = msgspec.field(name="argumentsDelta")
    name: str = ""


class BlockEnd(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="block-end"):
    """A block of the answer is whole: `block` is all of it, whatever its deltas were."""

    index: int
    block: Block


class Failure(msgspec.Struct, frozen=True, gc=False):
    """Why a model call failed; `code` is the log's word for it, "" where it has none."""

    code: str = ""


class FinishReason(msgspec.Struct, frozen=True, gc=False):
    """`kind` as the log names it: stop, tool-calls, max-tokens, aborted, error; a failure has a code."""

    kind: str
    failure: Failure = Failure()


class Finish(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="finish"):
    """The stream of a model call has ended."""

    index: ClassVar[int] = -1
    reason: FinishReason


class UsageReport(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="usage"):
    """A usage figure inside the stream; the message repeats it, so it is not kept."""

    index: ClassVar[int] = -1


class UnknownChunk(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="&unknown"):
    """A chunk of a type refold does not know, `name` in the log: no block can be put together from it."""

    index: ClassVar[int] = -1
    name: str


Chunk = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | Finish | UsageReport | UnknownChunk


class AssistantChunks(Event, frozen=True, gc=False):
    """A run of stream chunks of one step, at the places `seq` to `seq + width - 1` of the log.

    DSH logs one event a chunk (formats V0 and V1); nothing is ever decided between two of them, so those that follow
    one another are one event here. An overflow is an event of its own.
    """

    type: ClassVar[str] = "assistant/chunk"
    turn: int
    step: int
    chunks: tuple[Chunk, ...]

    @property
    def width(self) -> int:
        return len(self.chunks)


class Overflow(Event, frozen=True, gc=False):
    """The provider refused a request as too long (CONTEXT_WINDOW_EXCEEDED) while the step is still open."""

    type: ClassVar[str] = "overflow"
    turn: int
    step: int


class CompactionStart(Event, frozen=True, gc=False):
    """A compaction begins, in `turn`, None outside of any."""

    type: ClassVar[str] = "compaction/start"
    compaction_id: str = ""
    turn: int | None = None


class CompactionSummary(Event, frozen=True, gc=False):
    """A summary stands for the nodes of `shadowed_seqs`, `shadowed_tokens` by DSH's estimator."""

    type: ClassVar[str] = "compaction/summary"
    compaction_id: str = ""
    shadowed_seqs: tuple[int, ...] = ()
    shadowed_tokens: int = 0


class CompactionEnd(Event, frozen=True, gc=False):
    """A compaction is over; `error` is why it failed, None where it did not."""

    type: ClassVar[str] = "compaction/end"
    compaction_id: str = ""
    error: str | None = None


class CompactionPrune(Event, frozen=True, gc=False):
    """The shadow price of the replacement that directly follows: `shadowed_tokens` by DSH's estimator."""

    type: ClassVar[str] = "compaction/prune"
    shadowed_seqs: tuple[int, ...] = ()
    shadowed_tokens: int = 0


class EndSeed(Event, frozen=True, gc=False):
    """The end of inherited history: a resume, or a fork where `inherited`."""

    type: ClassVar[str] = "session/end-seed"
    inherited: bool = False


class SurfaceRewind(Event, frozen=True, gc=False):
    """Drop every node behind the one of seq `to_seq` (-1: all). Logs that undo need it; DSH has no such event."""

    type: ClassVar[str] = "surface/rewind"
    to_seq: int


class Other(Event, frozen=True, gc=False):
    """An event that changes nothing the model sees. `name` is its type in the log."""

    type: ClassVar[str] = "other"
    name: str = ""
