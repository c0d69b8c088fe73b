"""Rows that the strict types refuse: old V0 shapes, rows without numbers, blocks that refold knows no name for.

An upgraded row has the modern shape of its version; a block of an unknown type, or with fields beyond its own, is put
into the form in which refold carries it (see `_blocks`). Which old shapes there were, and what becomes of each, is the
official V0 reader's.
"""

from types import MappingProxyType
from typing import Any, get_args

import msgspec

from refold.events import _json as js
from refold.events._dsh_wire import KNOWN_SILENT
from refold.events._events import Chunk, UnknownChunk

_OWN = MappingProxyType(
    {
        "text": frozenset({"type", "text"}),
        "reasoning": frozenset({"type", "text"}),
        "tool-call": frozenset({"type", "id", "name", "arguments"}),
    }
)
_RENAMED = MappingProxyType(
    {
        "compact/start": "compaction/start",
        "compact/summary": "compaction/summary",
        "compact/end": "compaction/end",
        "session/inherited": "session/end-seed",
        "context/message": "user/message",
        "steering/message": "user/message",
    }
)
_REFUSED = MappingProxyType(
    {
        "mode/set": "an old event that DSH no longer reads",
        "request/header-delta": "an old event that DSH no longer reads",
        "image/offload": "images moved out of the prompt, which refold does not support",
    }
)
_IN_ANSWERS = frozenset({"assistant/chunk", "text-chunks", "reasoning-chunks", "tool-call-chunks"})
_CHUNKS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(Chunk) if kind is not UnknownChunk)


