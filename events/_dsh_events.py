"""From a DSH row to an event of the vocabulary: one function a type, in a table for each format version."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import UNSET

from refold.events import _json as js
from refold.events._blocks import Block, Opaque, Reasoning
from refold.events._dsh_wire import (
    KNOWN_SILENT,
    AttemptData,
    ModelSource,
    ResultData,
    UserData,
    WireUsage,
    WrappedResult,
    rows,
)
from refold.events._events import (
    AssistantMessage,
    BlockEnd,
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
    UnknownChunk,
    Usage,
    UserMessage,
)

OVERFLOW = "CONTEXT_WINDOW_EXCEEDED"

Translate = Callable[[Any], Event]


def _turn_start(row: Any) -> Event:
    return TurnStart(row.seq, row.time, row.data.turn)


def _turn_end(row: Any) -> Event:
    reason = row.data.reason.kind
    # Under an older name: today it is the cause of an abort.
    return TurnEnd(row.seq, row.time, row.data.turn, "aborted" if reason == "disposed" else reason)


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


def _sources(row: Any) -> tuple[int, ...] | None:
    """The seqs a row cites, with the ranges [first, last] of later formats spelled out; None where it has no list.

    Raises ValueError where they break DSH's rules of provenance.
    """
    cited = row.sourceEventSeqs
    if cited is UNSET:
        return None
    if not cited:
        if type(row).__struct_config__.tag != "assistant/message":
            raise ValueError("sourceEventSeqs must not be empty except on assistant/message")
        return ()
    first = cited[0]
    if type(first) is int and cited == tuple(range(first, first + len(cited))) and first >= 0 and cited[-1] < row.seq:
        return cited  # type: ignore[no-any-return]  # the usual case, a call or an answer's stream, checked in C
    return _checked(cited, row.seq)


def _checked(cited: tuple[Any, ...], before: int) -> tuple[int, ...]:
    ranges = [entry for entry in cited if type(entry) is tuple]
    if any(first < 0 or last < first for first, last in ranges):
        raise ValueError("sourceEventSeqs holds a range that does not rise")
    if sum(last - first + 1 for first, last in ranges) > before:
        raise ValueError("sourceEventSeqs must name earlier events")
    spans = (range(entry[0], entry[1] + 1) if type(entry) is tuple else (entry,) for entry in cited)
    seqs = tuple(chain.from_iterable(spans))
    if min(seqs) < 0:
        raise ValueError("sourceEventSeqs must hold non-negative safe integers")
    if max(seqs) >= before:
        raise ValueError(f"sourceEventSeqs must name earlier events: {max(seqs)} is not before {before}")
    if len(set(seqs)) != len(seqs):
        raise ValueError("sourceEventSeqs must not hold duplicates")
    return seqs


def _user(row: Any) -> Event:
    data = row.data
    return UserMessage(row.seq, row.time, data.content, data.source.kind, _replaces(row), _sources(row))


def _user_v4(row: Any) -> Event:
    if row.data.source.kind == "plugin":
        raise ValueError('source kind "plugin" is of the formats before 4; the part of the harness must be named')
    return _user(row)


def _system(row: Any) -> Event:
    return SystemMessage(row.seq, row.time, row.data.message.content, _replaces(row), _sources(row))


def _developer(row: Any) -> Event:
    return DeveloperMessage(row.seq, row.time, row.data.message.content, _replaces(row), _sources(row))


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
        _sources(row),
    )


def _assistant_v3(row: Any) -> Event:
    if row.sourceEventSeqs is not UNSET:
        raise ValueError("sourceEventSeqs must not stand on an answer from format 3 on")
    return _assistant(row)


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
    signatures = _signatures(bytes(source.replayState))  # type: ignore[arg-type]
    if len(signatures) != len(content):
        return content
    return tuple(
        msgspec.structs.replace(block, signature=str(signature or "")) if isinstance(block, Reasoning) else block
        for block, signature in zip(content, signatures, strict=True)
    )


def _signatures(state: bytes) -> Sequence[Any]:
    try:
        return [block.signature for block in msgspec.json.decode(state, type=_ReplayState).blocks]
    except (msgspec.MsgspecError, RecursionError):
        pass  # a lone surrogate, or another shape
    parsed = js.parse(state)
    blocks = parsed.get("blocks") if isinstance(parsed, dict) else None
    if not isinstance(blocks, list):
        return ()
    return [block.get("signature") if isinstance(block, dict) else None for block in blocks]


def _wrapped_result(row: Any) -> Event:
    message = row.data.message
    return _result(row, message.id, message.content[0])


def _wrapped_result_v3(row: Any) -> Event:
    _check_error(row.data, row.data.message.content[0].isError)
    return _wrapped_result(row)


def _direct_result(row: Any) -> Event:
    message = row.data.message
    _check_error(row.data, message.isError)
    return _result(row, message.id, message)


def _check_error(data: Any, flag: Any) -> None:
    if data.error is not UNSET and flag is not True and bytes(data.error) != b"null":
        raise ValueError("carries an error, but isError is not true")


def _result(row: Any, message_id: str, shown: Any) -> Event:
    data = row.data
    if shown.toolCallId != data.message.source.callId:
        raise ValueError(f"answers call {shown.toolCallId!r}, but its source names {data.message.source.callId!r}")
    envelope = Envelope(
        message_id,
        _text(data.error),
        _text(data.meta),
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
        _sources(row),
    )


def _text(value: Any) -> str:
    if value is UNSET:
        return ""
    js.check_depth(bytes(value))
    return bytes(value).decode()


def _header(row: Any) -> Event:
    if row.data.reason == "fallback":
        raise ValueError('has the old reason "fallback", which DSH no longer reads')
    header = row.data.header
    tools = "" if header.tools is UNSET else js.text(js.parse(bytes(header.tools)))
    # As DSH's canonicalHeader and headerEquals: an empty system text, or no tools, is the same as none; of the settings
    # only these tell two headers apart.
    system = None if header.system is UNSET or not header.system else header.system
    config = {name: value for name, value in _settings(header.config).items() if name in _COMPARED}
    defaults = [name for name, value in sorted(_settings(header.adapterDefaults).items()) if value is True]
    rest = {"config": config, "adapterDefaults": [name for name in defaults if name in _DEFAULTED]}
    return RequestHeader(row.seq, row.time, system, "" if tools in ("[]", "null") else tools, js.sorted_text(rest))


_DEFAULTED = frozenset({"reasoningEffort", "maxTokens"})
_COMPARED = frozenset({"provider", "model", "temperature", "stop"}) | _DEFAULTED


def _settings(value: Any) -> dict[str, Any]:
    settings = {} if value is UNSET else js.parse(bytes(value))
    return settings if isinstance(settings, dict) else {}


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
        chunk = js.parse(bytes(record.chunk))
        if not isinstance(chunk, dict):
            raise ValueError("its stream holds a chunk that is no object")
        if chunk.get("type") == "finish" and _is_overflow(chunk.get("reason")):
            return Overflow(row.seq, row.time, data.turn, data.step)
    return Other(row.seq, row.time, "assistant/attempt")


def _is_overflow(reason: Any) -> bool:
    failure = reason.get("failure") if isinstance(reason, dict) else None
    return isinstance(failure, dict) and failure.get("code") == OVERFLOW


def _other(name: str) -> Translate:
    return lambda row: Other(row.seq, row.time, name)


def spells_own(row: Any) -> bool:
    """Does a surface row hold what only refold gives: a name with an ampersand, which the wire types know too?"""
    data = row.data
    message = data if type(data) is UserData else data.message
    content: Any = message.content
    if isinstance(data, ResultData):
        if data.extra:
            return True
        if type(message) is WrappedResult:
            content = content[0].content
    for block in content:  # noqa: SIM110  # a loop, because every message passes here
        if _is_own(block):
            return True
    return False


def chunk_spells_own(chunk: Any) -> bool:
    """The same for a chunk of the stream."""
    return type(chunk) is UnknownChunk or (type(chunk) is BlockEnd and _is_own(chunk.block))


def _is_own(block: Any) -> bool:
    kind = type(block)
    return kind is Opaque or block.extra != "" or (kind is Reasoning and block.signature != "")


@cache
def translations(version: int) -> MappingProxyType[type, Translate]:
    """The function for each row type of a format version; stream chunks and packed rows have none."""
    named: dict[str, Translate] = {
        "turn/start": _turn_start,
        "turn/end": _turn_end,
        "step/start": _step_start,
        "step/end": _step_end,
        "tool/call": _call,
        "user/message": _user if version < 4 else _user_v4,
        "system/message": _system,
        "developer/message": _developer,
        "assistant/message": _assistant if version < 3 else _assistant_v3,
        "tool/result": (_wrapped_result, _wrapped_result_v3, _direct_result)[(version >= 3) + (version >= 4)],
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
    return MappingProxyType({kind: named[name] for name, kind in rows(version).items() if name in named})
