"""Round files: the originals of one turn, or of one of its steps, as one JSON document (schemaVersion 2).

Each entry holds the result's event and that of its call, in the form of DSH's formats V0 to V3 whatever the log's own:
the form that every reader of such files knows. The form of V4 is read too.
"""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from refold.archive.originals import Original
from refold.events import Block, Envelope, Opaque, Text, ToolCall, ToolResult
from refold.prompt import rendered_block
from refold.reducer._receipt import UNKNOWN_TOOL, Origin

SCHEMA = 2


def document(turn: int, step: int | None, kept: list[Original], session_id: str | None, workspace: str | None) -> Any:
    """The document of a round as JSON values; `kept` has at least one original."""
    times = [original.result.time for original in kept]
    place = {"turn": turn} if step is None else {"turn": turn, "step": step}
    about = {"schemaVersion": SCHEMA, "sessionId": session_id, "workspace": workspace, **place}
    return {**about, "timeFrom": min(times), "timeTo": max(times), "toolResults": [_entry(one) for one in kept]}


def joined(standing: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A document with the entries of another that it lacks, by seq; `standing` itself where it lacks none.

    What stands there stays as it is, whatever it holds. Raises ValueError where it is no document of a round.
    """
    entries = standing.get("toolResults")
    if not isinstance(entries, list):
        raise ValueError("is no round file: it has no list of results")
    known = {entry["seq"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("seq"), int)}
    added = [entry for entry in new["toolResults"] if entry["seq"] not in known]
    if not added:
        return standing
    times = [value for value in (standing.get("timeFrom"), standing.get("timeTo")) if isinstance(value, int)]
    span = {"timeFrom": min([*times, new["timeFrom"]]), "timeTo": max([*times, new["timeTo"]])}
    return {**standing, **span, "toolResults": sorted([*entries, *added], key=_seq)}


def _seq(entry: Any) -> int:
    return _whole(entry.get("seq"), -1) if isinstance(entry, dict) else -1


def encoded(value: Any) -> bytes:
    """JSON with an indent of two; non-ASCII unescaped but for lone surrogates, which UTF-8 has no form for."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2)
    except UnicodeEncodeError:  # a lone surrogate; json takes it, but indents much more slowly
        return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace")


def parsed(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`. Raises ValueError where there is none."""
    try:
        value = json.loads(data.decode())
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    return value


def originals_in(value: dict[str, Any], turn: int) -> list[Original]:
    """The originals of a turn's document, in its order. An entry that holds no result is passed over."""
    listed = value.get("toolResults")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    seen: dict[int, int] = {}
    found = []
    for entry in entries:
        step = _whole(entry.get("step"), _whole(_data(entry.get("event")).get("step"), 0))
        seen[step] = seen.get(step, 0) + 1
        original = _original(entry, turn, step, seen[step])
        if original is not None:
            found.append(original)
    return found


def merged(groups: Iterable[list[Original]]) -> list[Original]:
    """The originals of several files, each seq once (the first counts), in seq order; those without one stay."""
    by_seq: dict[int, Original] = {}
    loose = []
    for original in (one for group in groups for one in group):
        if original.result.seq < 0:
            loose.append(original)
        else:
            by_seq.setdefault(original.result.seq, original)
    return [*loose, *(by_seq[seq] for seq in sorted(by_seq))]


def _entry(original: Original) -> dict[str, Any]:
    result = original.result
    return {
        "seq": result.seq,
        "time": result.time,
        "turn": result.turn,
        "step": result.step,
        "callId": result.call_id or None,
        "toolName": original.origin.tool or UNKNOWN_TOOL,
        "call": None if original.call is None else _call_event(original.call),
        "event": _result_event(result),
    }


def _call_event(call: ToolCall) -> dict[str, Any]:
    asked = {"callId": call.call_id, "name": call.name, "arguments": call.arguments}
    data = {"turn": call.turn, "step": call.step, **asked}
    return {"type": call.type, "seq": call.seq, "time": call.time, "data": data}


def _result_event(result: ToolResult) -> dict[str, Any]:
    envelope = result.envelope
    block: dict[str, Any] = {
        "type": "tool-result",
        "toolCallId": result.call_id,
        "content": [rendered_block(part) for part in result.content],
    }
    if result.is_error or envelope.flagged:
        block["isError"] = result.is_error
    source = {"kind": "tool", "callId": result.call_id}
    data: dict[str, Any] = {
        "turn": result.turn,
        "step": result.step,
        "message": {"id": envelope.message_id, "role": "user", "source": source, "content": [block]},
    }
    data |= {name: json.loads(told) for name, told in (("error", envelope.error), ("meta", envelope.meta)) if told}
    event = {"type": result.type, "seq": result.seq, "time": result.time, "data": data, "surfaceOp": "append"}
    return event if result.sources is None else {**event, "sourceEventSeqs": list(result.sources)}


def _original(entry: dict[str, Any], turn: int, step: int, place: int) -> Original | None:
    data = _data(entry.get("event"))
    message = data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(content, list):
        return None
    parts = [part for part in content if isinstance(part, dict)]
    wrapped = [part for part in parts if part.get("type") == "tool-result"]
    is_error = any(part.get("isError") is True for part in (wrapped or [message]))
    if wrapped:
        within = [one["content"] for one in wrapped if isinstance(one.get("content"), list)]
        parts = [part for inner in within for part in inner if isinstance(part, dict)]
    call = _call(entry.get("call"))
    tool = entry.get("toolName")
    call_id = entry.get("callId")
    result = ToolResult(
        _whole(entry.get("seq"), -1),
        _whole(entry.get("time"), 0),
        tuple(map(_block, parts)),
        turn,
        step,
        call_id if isinstance(call_id, str) else "",
        is_error,
        _envelope(message, data),
    )
    named = tool if isinstance(tool, str) and tool != UNKNOWN_TOOL else ""
    arguments = call.arguments if call else ""
    return Original(Origin(turn, step, place, named, result.call_id, arguments), result, call)


def _call(event: Any) -> ToolCall | None:
    data = _data(event)
    arguments = data.get("arguments")
    if not isinstance(arguments, str):
        return None
    name, call_id = data.get("name"), data.get("callId")
    return ToolCall(
        _whole(event.get("seq"), -1),
        _whole(event.get("time"), 0),
        _whole(data.get("turn"), 0),
        _whole(data.get("step"), 0),
        call_id if isinstance(call_id, str) else "",
        name if isinstance(name, str) else "",
        arguments,
    )


def _envelope(message: dict[str, Any], data: dict[str, Any]) -> Envelope:
    message_id = message.get("id")
    error, meta = _json(data.get("error")), _json(data.get("meta"))
    return Envelope(message_id if isinstance(message_id, str) else "", error, meta)


def _block(value: dict[str, Any]) -> Block:
    text = value.get("text")
    if value.get("type") != "text" or not isinstance(text, str):
        return Opaque(_json(value))
    extra = {name: part for name, part in value.items() if name not in ("type", "text")}
    return Text(text, _json(extra) if extra else "")


def _data(event: Any) -> dict[str, Any]:
    data = event.get("data") if isinstance(event, dict) else None
    return data if isinstance(data, dict) else {}


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _whole(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