class Upgrade:
    """Upgrades one log's rows. `session` is the log's id, which old messages without an id are named after.

    `unnumbered`: do the rows stand without their places and times?
    """

    def __init__(self, version: int, session: str) -> None:
        self._version, self._session = version, session
        self._ids: dict[int, str] = {}
        self.unnumbered = False

    def numbered(self, row: dict[str, Any], seq: int) -> dict[str, Any]:
        """The row with its place and time; DSH's own fixtures leave them out, from the first row on."""
        if seq == 0 and not row.keys() & {"seq", "seq0", "time", "time0"}:
            self.unnumbered = True
        if not self.unnumbered:
            return row
        packed = isinstance(row.get("data"), dict) and "dt" in row["data"]
        names = ("seq0", "time0") if packed else ("seq", "time")
        return {**dict(zip(names, (seq, 0), strict=True)), **row}

    def raw(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row in the modern shape of its version. Raises ValueError for a shape that DSH refuses too."""
        kind = row["type"]
        if kind in _REFUSED:
            raise ValueError(f"{kind} is {_REFUSED[kind]}")
        if kind in _IN_ANSWERS and self._version > 1:
            raise ValueError(f"{kind} is a row of formats 0 and 1; later answers hold their stream themselves")
        if self._version > 1 or not isinstance(row.get("data"), dict):
            return row
        row = {**row, "type": _RENAMED.get(kind, kind)}
        data = dict(row["data"])
        if kind == "steering/message" and isinstance(data.get("message"), dict):
            data = dict(data["message"])
        if row["type"] == "turn/end":
            data["reason"] = _turn_reason(data.get("reason"))
        elif row["type"] == "user/message" and "role" not in data:
            data = {"id": self._id(row), "role": "user", "source": {"kind": "user"}, **_without(data, "turn")}
        elif row["type"] == "assistant/message" and "message" not in data:
            data = self._answer(row, data)
        elif row["type"] == "tool/result" and "message" not in data:
            data = self._result(row, data)
        return {**row, "data": data}

    def _id(self, row: dict[str, Any]) -> str:
        return f"legacy-message:{self._session}:{row.get('seq')}"

    def _answer(self, row: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        provenance = data.get("provenance") if isinstance(data.get("provenance"), dict) else {}
        message = {
            "id": self._id(row),
            "role": "assistant",
            "content": data.get("content"),
            "source": {**(provenance or {}), "kind": "model"},
        }
        return {**_without(data, "content", "provenance"), "message": message}

    def _result(self, row: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        op, seq = row.get("surfaceOp"), row.get("seq")
        name = self._id(row)
        if isinstance(op, dict) and isinstance(op.get("start"), int):
            name = self._ids.get(op["start"], name)
        if isinstance(seq, int):
            self._ids[seq] = name
        call_id = data.get("callId")
        block = {"type": "tool-result", "toolCallId": call_id, "content": data.get("content")}
        if "isError" in data:
            block["isError"] = data["isError"]
        message = {"id": name, "role": "user", "source": {"kind": "tool", "callId": call_id}, "content": [block]}
        return {**_without(data, "callId", "content", "isError"), "message": message}

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row in its modern shape, ready for the wire types. Raises ValueError."""
        row = self.raw(row)
        if row["type"] in KNOWN_SILENT:
            return _raw(row, "data")
        data = row.get("data")
        if not isinstance(data, dict):
            return row
        kind = row["type"]
        if kind == "tool/result":
            data = _result_data(data, wrapped=self._version < 4)
        elif kind == "user/message":
            data = {**data, "content": _blocks(data.get("content"))}
        elif kind in ("assistant/message", "system/message", "developer/message"):
            message = data.get("message")
            if isinstance(message, dict):
                data = {**data, "message": _raw_in(_with_blocks(message), "source", "replayState")}
        elif kind == "request/header":
            for part in ("config", "adapterDefaults", "tools"):
                data = _raw_in(data, "header", part)
        elif kind == "assistant/attempt" and isinstance(data.get("stream"), list):
            data = {
                **data,
                "stream": [_raw(record, "chunk") if isinstance(record, dict) else record for record in data["stream"]],
            }
        elif kind == "assistant/chunk" and isinstance(data.get("chunk"), dict):
            data = {**data, "chunk": _chunk(data["chunk"])}
        return {**row, "data": data}


def _chunk(chunk: dict[str, Any]) -> dict[str, Any]:
    kind = chunk.get("type")
    if isinstance(kind, str) and kind not in _CHUNKS:
        return {"type": str(UnknownChunk.__struct_config__.tag), "name": kind}
    return {**chunk, "block": _block(chunk["block"])} if "block" in chunk else chunk


def _without(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in names}


def _turn_reason(reason: Any) -> Any:
    if not isinstance(reason, dict):
        return reason
    if reason.get("kind") == "disposed":
        return {"kind": "aborted", "reason": {"kind": "disposed"}}
    if reason.get("kind") == "aborted" and "reason" not in reason:
        return {"kind": "aborted", "reason": {"kind": "legacy"}}
    return reason


def _with_blocks(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "content": _blocks(message.get("content"))}


def _blocks(content: Any) -> Any:
    return [_block(block) for block in content] if isinstance(content, list) else content


def _block(block: Any) -> Any:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return block
    kind = block["type"]
    own = _OWN.get(kind)
    if own is None or not all(isinstance(block.get(name), str) for name in own):
        return {"type": "&opaque", "json": js.text(block)}
    if block.keys() == own:
        return block
    extra = _without(block, *own)
    return {**{name: block[name] for name in own}, "&extra": js.text(extra)}


def _raw(value: dict[str, Any], name: str) -> dict[str, Any]:
    """The object with one member as the JSON text the wire types want."""
    if name not in value:
        return value
    return {**value, name: msgspec.Raw(js.text(value[name]).encode("utf-8", "surrogatepass"))}


def _raw_in(value: dict[str, Any], inner: str, name: str) -> dict[str, Any]:
    return {**value, inner: _raw(value[inner], name)} if isinstance(value.get(inner), dict) else value


def _result_data(data: dict[str, Any], wrapped: bool) -> dict[str, Any]:
    """A result's data with what has no name of its own gathered in one JSON text."""
    extra: dict[str, Any] = {}

    def named(level: str, value: dict[str, Any], *names: str) -> dict[str, Any]:
        rest = _without(value, *names)
        if rest:
            extra[level] = rest
        return {name: value[name] for name in names if name in value}

    message = data.get("message")
    if not isinstance(message, dict):
        return data
    body = dict(message)
    if isinstance(body.get("source"), dict):
        body["source"] = named("source", body["source"], "kind", "callId")
    if wrapped:
        content = body.get("content")
        if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
            block = named("block", content[0], "type", "toolCallId", "content", "isError")
            body["content"] = [_with_blocks(block)]
        body = named("message", body, "id", "role", "source", "content")
    else:
        body = named("message", _with_blocks(body), "id", "role", "toolCallId", "source", "content", "isError")
    kept = named("data", data, "turn", "step", "error", "meta", "message")
    kept = _raw(_raw({**kept, "message": body}, "error"), "meta")
    return {**kept, "&extra": js.text(extra)} if extra else kept
