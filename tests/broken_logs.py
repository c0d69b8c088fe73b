"""Ways to break a V0 log: each takes a log that obeys the format and returns it with events that do not.

Names say what is wrong. `SURFACE` breaks what the surface is folded by, `METER` only what the token meter asks for.
"""

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
Break = Callable[[list[Json]], list[Json]]


def surface(events: list[Json]) -> list[int]:
    """The seqs on the surface, by the plainest fold there is: no check, one list."""
    nodes: list[int] = []
    for event in events:
        op = event.get("surfaceOp")
        if op == "append":
            nodes.append(event["seq"])
        elif op:
            nodes[nodes.index(op["start"]) : nodes.index(op["end"]) + 1] = [event["seq"]]
    return nodes


def _event(events: list[Json], kind: str, data: Json, **envelope: Any) -> Json:
    return {"type": kind, "seq": len(events), "time": 1_783_352_990_000 + len(events), "data": data, **envelope}


def _user(events: list[Json], **envelope: Any) -> Json:
    content = [{"type": "text", "text": "hello"}]
    data = {"id": f"u{len(events)}", "role": "user", "source": {"kind": "user"}, "content": content}
    return _event(events, "user/message", data, **envelope)


def _assistant(events: list[Json], turn: int, step: int, **more: Any) -> Json:
    source = {"kind": "model", "provider": "p", "model": "m"}
    message = {"id": f"a{len(events)}", "role": "assistant", "source": source, "content": []}
    data = {"turn": turn, "step": step, "message": message, **more.pop("data", {})}
    return _event(events, "assistant/message", data, **{"surfaceOp": "append", **more})


def _result(events: list[Json], call_id: str = "call-9", **envelope: Any) -> Json:
    content = [{"type": "text", "text": "output"}]
    block = {"type": "tool-result", "toolCallId": call_id, "isError": False, "content": content}
    message = {"id": "r9", "role": "user", "source": {"kind": "tool", "callId": call_id}, "content": [block]}
    data = {"turn": 1, "step": 1, "message": message, "meta": {"exitCode": 0}}
    return _event(events, "tool/result", data, **envelope)


def _two_nodes(events: list[Json]) -> list[Json]:
    events = [*events, _user(events, surfaceOp="append")]
    return [*events, _user(events, surfaceOp="append")]


def _over(start: int, end: int) -> Json:
    return {"op": "replace", "start": start, "end": end}


def _replacing(op: Callable[[list[int]], Any], sources: Callable[[list[int]], Any]) -> Break:
    """A user message over a range; both get the seqs on the surface, the last two of which are user messages."""

    def broken(events: list[Json]) -> list[Json]:
        events = _two_nodes(events)
        nodes = surface(events)
        cited = sources(nodes)
        return [*events, _user(events, surfaceOp=op(nodes), **({} if cited is None else {"sourceEventSeqs": cited}))]

    return broken


def _appending(**envelope: Any) -> Break:
    def broken(events: list[Json]) -> list[Json]:
        events = _two_nodes(events)
        return [*events, _user(events, **envelope)]

    return broken


def _rewriting(change: Callable[[Json], None]) -> Break:
    """A rewrite of a fresh tool result that also changes something else of it."""

    def broken(events: list[Json]) -> list[Json]:
        events = [*events, _result(events, surfaceOp="append")]
        seq = events[-1]["seq"]
        event = _result(events, surfaceOp=_over(seq, seq), sourceEventSeqs=[seq])
        change(event["data"])
        return [*events, event]

    return broken


def _call_id(data: Json) -> None:
    data["message"]["source"]["callId"] = data["message"]["content"][0]["toolCallId"] = "call-8"


def _shadowed_start(events: list[Json]) -> list[Json]:
    events = _two_nodes(events)
    seq = surface(events)[-1]
    events = [*events, _user(events, surfaceOp=_over(seq, seq), sourceEventSeqs=[seq])]
    return [*events, _user(events, surfaceOp=_over(seq, seq), sourceEventSeqs=[seq])]


