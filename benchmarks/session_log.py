"""The log that the benchmarks run on: the size and make-up of a nine-day DSH session, generated, always the same bytes.

V0, plain, about 97,000 events in 36 MB: 3,100 steps, 6,400 surface nodes, 81,000 chunk events; one tool result in
twelve is over 8,192 code points, a tenth of the results hold CJK and an emoji.
"""

import json
from collections.abc import Iterator
from pathlib import Path

STEPS, TURNS, CHUNKS = 3_100, 200, 26


def rows() -> Iterator[str]:
    yield _row({"type": "session", "version": 0, "id": "bench", "createdAt": 0, "cwd": "/w", "delegationDepth": 0})
    seq = 0

    def event(kind: str, data: object, **rest: object) -> str:
        nonlocal seq
        seq += 1
        return _row({"type": kind, "seq": seq - 1, "time": 1_700_000_000_000 + seq, "data": data, **rest})

    turn = step = 0
    for number in range(STEPS):
        if number * TURNS // STEPS != (number - 1) * TURNS // STEPS or number == 0:
            if turn:
                yield event("turn/end", {"turn": turn, "reason": {"kind": "completed"}})
            turn, step = turn + 1, 0
            yield event("turn/start", {"turn": turn})
        step += 1
        at = {"turn": turn, "step": step}
        yield event("step/start", at)
        if step == 1:
            text = {"type": "text", "text": f"Question {turn}. " * 20}
            yield event("user/message", _message("user", [text], {"kind": "user"}, f"u{seq}"), surfaceOp="append")
        if number == 0:
            header = {"config": {"provider": "p", "model": "m"}, "system": "You are an agent. " * 100, "tools": []}
            yield event("request/header", {"header": header, "reason": "initial"})
            yield event("request/context", {"provider": "p", "model": "m", "contextWindow": 1_000_000})
        name, call_id = ("read", "bash", "grep", "write")[number % 4], f"call_{number}"
        arguments = json.dumps({"path": f"src/module_{number % 97}.py", "limit": 200})
        thought = "Looking at the next file to see how it is used. " * 4
        blocks = [
            {"type": "reasoning", "text": thought},
            {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments},
        ]
        first = seq
        for chunk in _chunks(blocks):
            yield event("assistant/chunk", {**at, "chunk": chunk})
        source = {"kind": "model", "provider": "p", "model": "m"}
        usage = {"inputTokens": 1000 + number * 60, "outputTokens": 90, "cacheReadTokens": number * 55}
        answer = {**at, "message": _message("assistant", blocks, source, f"a{seq}"), "usage": usage}
        cited = list(range(first, seq))
        yield event("assistant/message", answer, sourceEventSeqs=cited, surfaceOp="append")
        call = {**at, "callId": call_id, "name": name, "arguments": arguments}
        yield event("tool/call", call)
        text = _result(number)
        block = {"type": "tool-result", "toolCallId": call_id, "content": [{"type": "text", "text": text}]}
        result = _message("user", [block], {"kind": "tool", "callId": call_id}, f"r{seq}")
        yield event("tool/result", {**at, "message": result}, sourceEventSeqs=[seq - 1], surfaceOp="append")
        yield event("step/end", at)
    yield event("turn/end", {"turn": turn, "reason": {"kind": "completed"}})


def _row(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _message(role: str, content: list[dict[str, object]], source: dict[str, str], name: str) -> dict[str, object]:
    return {"id": name, "role": role, "content": content, "source": source}


def _chunks(blocks: list[dict[str, str]]) -> Iterator[dict[str, object]]:
    """Both blocks as a provider streams them: start, deltas, end; then usage and finish. CHUNKS in all."""
    pieces = CHUNKS - 6
    for index, (block, count) in enumerate(zip(blocks, (pieces - 4, 4), strict=True)):
        yield {"type": "block-start", "index": index, "blockType": block["type"]}
        text = block.get("text") or block["arguments"]
        size = -(-len(text) // count)
        for at in range(count):
            piece = text[at * size : (at + 1) * size]
            if block["type"] == "reasoning":
                yield {"type": "reasoning-delta", "index": index, "text": piece}
            else:
                yield {"type": "tool-call-delta", "index": index, "id": block["id"], "argumentsDelta": piece}
        yield {"type": "block-end", "index": index, "block": block}
    yield {"type": "usage", "usage": {"inputTokens": 1000, "outputTokens": 90}}
    yield {"type": "finish", "reason": {"kind": "tool-calls"}}


def _result(number: int) -> str:
    line = f"{number:06d}: the quick brown fox jumps over the lazy dog, value={number * 7919 % 9973}\n"
    if number % 10 == 3:
        line = f"{number:06d}: 编译警告 😀 变量 value={number * 7919 % 9973} 未使用, see the log for more\n"
    wanted = 22_000 if number % 12 == 5 else 1_200 + number * 37 % 6_400
    return (line * (wanted // len(line) + 1))[:wanted]


def write(path: Path) -> None:
    """The log at `path`, one row a line."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(row + "\n" for row in rows())
