"""From a DSH row to an event of the vocabulary: one function a type, in a table for each format version."""

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET

from refold.events import _json as js
from refold.events._blocks import Block, Reasoning
from refold.events._dsh_wire import KNOWN_SILENT, AttemptData, ModelSource, WireUsage, rows
from refold.events._events import (
    AssistantMessage,
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    DeveloperMessage,
    EndSeed,
    Envelope,
    Event,
    Other,
    Overflow,
    RequestContext,
    RequestHeader,
    StepEnd,
    StepStart,
    SystemMessage,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    Usage,
    UserMessage,
)

OVERFLOW = "CONTEXT_WINDOW_EXCEEDED"

Translate = Callable[[Any], Event]


def _turn_start(row: Any) -> Event:
    return TurnStart(row.seq, row.time, row.data.turn)


def _turn_end(row: Any) -> Event:
    return TurnEnd(row.seq, row.time, row.data.turn, row.data.reason.kind)


def _step_start(row: Any) -> Event:
    return StepStart(row.seq, row.time, row.data.turn, row.data.step)


def _step_end(row: Any) -> Event:
    return StepEnd(row.seq, row.time, row.data.turn, row.data.step)


def _call(row: Any) -> Event:
    data = row.data
    return ToolCall(row.seq, row.time, data.turn, data.step, data.callId, data.name, data.arguments)


def _replaces(row: Any) -> tuple[int, int] | None:
    op = row.surfaceOp
    return None if op == "append" else (op.start, op.end)


def sources_of(row: Any) -> tuple[int, ...] | None:
    """The seqs a row cites, with the ranges [first, last] of later formats spelled out."""
    cited = row.sourceEventSeqs
    if cited is UNSET:
        return None
    if len(cited) > 1 and cited[-1].__class__ is int is cited[0].__class__ and cited[-1] - cited[0] == len(cited) - 1:
        return cited  # type: ignore[no-any-return]  # no ranges: they would span more
    if tuple not in set(map(type, cited)):
        return cited  # type: ignore[no-any-return]
    seqs: list[int] = []
    for entry in cited:
        if type(entry) is tuple:
            seqs.extend(range(entry[0], entry[1] + 1))
        else:
            seqs.append(entry)
    return tuple(seqs)


def _user(row: Any) -> Event:
    data = row.data
    return UserMessage(row.seq, row.time, data.content, data.source.kind, _replaces(row), sources_of(row))


def _system(row: Any) -> Event:
    return SystemMessage(row.seq, row.time, row.data.message.content, _replaces(row), sources_of(row))


def _developer(row: Any) -> Event:
    return DeveloperMessage(row.seq, row.time, row.data.message.content, _replaces(row), sources_of(row))


def _assistant(row: Any) -> Event:
    data = row.data
    message = data.message
    source = message.source
    content = message.content if source.replayState is UNSET else _signed(message.content, source)
    return AssistantMessage(
        row.seq,
        row.time,
        content,
        data.turn,
        data.step,
        _usage(data.usage),
        data.interrupted,
        source.model,
        _replaces(row),
        sources_of(row),
    )


def _usage(usage: WireUsage | None) -> Usage | None:
    if usage is None:
        return None
    return Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)


class _Replayed(msgspec.Struct):
    signature: Any = ""


class _ReplayState(msgspec.Struct):
    blocks: tuple[_Replayed, ...] = ()


def _signed(content: tuple[Block, ...], source: ModelSource) -> tuple[Block, ...]:
    """Reasoning with the signatures that the provider's replay state holds beside it, block for block."""
    if not any(isinstance(block, Reasoning) for block in content):
        return content
    try:
        state = msgspec.json.decode(source.replayState, type=_ReplayState)  # type: ignore[arg-type]
    except msgspec.MsgspecError:
        return content
    if len(state.blocks) != len(content):
        return content
    return tuple(
        msgspec.structs.replace(block, signature=str(beside.signature or "")) if isinstance(block, Reasoning) else block
        for block, beside in zip(content, state.blocks, strict=True)
    )


def _wrapped_result(row: Any) -> Event:
    message = row.data.message
    return _result(row, message.id, message.content[0])