def _result_over_two(events: list[Json]) -> list[Json]:
    events = [*events, _result(events, surfaceOp="append")]
    events = [*events, _result(events, surfaceOp="append")]
    last = [event["seq"] for event in events[-2:]]
    return [*events, _result(events, surfaceOp=_over(*last), sourceEventSeqs=last)]


def _result_over_a_prompt(events: list[Json]) -> list[Json]:
    events = _two_nodes(events)
    seq = events[-1]["seq"]
    return [*events, _result(events, surfaceOp=_over(seq, seq), sourceEventSeqs=[seq])]


def _log_only(**envelope: Any) -> Break:
    def broken(events: list[Json]) -> list[Json]:
        events = _two_nodes(events)
        return [*events, _event(events, "todo/write", {"todos": []}, **envelope)]

    return broken


def _seq(shift: int) -> Break:
    """A seq out of order and a turn's end behind it, without which a reader may take the row for a torn tail."""

    def broken(events: list[Json]) -> list[Json]:
        events = _two_nodes(events)
        event = _user(events, surfaceOp="append")
        events = [*events, {**event, "seq": event["seq"] + shift}]
        return [*events, _event(events, "turn/end", {"turn": 1, "reason": {"kind": "completed"}})]

    return broken


def _last(count: int) -> Callable[[list[int]], list[int]]:
    return lambda nodes: nodes[-count:]


def _last_two(nodes: list[int]) -> Json:
    return _over(*nodes[-2:])


SURFACE: dict[str, Break] = {
    "range starts at an unknown seq": _replacing(lambda nodes: _over(10**6, nodes[-1]), _last(2)),
    "range ends at an unknown seq": _replacing(lambda nodes: _over(nodes[-2], 10**6), _last(2)),
    "range ends before it starts": _replacing(lambda nodes: _over(nodes[-1], nodes[-2]), _last(2)),
    "range starts at a node replaced before": _shadowed_start,
    "range of negative seqs": _replacing(lambda nodes: _over(-1, nodes[-1]), _last(2)),
    "range of fractional seqs": _replacing(lambda nodes: _over(nodes[-2], 0.5), _last(2)),  # type: ignore[arg-type]
    "range without an end": _replacing(lambda nodes: {"op": "replace", "start": nodes[-1]}, _last(1)),
    "range with one key too many": _replacing(lambda nodes: {**_last_two(nodes), "startSeq": 0}, _last(2)),
    "operation of an unknown name": _replacing(lambda nodes: {**_last_two(nodes), "op": "remove"}, _last(2)),
    "replacement without sources": _replacing(_last_two, lambda nodes: None),
    "replacement that cites half of its range": _replacing(_last_two, _last(1)),
    "replacement that cites another node": _replacing(lambda nodes: _over(*nodes[-1:] * 2), lambda nodes: nodes[-2:-1]),
    "no surfaceOp": _appending(),
    "surfaceOp is null": _appending(surfaceOp=None),
    "surfaceOp is another word": _appending(surfaceOp="prepend"),
    "surfaceOp is a list": _appending(surfaceOp=["append"]),
    "no source in the list": _appending(surfaceOp="append", sourceEventSeqs=[]),
    "a source twice": _appending(surfaceOp="append", sourceEventSeqs=[0, 0]),
    "a source that is not there yet": _appending(surfaceOp="append", sourceEventSeqs=[10**6]),
    "a fractional source": _appending(surfaceOp="append", sourceEventSeqs=[0.5]),
    "a negative source": _appending(surfaceOp="append", sourceEventSeqs=[-1]),
    "a source that is a text": _appending(surfaceOp="append", sourceEventSeqs=["0"]),
    "a range among the sources": _appending(surfaceOp="append", sourceEventSeqs=[[0, 1]]),
    "a boolean source": _appending(surfaceOp="append", sourceEventSeqs=[False]),
    "sources are no list": _appending(surfaceOp="append", sourceEventSeqs=0),
    "sources are null": _appending(surfaceOp="append", sourceEventSeqs=None),
    "surfaceOp on an event that is no message": _log_only(surfaceOp="append"),
    "sources on an event that is no message": _log_only(sourceEventSeqs=[0]),
    "a seq left out": _seq(1),
    "a seq repeated": _seq(-1),
    "result over two results": _result_over_two,
    "result over a prompt": _result_over_a_prompt,
    "rewrite with another call id": _rewriting(_call_id),
    "rewrite with another message id": _rewriting(lambda data: data["message"].update(id="r8")),
    "rewrite with another error flag": _rewriting(lambda data: data["message"]["content"][0].update(isError=True)),
    "rewrite without the error flag": _rewriting(lambda data: data["message"]["content"][0].pop("isError")),
    "rewrite with another step": _rewriting(lambda data: data.update(step=2)),
    "rewrite with other meta": _rewriting(lambda data: data.update(meta={"exitCode": 1})),
    "rewrite without meta": _rewriting(lambda data: data.pop("meta")),
    "rewrite with an error": _rewriting(lambda data: data.update(error={"name": "E", "code": "E"})),
    "rewrite with an unknown field": _rewriting(lambda data: data["message"].update(futureField=1)),
}


