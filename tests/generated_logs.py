"""Hypothesis strategy for whole DSH session logs of format V0, as lists of plain event dicts.

A log obeys the format, and is as odd as the format allows; `broken_logs.py` breaks it.
"""

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st
from tests.generated import (
    LONG,
    PAYLOADS,
    SHORT,
    Json,
    blocks,
    reasoning_block,
    text_block,
    tool_calls,
    unknown_blocks,
    weighted,
)
from tests.generated_streams import WAYS, chunks

short_contents = blocks(SHORT, max_size=2)
result_contents = blocks(LONG, max_size=3)
said = st.lists(weighted((2, LONG.map(text_block)), (1, LONG.map(reasoning_block)), (1, unknown_blocks)), max_size=2)
asked = st.lists(tool_calls, max_size=3)


class Session(NamedTuple):
    """`events` of one log, and the names of what is special about it."""

    events: list[Json]
    traits: frozenset[str]


def _is_ordinary(block: Json) -> bool:
    return block["type"] in ("text", "reasoning", "tool-call") and "annotations" not in block


def _neighbours(header: Json) -> dict[str, Json]:
    """Headers one step away from this one, by what is changed. The official comparison sees only some of it."""
    config, defaults = header["config"], header.get("adapterDefaults", {})
    return {
        "nothing": header,
        "keys in another order": _backwards(header),
        "model": {**header, "config": {**config, "model": config["model"] + "x"}},
        "temperature": {**header, "config": {**config, "temperature": config.get("temperature", 0) + 0.5}},
        "stop": {**header, "config": {**config, "stop": [*config.get("stop", ()), "y"]}},
        "setting that goes uncompared": {**header, "config": {**config, "topP": config.get("topP", 0) + 0.5}},
        "no adapter defaults": {**header, "adapterDefaults": {}},
        "adapter default": {**header, "adapterDefaults": {**defaults, "maxTokens": True}},
        "system": {**header, "system": header.get("system", "") + "."},
        "empty system": {**header, "system": ""},
        "no tools": {**header, "tools": []},
        "one more tool": {**header, "tools": [*header.get("tools", ()), {"name": "bash", "parameters": {}}]},
    }


@cache
def _upto(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most)


ANSWERED = (None, *({"kind": kind} for kind in ("stop", "stop", "tool-calls", "tool-calls", "max-tokens")))
KEPT = ("whole",) * 6 + ("interrupted", "empty", "edited", "no sources", "no stream", "reordered", "thinned")
LONE_SURROGATE = re.compile(r"\\ud[89ab]..(?!\\ud[c-f])|(?<!\\ud[89ab]..)\\ud[c-f]..")
SIGNS = {
    "CJK": "\\u6f22",
    "emoji": "\\ud83d\\ude00",
    "lone surrogate": '\\ud83d"',
    "text with extra fields": '"annotations"',
}
NOISE: tuple[tuple[str, Json], ...] = (
    ("permission/preset", {"preset": "ask"}),
    ("agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": []}),
    ("todo/write", {"todos": [{"content": "漢\u2028", "status": "pending"}]}),
    (
        "tool/code-dispatch",
        {"rootCallId": "a", "parentCallId": "a", "subCallId": "b", "content": [text_block("x" * 90)]},
    ),
    ("hook/result", {"turn": 1, "point": "p", "handlerId": "h", "decision": "allow", "durationMs": 1.25}),
    ("someone's own", {"type": "tool/result", "surfaceOp": "append"}),
)