def _direct_result(row: Any) -> Event:
    message = row.data.message
    return _result(row, message.id, message)


def _result(row: Any, message_id: str, shown: Any) -> Event:
    data = row.data
    if shown.toolCallId != data.message.source.callId:
        raise ValueError(f"answers call {shown.toolCallId!r}, but its source names {data.message.source.callId!r}")
    envelope = Envelope(
        message_id,
        "" if data.error is UNSET else bytes(data.error).decode(),
        "" if data.meta is UNSET else bytes(data.meta).decode(),
        data.extra,
        shown.isError is not UNSET,
    )
    return ToolResult(
        row.seq,
        row.time,
        shown.content,
        data.turn,
        data.step,
        shown.toolCallId,
        shown.isError is True,
        envelope,
        _replaces(row),
        sources_of(row),
    )


def _header(row: Any) -> Event:
    header = row.data.header
    tools = "" if header.tools is UNSET else js.text(js.parse(bytes(header.tools)))
    rest = {
        name: js.parse(bytes(value))
        for name in ("config", "adapterDefaults")
        if (value := getattr(header, name)) is not UNSET
    }
    # As DSH's canonicalHeader: an empty system text, or no tools, is the same as none.
    system = None if header.system is UNSET or not header.system else header.system
    return RequestHeader(row.seq, row.time, system, "" if tools in ("[]", "null") else tools, js.sorted_text(rest))


def _context(row: Any) -> Event:
    return RequestContext(row.seq, row.time, row.data.provider, row.data.model, row.data.contextWindow)


def _compaction_start(row: Any) -> Event:
    return CompactionStart(row.seq, row.time, row.data.compactionId, row.data.turn)


def _compaction_summary(row: Any) -> Event:
    data = row.data
    return CompactionSummary(row.seq, row.time, data.compactionId, data.shadowedSeqs, data.shadowedTokenCount)


def _compaction_end(row: Any) -> Event:
    return CompactionEnd(row.seq, row.time, row.data.compactionId, row.data.error)


def _compaction_prune(row: Any) -> Event:
    return CompactionPrune(row.seq, row.time, row.data.shadowedSeqs, row.data.shadowedTokenCount)


def _end_seed(row: Any) -> Event:
    return EndSeed(row.seq, row.time, row.data.inherited)


def _attempt(row: Any) -> Event:
    data: AttemptData = row.data
    for record in data.stream:
        if record.chunk is UNSET or b"finish" not in bytes(record.chunk):
            continue
        finish = msgspec.json.decode(record.chunk, type=_AnyChunk)
        if finish.type == "finish" and _is_overflow(finish.reason):
            return Overflow(row.seq, row.time, data.turn, data.step)
    return Other(row.seq, row.time, "assistant/attempt")


class _AnyChunk(msgspec.Struct):
    type: str
    reason: Any = None


def _is_overflow(reason: Any) -> bool:
    failure = reason.get("failure") if isinstance(reason, dict) else None
    return isinstance(failure, dict) and failure.get("code") == OVERFLOW


def _other(name: str) -> Translate:
    return lambda row: Other(row.seq, row.time, name)


@cache
def translations(version: int) -> dict[type, Translate]:
    """The function for each row type of a format version; stream chunks and packed rows have none."""
    named: dict[str, Translate] = {
        "turn/start": _turn_start,
        "turn/end": _turn_end,
        "step/start": _step_start,
        "step/end": _step_end,
        "tool/call": _call,
        "user/message": _user,
        "system/message": _system,
        "developer/message": _developer,
        "assistant/message": _assistant,
        "tool/result": _wrapped_result if version < 4 else _direct_result,
        "request/header": _header,
        "request/context": _context,
        "compaction/start": _compaction_start,
        "compaction/summary": _compaction_summary,
        "compaction/end": _compaction_end,
        "compaction/prune": _compaction_prune,
        "session/end-seed": _end_seed,
        "assistant/attempt": _attempt,
        **{name: _other(name) for name in KNOWN_SILENT},
    }
    return {kind: named[name] for name, kind in rows(version).items() if name in named}