def _steps(*steps: tuple[str, int, int]) -> Break:
    """Step brackets after a clean end: the open step, if any, is ended first."""

    def broken(events: list[Json]) -> list[Json]:
        events = _outside(events)
        for kind, turn, step in steps:
            events = [*events, _event(events, kind, {"turn": turn, "step": step})]
        return events

    return broken


def _outside(events: list[Json]) -> list[Json]:
    brackets = [event for event in events if event["type"] in ("step/start", "step/end")]
    if not brackets or brackets[-1]["type"] == "step/end":
        return events
    return [*events, _event(events, "step/end", brackets[-1]["data"])]


def _answer_outside(events: list[Json]) -> list[Json]:
    events = _outside(events)
    return [*events, _assistant(events, 1, 1)]


def _answer_of_another_step(events: list[Json]) -> list[Json]:
    events = _steps(("step/start", 9, 1))(events)
    return [*events, _assistant(events, 9, 2)]


def _citing(*chunks: tuple[int, Json]) -> Break:
    """An answer in step (9, 1) that reports usage and cites these chunks, each of the step (9, given)."""

    def broken(events: list[Json]) -> list[Json]:
        header = {"config": {"provider": "p", "model": "m"}}
        events = [*events, _event(events, "request/header", {"header": header, "reason": "change"})]
        events = _steps(("step/start", 9, 1))(events)
        first = len(events)
        for step, chunk in chunks:
            events = [*events, _event(events, "assistant/chunk", {"turn": 9, "step": step, "chunk": chunk})]
        cited = list(range(first, len(events))) or [first - 1]
        usage = {"usage": {"inputTokens": 1, "outputTokens": 1}}
        return [*events, _assistant(events, 9, 1, data=usage, sourceEventSeqs=cited)]

    return broken


_AUDIO = {"type": "block-start", "index": 0, "blockType": "audio"}
_DELTA = {"type": "text-delta", "index": 0, "text": "a"}


def _answer_over_a_node(events: list[Json]) -> list[Json]:
    events = _citing((1, _DELTA))(_two_nodes(events))[:-1]
    seq = surface(events)[-1]
    usage = {"usage": {"inputTokens": 1, "outputTokens": 1}}
    return [*events, _assistant(events, 9, 1, data=usage, surfaceOp=_over(seq, seq), sourceEventSeqs=[seq])]


METER: dict[str, Break] = {
    "answer outside a step": _answer_outside,
    "answer of another step": _answer_of_another_step,
    "step in a step": _steps(("step/start", 9, 1), ("step/start", 9, 2)),
    "end of a step that never started": _steps(("step/end", 9, 1)),
    "end of another step": _steps(("step/start", 9, 1), ("step/end", 9, 2)),
    "answer cites an event that is no chunk": _citing(),
    "answer cites a chunk of another step": _citing((1, _DELTA), (2, _DELTA)),
    "answer cites a block of an unknown type that never ended": _citing((1, _AUDIO)),
    "answer that reports usage replaces a node": _answer_over_a_node,
    "answer cites a chunk of an unknown type": _citing((1, {"type": "audio-delta", "index": 0})),
}