class _Writer:
    """Writes one log: `log` and `append` and `replace` add events, all else says which."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.events: list[Json] = []
        self.nodes: list[int] = []
        self.traits: set[str] = set()
        self.turn = self.step = 0
        self.frame: Json = {}
        # A reader may have a fast way for what every log holds: half of the logs shall hold nothing else.
        self.ordinary = self.once_in(2, "ordinary")

    # --- drawing

    def upto(self, most: int) -> int:
        return self.draw(_upto(most))

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.upto(len(options) - 1)]

    def once_in(self, times: int, trait: str = "") -> bool:
        happens = self.upto(times - 1) == times - 1
        if happens and trait:
            self.traits.add(trait)
        return happens

    def content(self, contents: st.SearchStrategy[list[Json]]) -> list[Json]:
        drawn = self.draw(contents)
        return [block for block in drawn if _is_ordinary(block)] if self.ordinary else drawn

    # --- events

    def log(self, kind: str, data: Json, **envelope: Any) -> int:
        seq = len(self.events)
        self.events.append({"type": kind, "seq": seq, "time": 1_783_352_165_190 + 7 * seq, "data": data, **envelope})
        return seq

    def append(self, kind: str, data: Json, sources: list[int] | None = None) -> int:
        cited = {} if sources is None else {"sourceEventSeqs": sources}
        seq = self.log(kind, data, **cited, surfaceOp="append")
        self.nodes.append(seq)
        return seq

    def replace(self, kind: str, data: Json, start: int, end: int, also: Sequence[int] = ()) -> int:
        """Replace the nodes at the positions `start` to `end`, citing them and `also`."""
        shadowed = self.nodes[start : end + 1]
        op = {"op": "replace", "start": shadowed[0], "end": shadowed[-1]}
        seq = self.log(kind, data, sourceEventSeqs=[*also, *shadowed], surfaceOp=op)
        self.nodes[start : end + 1] = [seq]
        return seq

    def here(self, **more: Any) -> Json:
        return {"turn": self.turn, "step": self.step, **more}

    def user_message(self, source: Json | None = None) -> Json:
        content = self.content(short_contents)
        return {"content": content, "source": source or {"kind": "user"}, "role": "user", "id": f"m{len(self.events)}"}

    def assistant_message(self, content: list[Json]) -> Json:
        source = {"kind": "model", "provider": "p", "model": "m"}
        return {"role": "assistant", "content": content, "source": source, "id": f"m{len(self.events)}"}

    # --- what a session is made of

    def write(self) -> None:
        for _ in range(1 + self.upto(2)):
            self.between_turns()
            self.turn += 1
            self.step = 0
            self.one_turn()

    def between_turns(self) -> None:
        if self.once_in(6, "resumed"):
            self.log("session/end-seed", {})
        if self.once_in(3):
            kind, data = self.pick(NOISE[:-1] if self.ordinary else NOISE)
            self.log(kind, data, **({} if "/" in kind else {"ignorable": True}))
        if self.nodes and self.once_in(8, "manual compaction"):
            self.compact(None)
        if self.nodes and self.once_in(6, "rewrite between turns"):
            self.rewrite()

    def one_turn(self) -> None:
        self.log("turn/start", {"turn": self.turn})
        if self.turn > 1 and self.once_in(6, "blocked turn"):
            self.log("turn/end", {"turn": self.turn, "reason": {"kind": "blocked"}})
            return
        for _ in range(1 + self.upto(2)):
            for _ in range(self.upto(2)):
                if self.nodes:
                    self.rewrite()
            if len(self.nodes) > 2 and self.once_in(6, "compaction before a step"):
                self.compact(self.turn)
            self.step += 1
            self.one_step()
        reason = self.pick(({"kind": "completed"}, {"kind": "aborted", "reason": {"kind": "user"}}))
        self.traits.add(f"{reason['kind']} turn")
        self.log("turn/end", {"turn": self.turn, "reason": reason})

    def one_step(self) -> None:
        self.log("step/start", self.here())
        for _ in range(self.upto(1) if self.step > 1 else 1 + self.upto(1)):
            self.append("user/message", self.user_message())
        if self.once_in(6):
            self.log("session/title", {"title": "t", "messageSeqs": [0], "source": {"kind": "fallback"}})
        if (self.turn, self.step) == (1, 1) and self.once_in(12, "no header"):
            pass
        elif (self.turn, self.step) == (1, 1) or self.once_in(2, "header again"):
            self.header()
        if self.once_in(5, "failed attempt"):
            self.failed_attempt()
        if self.once_in(12, "step without an answer"):
            pass
        else:
            self.answer()
        if self.nodes and self.once_in(10, "rewrite inside a step"):
            self.rewrite()
        if self.nodes and self.once_in(10, "answer over a node"):
            # Only without usage: with it, the official meter wants every cited event to be a chunk.
            message = self.assistant_message(self.content(said))
            at = self.upto(len(self.nodes) - 1)
            self.replace("assistant/message", self.here(message=message), at, at)
        self.log("step/end", self.here())

    def header(self) -> None:
        """A new frame for the requests, or the last one again with at most one thing changed."""
        if self.frame and self.upto(3):
            changed, header = self.pick(list(_neighbours(self.frame).items()))
            self.traits.add(f"header again: {changed}")
        else:
            header = self.new_header()
        self.frame = header
        self.log("request/header", {"header": header, "reason": self.pick(("initial", "change", "resume"))})
        if self.once_in(3):
            self.log("request/context", {"provider": "p", "model": "m", "contextWindow": 65536})

    def new_header(self) -> Json:
        header: Json = {"config": {"provider": "p", "model": "m"}}
        if self.once_in(3):
            header["config"] |= {"maxTokens": 4096, "stop": ["x"], "reasoningEffort": "high"}
            header["adapterDefaults"] = {"maxTokens": True}
        if self.upto(3):
            header["system"] = self.draw(SHORT)
        if self.upto(2):
            schema = self.pick(({"type": "object"}, {}, {"type": "object", "properties": {"漢": {"type": "string"}}}))
            tool = {"name": "read", "description": self.draw(SHORT), "parameters": schema}
            header["tools"] = self.pick(([tool], [tool, tool], []))
        return header

    def failed_attempt(self) -> None:
        """A request that failed after some output: its chunks stay in the log, cited by nobody (as a rule)."""
        content = [*self.content(said), *self.draw(asked)]
        code = self.pick(("CONTEXT_WINDOW_EXCEEDED", "RATE_LIMITED"))
        self.stream(content, {"kind": "error", "failure": {"message": "refused", "code": code}})
        if code == "CONTEXT_WINDOW_EXCEEDED":
            self.traits.add("overflow inside a step")
            for _ in range(self.upto(2)):
                self.rewrite()
            if self.once_in(2):
                self.compact(self.turn)
        else:
            self.log("llm/retry-started", {"retryId": "r", **self.here(), "retry": 1})

    def stream(self, content: list[Json], reason: Json | None, usage: Json | None = None) -> list[int]:
        """The chunks of one attempt; the seqs of all of them."""
        ways = [self.pick(WAYS) for _ in content]
        per_block = [
            chunks(index, block, way, self.pick) for index, (block, way) in enumerate(zip(content, ways, strict=True))
        ]
        self.traits.update(f"stream: {way}" for way in ways)
        if len(per_block) > 1 and self.once_in(4, "blocks stream side by side"):
            longest = max(len(chunks) for chunks in per_block)
            ordered = [chunks[i] for i in range(longest) for chunks in per_block if i < len(chunks)]
        else:
            ordered = [chunk for chunks in per_block for chunk in chunks]
        if usage is not None:
            ordered.append({"type": "usage", "usage": usage})
        if reason is not None:
            ordered.append({"type": "finish", "reason": reason})
        return [self.log("assistant/chunk", self.here(chunk=chunk)) for chunk in ordered]

    def answer(self) -> None:
        content = [*self.content(said), *self.draw(asked)]
        reason = self.pick(ANSWERED)
        usage = self.usage()
        sources: list[int] | None = self.stream(content, reason, usage)
        data = self.here()
        match self.pick(KEPT):
            case "interrupted":
                content = [block for block in content if block.get("text", "").strip()]
                data["interrupted"] = True
                self.traits.add("interrupted")
            case "empty":
                content = []
                self.traits.add("empty answer")
            case "edited":
                content = [*self.content(said), *content[1:]]
                self.traits.add("answer differs from its stream")
            case "no sources":
                sources = None
                self.traits.add("answer without sources")
            case "no stream":
                sources = []
                self.traits.add("answer of a known empty stream")
            case "reordered":
                sources.reverse()
                self.traits.add("answer cites its chunks backwards")
            case "thinned":
                del sources[: self.upto(2)], sources[self.upto(4) :: 3]
                self.traits.add("answer cites some of its chunks")
            case _ if reason == {"kind": "max-tokens"}:
                content = [block for block in content if block["type"] != "tool-call"]
                self.traits.add("max tokens")
        data["message"] = self.assistant_message(content)
        if usage is not None:
            data["usage"] = usage
        self.append("assistant/message", data, sources)
        self.run_tools([block for block in content if block["type"] == "tool-call"])

    def usage(self) -> Json | None:
        kind = self.pick(("high", "high", "low", "none"))
        self.traits.add(f"usage: {kind}")
        if kind == "none":
            return None
        base = 20_000 if kind == "high" else 0
        usage: Json = {"inputTokens": base + self.upto(3000), "outputTokens": self.upto(90)}
        for key in ("cacheReadTokens", "cacheWriteTokens", "reasoningTokens", "totalTokens"):
            if self.once_in(3):
                usage[key] = self.upto(500)
        return usage

    def run_tools(self, calls: list[Json]) -> None:
        if len(calls) > 1:
            self.traits.add("parallel calls")
        if len({call["id"] for call in calls}) < len(calls):
            self.traits.add("repeated call id")
        if any(not call["id"] for call in calls):
            self.traits.add("empty call id")
        together = self.once_in(2)
        started = [self.start_tool(call) for call in calls] if together else []
        for place, call in enumerate(calls):
            self.finish_tool(call, started[place] if together else self.start_tool(call))

    def start_tool(self, call: Json) -> int | None:
        if self.once_in(10, "call that never started"):
            return None
        return self.log("tool/call", self.here(callId=call["id"], name=call["name"], arguments=call["arguments"]))

    def finish_tool(self, call: Json, started: int | None) -> None:
        content = self.content(result_contents)
        result: Json = {"type": "tool-result", "toolCallId": call["id"], "content": content}
        data = self.here()
        if started is None:
            result["isError"] = True
            data["error"] = {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
        elif self.once_in(5, "tool error"):
            result["isError"] = True
            data["error"] = {"name": "AbortError", "code": "ABORTED"}
        elif self.once_in(2):
            result["isError"] = False
        if self.once_in(3):
            data["meta"] = self.pick(PAYLOADS)
        if not self.ordinary and self.once_in(8):
            data["futureField"] = result["futureField"] = {"z": 1, "a": [self.pick(PAYLOADS)]}
        self.traits.update(f"result holds {block['type']}" for block in content)
        source = {"kind": "tool", "callId": call["id"]}
        data["message"] = {"source": source, "content": [result], "role": "user", "id": f"r{len(self.events)}"}
        self.append("tool/result", data, None if started is None else [started])

    # --- replacements

    def rewrite(self) -> None:
        """One replacement of one node, by the pruner's pair of events or by a foreign hand."""
        at = self.upto(len(self.nodes) - 1)
        seq = self.nodes[at]
        old = self.events[seq]
        if old["type"] != "tool/result":
            if self.once_in(3, "user message over a node"):
                self.replace("user/message", self.user_message(), at, at)
            return
        content = self.pick((None, self.content(short_contents)))
        self.traits.add("replacement changes nothing" if content is None else "result rewritten")
        backwards = self.once_in(3, "replacement with its keys in another order")
        data = _with_content(old["data"], content, backwards=backwards)
        also = [self.upto(seq - 1)] if seq and self.once_in(4, "replacement cites more") else []
        if self.once_in(2, "prune record"):
            span = {"shadowedRange": {"start": seq, "end": seq}, "shadowedSeqs": [seq]}
            self.log("compaction/prune", {**span, "shadowedTokenCount": self.upto(900)})
        self.replace("tool/result", data, at, at, also)

    def compact(self, turn: int | None) -> None:
        about: Json = {"compactionId": f"c{len(self.events)}", "turn": turn}
        if turn is None:
            about["sourceCommandId"] = "k"
        started = self.log("compaction/start", about)
        if self.once_in(5, "compaction that failed"):
            self.log("compaction/end", {**about, "error": "no text"})
            return
        first = self.pick((0, 0, 0, self.upto(len(self.nodes) - 1)))
        last = first + self.upto(len(self.nodes) - 1 - first)
        shadowed = self.nodes[first : last + 1]
        summary: Json = {"compactionId": about["compactionId"], "summary": [text_block("s")], "shadowedSeqs": shadowed}
        summary |= {"shadowedRange": {"start": shadowed[0], "end": shadowed[-1]}, "shadowedTokenCount": self.upto(900)}
        told = self.log("compaction/summary", {**summary, "provider": "p", "model": "m"})
        source = {"kind": "plugin", "plugin": "compact", "compactionId": about["compactionId"]}
        self.replace("user/message", self.user_message(source), first, last, (started, told))
        self.log("compaction/end", about)
        self.traits.add("compaction")


def _with_content(data: Json, content: list[Json] | None, *, backwards: bool) -> Json:
    """A result's data with other content (None: the same), every object's keys in reverse where asked."""
    message = data["message"]
    result = message["content"][0]
    result = result if content is None else {**result, "content": content}
    changed = {**data, "message": {**message, "content": [result]}}
    return _backwards(changed) if backwards else changed


def _backwards(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _backwards(value[key]) for key in reversed(value)}
    return [_backwards(item) for item in value] if isinstance(value, list) else value


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Whole logs of format V0; one in five stops in the middle."""
    writer = _Writer(draw)
    writer.write()
    if writer.once_in(5, "log ends in the middle"):
        del writer.events[writer.upto(len(writer.events)) :]
    text = json.dumps(writer.events)
    if writer.ordinary:
        text = LONE_SURROGATE.sub("?", text)
    signs = {name for name, sign in SIGNS.items() if sign in text}
    return Session(json.loads(text), frozenset(writer.traits | signs))
