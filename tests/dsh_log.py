"""Small DSH logs of every format, row by row, and the recorded ones that the tests read."""

import json
from pathlib import Path
from typing import Any

import zstandard

Json = dict[str, Any]

LOGS = Path(__file__).parent / "data" / "logs"
EXPECTED: dict[str, Json] = json.loads((LOGS / "expected-surfaces.json").read_text("utf-8"))


def recorded(name: str) -> bytes:
    return zstandard.decompress((LOGS / f"{name}.zst").read_bytes())


def header(version: int = 0, **more: Any) -> Json:
    return {"type": "session", "version": version, "id": "s-1", "createdAt": 0, "delegationDepth": 0, **more}


def row(kind: str, seq: int, data: Any, **envelope: Any) -> Json:
    return {"type": kind, "seq": seq, "time": 1_700_000_000_000 + seq, "data": data, **envelope}


def user(seq: int, text: str = "hello", **envelope: Any) -> Json:
    data = {"id": f"u{seq}", "role": "user", "content": [{"type": "text", "text": text}], "source": {"kind": "user"}}
    return row("user/message", seq, data, **{"surfaceOp": "append", **envelope})


def answer(seq: int, **envelope: Any) -> Json:
    source = {"kind": "model", "provider": "p", "model": "m"}
    content = [{"type": "tool-call", "id": "c1", "name": "bash", "arguments": "{}"}]
    message = {"id": f"a{seq}", "role": "assistant", "content": content, "source": source}
    return row("assistant/message", seq, {"turn": 1, "step": 1, "message": message}, surfaceOp="append", **envelope)


def result(seq: int, content: list[Json], version: int = 0, **more: Any) -> Json:
    """A result with fields that nobody knows at every level, which whoever rewrites it must keep."""
    shown: Json = {"content": content, "isError": False, "futureResult": [1.5, "漢"]}
    if version < 4:
        block = {"type": "tool-result", "toolCallId": "c1", **shown}
        message = {"id": "r", "role": "user", "source": {"kind": "tool", "callId": "c1"}, "content": [block]}
    else:
        message = {"id": "r", "role": "tool", "toolCallId": "c1", "source": {"kind": "tool", "callId": "c1"}, **shown}
    data = {"turn": 1, "step": 1, "message": message, "meta": {"exitCode": 0}, "futureData": {"b": 1, "a": None}}
    return row("tool/result", seq, data, sourceEventSeqs=[seq - 1], surfaceOp="append", **more)


def session(version: int, content: list[Json]) -> list[Json]:
    """One whole turn with one tool result, of seq 5."""
    return [
        header(version),
        row("turn/start", 0, {"turn": 1}),
        row("step/start", 1, {"turn": 1, "step": 1}),
        user(2),
        answer(3),
        row("tool/call", 4, {"turn": 1, "step": 1, "callId": "c1", "name": "bash", "arguments": "{}"}),
        result(5, content, version),
        row("step/end", 6, {"turn": 1, "step": 1}),
        row("turn/end", 7, {"turn": 1, "reason": {"kind": "completed"}}),
    ]


def lines(*rows: Json | bytes) -> bytes:
    """The rows as the harness writes them; bytes are taken as they are."""
    return b"".join(value if isinstance(value, bytes) else line(value) for value in rows)


def line(value: Json) -> bytes:
    """A row with its line end. Lone surrogates, which have no UTF-8, become the escapes that JavaScript writes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def frames(*parts: bytes) -> bytes:
    """Each part as a zstd frame of its own, with a checksum."""
    return b"".join(zstandard.ZstdCompressor(write_checksum=True).compress(part) for part in parts)
