"""DSH's rows as msgspec structs: one union a format version, decoded in one go; strict about every known key."""

from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType, defstruct, field

from refold.events._blocks import Block
from refold.events._events import Chunk

SAFE = 2**53 - 1  # the largest whole number that JavaScript keeps exact

Seq = Annotated[int, Meta(ge=0, le=SAFE)]
Time = Annotated[int, Meta(ge=-SAFE, le=SAFE)]
Count = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]


class Row(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type"):
    """What every event row has."""

    seq: Seq
    time: Time
    ignorable: bool = True


class TurnData(msgspec.Struct, frozen=True, gc=False):
    turn: Count


class Kind(msgspec.Struct, frozen=True, gc=False):
    kind: Name


class TurnEndData(msgspec.Struct, frozen=True, gc=False):
    turn: Count
    reason: Kind


class StepData(msgspec.Struct, frozen=True, gc=False):
    turn: Count
    step: Count


class UserData(msgspec.Struct, frozen=True, gc=False):
    role: Literal["user"]
    content: tuple[Block, ...]
    source: Kind
    id: Name


class TextMessage(msgspec.Struct, frozen=True, gc=False):
    """A system or developer message."""

    id: Name
    role: Literal["system", "developer"]
    content: tuple[Block, ...]


class TextMessageData(msgspec.Struct, frozen=True, gc=False):
    message: TextMessage


class WireUsage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class ModelSource(msgspec.Struct, frozen=True, gc=False):
    kind: Literal["model"]
    model: str = ""
    replayState: Raw | UnsetType = UNSET


class AssistantBody(msgspec.Struct, frozen=True, gc=False):
    id: Name
    role: Literal["assistant"]
    content: tuple[Block, ...]
    source: ModelSource


class AssistantData(msgspec.Struct, frozen=True, gc=False):
    turn: Count
    step: Count
    message: AssistantBody
    usage: WireUsage | None = None
    interrupted: bool = False


class ToolSource(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    kind: Literal["tool"]
    callId: str  # may be empty: the official fold takes it, and real logs have it


class ResultBlock(
    msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type", tag="tool-result"
):
    toolCallId: str
    content: tuple[Block, ...]
    isError: bool | UnsetType = UNSET


class WrappedResult(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """V0 to V3: the result's content lies in one tool-result block."""

    id: Name
    role: Literal["user"]
    source: ToolSource
    content: tuple[ResultBlock]


class DirectResult(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """V4 and later."""

    id: Name
    role: Literal["tool"]
    toolCallId: str
    source: ToolSource
    content: tuple[Block, ...]
    isError: bool | UnsetType = UNSET


class ResultData(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    turn: Count
    step: Count
    error: Raw | UnsetType = UNSET
    meta: Raw | UnsetType = UNSET
    extra: str = field(default="", name="&extra")


class WrappedResultData(ResultData, frozen=True, gc=False, forbid_unknown_fields=True, kw_only=True):
    message: WrappedResult


class DirectResultData(ResultData, frozen=True, gc=False, forbid_unknown_fields=True, kw_only=True):
    message: DirectResult


class CallData(msgspec.Struct, frozen=True, gc=False):
    turn: Count
    step: Count
    callId: str
    name: str
    arguments: str


class HeaderBody(msgspec.Struct, frozen=True, gc=False):
    config: Raw | UnsetType = UNSET
    adapterDefaults: Raw | UnsetType = UNSET
    system: str | UnsetType = UNSET
    tools: Raw | UnsetType = UNSET


class HeaderData(msgspec.Struct, frozen=True, gc=False):
    header: HeaderBody
    reason: Any = None


class ContextData(msgspec.Struct, frozen=True, gc=False):
    provider: str = ""
    model: str = ""
    contextWindow: int | None = None


class ChunkData(msgspec.Struct, frozen=True, gc=False):
    turn: Count
    step: Count
    chunk: Chunk


class StreamRecord(msgspec.Struct, frozen=True, gc=False):
    """One record of an attempt's stream; only a single chunk is looked into."""

    type: str
    chunk: Raw | UnsetType = UNSET


class AttemptData(msgspec.Struct, frozen=True, gc=False):
    turn: Count
    step: Count
    stream: tuple[StreamRecord, ...] = ()


class CompactionData(msgspec.Struct, frozen=True, gc=False):
    compactionId: str = ""
    turn: int | None = None
    error: str | None = None
    shadowedSeqs: tuple[int, ...] = ()
    shadowedTokenCount: int = 0


class EndSeedData(msgspec.Struct, frozen=True, gc=False):
    inherited: bool = False


class TextRun(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    turn: Count
    step: Count
    index: int
    dt: tuple[Time, ...]
    texts: tuple[str, ...]


class CallRun(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    turn: Count
    step: Count
    index: int
    dt: tuple[Time, ...]
    id: str
    args: tuple[str, ...]
    name: str = ""


class PackedRow(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type"):
    """A run of stream deltas kept as one row; it stands for as many events as it has deltas."""

    seq0: Seq
    time0: Time


class TextChunksRow(PackedRow, frozen=True, gc=False, forbid_unknown_fields=True, tag="text-chunks"):
    data: TextRun


class ReasoningChunksRow(PackedRow, frozen=True, gc=False, forbid_unknown_fields=True, tag="reasoning-chunks"):
    data: TextRun


class ToolCallChunksRow(PackedRow, frozen=True, gc=False, forbid_unknown_fields=True, tag="tool-call-chunks"):
    data: CallRun


PACKED = frozenset((TextChunksRow, ReasoningChunksRow, ToolCallChunksRow))


class ReplaceV0(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    op: Literal["replace"]
    start: Seq
    end: Seq


class ReplaceV3(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    op: Literal["replace"]
    start: Seq = field(name="startSeq")
    end: Seq = field(name="endSeq")


_TOLD = MappingProxyType(
    {
        "turn/start": TurnData,
        "turn/end": TurnEndData,
        "step/start": StepData,
        "step/end": StepData,
        "tool/call": CallData,
        "request/header": HeaderData,
        "request/context": ContextData,
        "compaction/start": CompactionData,
        "compaction/summary": CompactionData,
        "compaction/end": CompactionData,
        "compaction/prune": CompactionData,
        "session/end-seed": EndSeedData,
    }
)
_SILENT = (
    "agent-preset/selected agent/inbox/spliced approval/asked approval/decided approval/policy command/done "
    "command/run "
    "deliverables/presented feedback/message-created feedback/message-removed feedback/message-updated feedback/record "
    "goal/change hook/invoked hook/result job/registered job/settled llm/retry llm/retry-started model/selection "
    "permission/preset plan/mode sandbox/mode schedule/change session-log-deepseek/delivery-accepted session/title "
    "session/title-llm-request subagent/catalog subagent/descriptor team/member team/message/delivered "
    "team/message/queued team/task todo/write tool-workflow/agent-end tool-workflow/agent-start tool-workflow/run-end "
    "tool-workflow/run-start tool/code-dispatch tool/code-dispatch-start tool/ptc-dispatch tool/ptc-dispatch-start "
    "web/deepseek-search-llm-request workspace/changes"
)
KNOWN_SILENT = frozenset(_SILENT.split())
"""Types that change nothing the model sees; three of them only newer harnesses write, which note them as unknown."""


def _row(name: str, data: Any, *more: tuple[Any, ...]) -> type[Row]:
    return defstruct(  # type: ignore[return-value]
        name,
        [("data", data), *more],
        bases=(Row,),
        tag=name,
        frozen=True,
        gc=False,
        forbid_unknown_fields=True,
        kw_only=True,
    )


@cache
def rows(version: int) -> MappingProxyType[str, type[msgspec.Struct]]:
    """The row types of a format version, by the `type` that a row names."""
    sources: Any = tuple[Seq, ...] if version < 2 else tuple[int | tuple[int, int], ...]
    op: Any = Literal["append"] | (ReplaceV0 if version < 3 else ReplaceV3)
    surface: dict[str, Any] = {
        "user/message": UserData,
        "assistant/message": AssistantData,
        "tool/result": WrappedResultData if version < 4 else DirectResultData,
    }
    if version >= 3:
        surface["system/message"] = TextMessageData
    if version >= 4:
        surface["developer/message"] = TextMessageData
    log_only: dict[str, Any] = {**_TOLD, **dict.fromkeys(KNOWN_SILENT, Raw)}
    if version < 2:
        log_only["assistant/chunk"] = ChunkData
    else:
        log_only["assistant/attempt"] = AttemptData
    made: dict[str, Any] = {name: _row(name, data) for name, data in log_only.items()}
    for name, data in surface.items():
        made[name] = _row(name, data, ("surfaceOp", op), ("sourceEventSeqs", sources | UnsetType, UNSET))
    if version < 2:
        made |= {str(packed.__struct_config__.tag): packed for packed in PACKED}
    return MappingProxyType(made)


@cache
def surface_rows(version: int) -> frozenset[type]:
    """The row types of surface events, which alone may cite other rows."""
    return frozenset(kind for kind in rows(version).values() if "sourceEventSeqs" in kind.__struct_fields__)


@cache
def decoder(version: int) -> msgspec.json.Decoder[Any]:
    """Decodes one row of a format version, or lines of them, into the version's row types."""
    union: Any = None
    for kind in rows(version).values():
        union = kind if union is None else union | kind
    return msgspec.json.Decoder(union)
