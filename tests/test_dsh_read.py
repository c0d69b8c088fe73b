"""DSH logs in: what is read of each format, what is refused and where, and how a log may end."""

import json
from typing import Any

import pytest
from tests.dsh_log import EXPECTED, Json, answer, frames, header, line, lines, recorded, result, row, session, user

from refold.events import (
    AssistantChunks,
    AssistantMessage,
    Event,
    LogError,
    Opaque,
    Other,
    Overflow,
    Reasoning,
    RequestHeader,
    Text,
    ToolResult,
    TurnEnd,
    UnknownChunk,
    UserMessage,
    read_dsh,
)
from refold.events._zstd import Unpacked

TEXT = {"type": "text", "text": "output"}
TURN = row("turn/start", 0, {"turn": 1})
DEEP = b"[" * 100_000 + b"]" * 100_000


def end(seq: int, kind: str = "completed") -> Json:
    return row("turn/end", seq, {"turn": 1, "reason": {"kind": kind}})


def read(log: bytes) -> list[Event]:
    return list(read_dsh([log], name="some.jsonl"))


def chunk(seq: int, step: int = 1, **fields: Any) -> Json:
    return row("assistant/chunk", seq, {"turn": 1, "step": step, "chunk": fields})


def packed(seq: int, texts: list[str], dt: list[int], **data: Any) -> Json:
    place = {"turn": 1, "step": 1, "index": 0}
    return {"type": "text-chunks", "seq0": seq, "time0": 5, "data": {**place, "dt": dt, "texts": texts, **data}}


def places(events: list[Event]) -> list[Any]:
    """Each event by itself, and each stream chunk by its place: how runs are cut is no fact of the log."""
    told: list[Any] = []
    for event in events:
        if isinstance(event, AssistantChunks):
            told += [(event.seq + place, chunk) for place, chunk in enumerate(event.chunks)]
        else:
            told.append(event)
    return told


# --- what is read


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_log_has_as_many_events_as_its_writer_counted(name: str) -> None:
    log = read_dsh([recorded(name)])
    events = list(log)
    assert log.version == EXPECTED[name]["header"]["version"]
    assert sum(event.width for event in events) == EXPECTED[name]["events"]
    assert [event.seq for event in events] == [sum(e.width for e in events[:at]) for at in range(len(events))]


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_where_the_bytes_are_cut_changes_nothing(size: int) -> None:
    log = recorded("02-packed-chunks-blocked-tool.jsonl")
    pieces = [log[at : at + size] for at in range(0, len(log), size)]
    assert places(list(read_dsh(pieces))) == places(read(log))


def until_it_breaks(pieces: list[bytes]) -> tuple[list[Event], str]:
    events: list[Event] = []
    try:
        for event in read_dsh(pieces):
            events.append(event)
    except LogError as error:
        return events, str(error)
    return events, ""


def test_where_the_bytes_are_cut_cuts_no_run_of_chunks_and_moves_no_error() -> None:
    delta: Json = {"type": "text-delta", "index": 0, "text": "x"}
    streamed = [chunk(seq, step=1 + seq // 200, **delta) for seq in range(1, 400)]
    odd = row("todo/write", 400, {"&extra": 1})
    infinite = b'{"type":"todo/write","seq":402,"time":0,"data":[1e400]}\n'
    own = {"type": "text", "text": "t", "&extra": "no"}
    spelled = row("user/message", 403, user(403)["data"] | {"content": [own]}, surfaceOp="append")
    more = [packed(404, ["a", "b"], [1]), chunk(406, step=1, **delta), row("user/message", 407, {}), end(408)]
    log = lines(header(), TURN, *streamed, odd, b" \n", row("x/y", 401, {}), infinite, spelled, *more)
    events, error = until_it_breaks([log])
    assert [event.seq for event in events] == [0, 1, 200, 400, 401, 402, 403, 404]
    assert (events[-1].width, ":409 (seq 407)" in error) == (3, True)
    for size in (1, 311, 70_000):
        assert until_it_breaks([log[at : at + size] for at in range(0, len(log), size)]) == (events, error)


def test_frames_hold_the_same_log_as_plain_lines() -> None:
    head, rest = recorded("12-v4-shape-mini.HANDMADE.jsonl").split(b"\n", 1)
    assert read(frames(head + b"\n", rest[:900], rest[900:])) == read(head + b"\n" + rest)


def test_a_packed_row_stands_for_its_deltas() -> None:
    deltas = [chunk(1 + at, type="text-delta", index=0, text=text) for at, text in enumerate("abc")]
    spelled_out = read(lines(header(), TURN, *deltas))
    assert places(read(lines(header(), TURN, packed(1, list("abc"), [3, -1])))) == places(spelled_out)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_an_attempt_that_overflowed_is_an_overflow(version: int) -> None:
    failure = {"message": "\ud800 too long", "code": "CONTEXT_WINDOW_EXCEEDED"}
    finish = {"type": "finish", "reason": {"kind": "error", "failure": failure}}
    stream = [{"type": "text-chunks", "time0": 1, "index": 0, "dt": [], "texts": ["x"]}]
    attempt = {"turn": 1, "step": 3, "stream": [*stream, {"type": "chunk", "time": 1, "chunk": finish}]}
    (event,) = read(lines(header(version), TURN, row("assistant/attempt", 1, attempt)))[1:]
    assert event == Overflow(1, event.time, 1, 3)


def test_an_overflow_among_chunks_is_an_event_of_its_own() -> None:
    failure = {"message": "too long", "code": "CONTEXT_WINDOW_EXCEEDED"}
    delta: Json = {"type": "text-delta", "index": 0, "text": "x"}
    rows = [chunk(1, **delta), chunk(2, type="finish", reason={"kind": "error", "failure": failure}), chunk(3, **delta)]
    events = read(lines(header(), TURN, *rows))[1:]
    assert [(type(event), event.seq, event.width) for event in events] == [
        (AssistantChunks, 1, 1),
        (Overflow, 2, 1),
        (AssistantChunks, 3, 1),
    ]


def test_a_signature_is_taken_from_the_replay_state_beside_its_block() -> None:
    content = [{"type": "reasoning", "text": "\ud800 why"}, {"type": "text", "text": "so"}]
    state = {"blocks": [{"type": "reasoning", "signature": "c2ln"}, {"type": "text", "note": "\ud800"}]}
    source = {"kind": "model", "provider": "p", "model": "m", "replayState": state}
    message = {"id": "a", "role": "assistant", "content": content, "source": source}
    data = {"turn": 1, "step": 1, "message": message, "stream": []}
    (event,) = read(lines(header(4), TURN, row("assistant/message", 1, data, surfaceOp="append")))[1:]
    assert isinstance(event, AssistantMessage)
    assert event.content[0] == Reasoning("\ud800 why", "c2ln")


def test_blocks_keep_what_nobody_knows() -> None:
    image = {"type": "image", "attachment": {"name": "é\ud800", "bytes": 1.5}}
    noted = {"text": "x", "cache": {"ttl": 300}, "type": "text"}
    data = user(1)["data"] | {"content": [image, noted]}
    (event,) = read(lines(header(), TURN, row("user/message", 1, data, surfaceOp="append")))[1:]
    assert isinstance(event, UserMessage)
    opaque, text = event.content
    assert isinstance(opaque, Opaque)
    assert opaque.json == '{"type":"image","attachment":{"name":"é\\ud800","bytes":1.5}}'
    assert text == Text("x", '{"cache":{"ttl":300}}')


@pytest.mark.parametrize(
    "block", [b'{"type":"text","text":"t","\\u0026extra":"no"}', b'{"type":"\\u0026opaque","json":"no"}']
)
def test_a_log_cannot_spell_what_only_refold_gives(block: bytes) -> None:
    data = b'{"id":"u","role":"user","content":[' + block + b'],"source":{"kind":"user"}}'
    log = lines(header(), b'{"type":"user/message","seq":0,"time":0,"data":' + data + b',"surfaceOp":"append"}\n')
    try:
        (event,) = read(log)
    except LogError:
        return
    assert isinstance(event, UserMessage)
    (got,) = event.content
    assert json.loads(got.json if isinstance(got, Opaque) else got.extra)


@pytest.mark.parametrize("version", range(6))
def test_fields_of_a_result_that_nobody_knows_are_told_apart(version: int) -> None:
    plain, other = result(1, [TEXT], version), result(1, [TEXT], version)
    other["data"]["futureData"]["b"] = 2
    del plain["sourceEventSeqs"], other["sourceEventSeqs"]
    (one,), (two,) = (read(lines(header(version), TURN, value))[1:] for value in (plain, other))
    assert isinstance(one, ToolResult)
    assert isinstance(two, ToolResult)
    assert not one.envelope.same_as(two.envelope)


def test_runs_of_sources_are_spelled_out_from_format_2_on() -> None:
    rows = [user(at) for at in range(1, 6)]
    (event,) = read(lines(header(2), TURN, *rows, user(6, sourceEventSeqs=[[1, 3], 5])))[-1:]
    assert isinstance(event, UserMessage)
    assert event.sources == (1, 2, 3, 5)


def test_an_unknown_type_is_kept_and_noted_once() -> None:
    log = read_dsh([lines(header(4), TURN, row("x/y", 1, {}), row("x/y", 2, {}, ignorable=True))])
    assert list(log)[1:] == [Other(1, 1_700_000_000_001, "x/y"), Other(2, 1_700_000_000_002, "x/y")]
    assert len(log.notes) == 1
    assert "x/y" in log.notes[0]


def test_rows_without_seq_and_time_are_counted() -> None:
    rows = [{key: row[key] for key in row if key not in ("seq", "time")} for row in session(0, [TEXT])[1:]]
    events = read(lines(header(), *rows))
    assert [(event.seq, event.time) for event in events] == [(seq, 0) for seq in range(8)]


def test_tools_are_priced_as_javascript_writes_them() -> None:
    tools = [{"name": "漢", "parameters": {"maximum": 1.0, "minimum": 0.5}}]
    data = {"header": {"config": {"provider": "p", "model": "m"}, "system": "", "tools": tools}, "reason": "initial"}
    (event,) = read(lines(header(), json.dumps(row("request/header", 0, data)).encode() + b"\n"))
    assert isinstance(event, RequestHeader)
    assert event.tools == '[{"name":"漢","parameters":{"maximum":1,"minimum":0.5}}]'
    assert event.system is None


def test_the_oldest_name_of_a_cause_is_the_turn_end_it_became() -> None:
    (event,) = read(lines(header(), TURN, end(1, "disposed")))[1:]
    assert isinstance(event, TurnEnd)
    assert event.reason == "aborted"


def test_a_chunk_of_an_unknown_type_is_read() -> None:
    (event,) = read(lines(header(), TURN, chunk(1, type="audio-delta", index=0)))[1:]
    assert isinstance(event, AssistantChunks)
    assert event.chunks == (UnknownChunk("audio-delta"),)


def test_the_line_of_an_event_is_known() -> None:
    log = read_dsh([lines(header(), TURN, b"\n", packed(1, list("abc"), [3, -1]), user(4), b" \n", b"\n", user(5))])
    assert [(event.seq, log.line_of(event.seq)) for event in log] == [(0, 2), (1, 4), (4, 5), (5, 8)]


def test_a_bomb_is_unpacked_in_pieces() -> None:
    bomb = frames(line(header()), b" " * (1 << 28))
    assert len(bomb) < 10_000
    assert max(map(len, Unpacked([bomb], "log"))) <= 16 << 20
    with pytest.raises(LogError, match="longer"):
        list(read_dsh([bomb], max_line=1000))


# --- what is refused

HEADERS: dict[str, bytes] = {
    "empty": b"",
    "no line end": line(header())[:-1],
    "not JSON": b"{\n",
    "a list": b"[]\n",
    "an event": line(TURN),
    "byte order mark": b"\xef\xbb\xbf" + line(header()),
    "no version": line({"type": "session", "id": "s", "createdAt": 0}),
    "version a text": line(header() | {"version": "0"}),
    "version a bool": line(header() | {"version": True}),
    "version below 0": line(header(-1)),
    "retired sandboxMode": line(header(sandboxMode="x")),
    "retired approvalPolicy": line(header(approvalPolicy="x")),
    "no id": line({"type": "session", "version": 0, "createdAt": 0}),
    "id a number": line(header() | {"id": 5}),
    "no createdAt": line({"type": "session", "version": 0, "id": "s"}),
    "delegationDepth a text": line(header() | {"delegationDepth": "1"}),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_broken_header_is_refused_at_once(name: str) -> None:
    with pytest.raises(LogError) as refused:
        read_dsh([HEADERS[name]], name="some.jsonl")
    assert (refused.value.path, refused.value.line) == ("some.jsonl", 1)


def test_a_newer_format_asks_for_an_upgrade() -> None:
    with pytest.raises(LogError, match="upgrade"):
        read_dsh([line(header(6))])


def test_the_first_harness_left_delegation_depth_out() -> None:
    assert read_dsh([line({"type": "session", "version": 0, "id": "s", "createdAt": 0})]).version == 0


def message(kind: str, seq: int, data: Json, **envelope: Any) -> Json:
    return row(kind, seq, data, **{"surfaceOp": "append", **envelope})


def wrong(value: Json, *path: str | int, to: Any) -> Json:
    """The row with one value of its data changed."""
    value = json.loads(json.dumps(value))
    inner = value["data"]
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = to
    return value


RESULT = {key: value for key, value in result(1, [TEXT]).items() if key != "sourceEventSeqs"}
DIRECT = {key: value for key, value in result(1, [TEXT], 4).items() if key != "sourceEventSeqs"}
DEEP_ROWS = {
    "what nobody reads": b'{"type":"todo/write","seq":1,"time":0,"data":' + DEEP + b"}\n",
    "meta": line(RESULT).replace(b'"exitCode":0', b'"x":' + DEEP),
    "an unknown field": line(RESULT).replace(b'"futureData":', b'"more":' + DEEP + b',"futureData":'),
    "a block": line(user(1)).replace(b'"text":"hello"', b'"text":"hello","x":' + DEEP),
    "tools": line(row("request/header", 1, {"header": {"tools": "?"}})).replace(b'"?"', DEEP),
    "replay state": line(answer(1)).replace(b'"kind":"model"', b'"kind":"model","replayState":' + DEEP),
    "an attempt": line(
        row("assistant/attempt", 1, {"turn": 1, "step": 1, "stream": [{"type": "chunk", "chunk": "?"}]})
    ).replace(b'"?"', b'{"finish":' + DEEP + b"}"),
}
OLD, NEW = {"op": "replace", "start": 1, "end": 1}, {"op": "replace", "startSeq": 1, "endSeq": 1}
ROWS: dict[str, tuple[int, Json | bytes]] = {
    "unknown key of the row": (0, user(1) | {"more": 1}),
    "ignorable is false": (0, row("todo/write", 1, {}, ignorable=False)),
    "unknown type, ignorable is false": (0, row("x/y", 1, {}, ignorable=False)),
    "unknown type, unknown key": (0, row("x/y", 1, {}, more=1)),
    "unknown type with surfaceOp": (0, row("x/y", 1, {}, surfaceOp="append")),
    "unknown type with sources": (0, row("x/y", 1, {}, sourceEventSeqs=[0])),
    "unknown type without data": (0, b'{"type":"x/y","seq":1,"time":0}\n'),
    "known type without data": (0, b'{"type":"todo/write","seq":1,"time":0}\n'),
    "log-only with surfaceOp": (0, row("turn/start", 1, {"turn": 1}, surfaceOp="append")),
    "log-only with sources": (0, row("todo/write", 1, {}, sourceEventSeqs=[0])),
    "surface without surfaceOp": (0, row("user/message", 1, user(1)["data"])),
    "surfaceOp null": (0, user(1, surfaceOp=None)),
    "surfaceOp with a fourth key": (0, user(1, surfaceOp={**OLD, "more": 1}, sourceEventSeqs=[0])),
    "surfaceOp of the newer formats": (2, user(1, surfaceOp=NEW, sourceEventSeqs=[0])),
    "surfaceOp of the older formats": (3, user(1, surfaceOp=OLD, sourceEventSeqs=[0])),
    "sources empty": (0, user(1, sourceEventSeqs=[])),
    "sources twice": (0, user(1, sourceEventSeqs=[0, 0])),
    "sources not earlier": (0, user(1, sourceEventSeqs=[1])),
    "sources fractional": (0, user(1, sourceEventSeqs=[0.5])),
    "sources negative": (2, user(1, sourceEventSeqs=[-1])),
    "sources as runs in format 1": (1, user(1, sourceEventSeqs=[[0, 0]])),
    "sources as a run of three": (2, user(1, sourceEventSeqs=[[0, 0, 0]])),
    "sources as a falling run": (2, user(1, sourceEventSeqs=[[1, 0]])),
    "sources as an endless run": (2, user(1, sourceEventSeqs=[[0, 2**53 - 1]])),
    "sources on an answer of format 3": (3, answer(1, sourceEventSeqs=[0])),
    "a number as text": (0, row("turn/start", 1, {"turn": "1"})),
    "a turn below 0": (0, row("turn/start", 1, {"turn": -1})),
    "time a fraction": (0, b'{"type":"turn/start","seq":1,"time":1.5,"data":{"turn":1}}\n'),
    "time not safe": (0, row("turn/start", 1, {"turn": 1}) | {"time": 10**20}),
    "time of an unknown type not safe": (0, row("x/y", 1, {}) | {"time": 10**20}),
    "a seq of many digits": (0, b'{"type":"todo/write","seq":' + b"9" * 5000 + b',"time":0,"data":{}}\n'),
    "nested too deep": (0, DEEP_ROWS["what nobody reads"]),
    "nested too deep in meta": (0, DEEP_ROWS["meta"]),
    "nested too deep in an unknown field": (0, DEEP_ROWS["an unknown field"]),
    "nested too deep in a block": (0, DEEP_ROWS["a block"]),
    "nested too deep in tools": (0, DEEP_ROWS["tools"]),
    "nested too deep in replay state": (0, DEEP_ROWS["replay state"]),
    "nested too deep in an attempt": (2, DEEP_ROWS["an attempt"]),
    "nested a little too deep in meta": (0, line(RESULT).replace(b'"exitCode":0', b'"x":' + b"[" * 600 + b"]" * 600)),
    "not UTF-8": (0, b'{"type":"todo/write","seq":1,"time":0,"data":{"a":"\xff"}}\n'),
    "result without its block": (0, wrong(RESULT, "message", "content", to=[])),
    "result with two blocks": (0, wrong(RESULT, "message", "content", to=RESULT["data"]["message"]["content"] * 2)),
    "result of another call": (0, wrong(RESULT, "message", "source", "callId", to="c2")),
    "result without a call": (0, wrong(RESULT, "message", "source", to={"kind": "tool"})),
    "result in the newer shape": (3, DIRECT),
    "result in the older shape": (4, RESULT),
    "result without an id": (0, wrong(RESULT, "message", "id", to="")),
    "error of a result that is none": (3, wrong(RESULT, "error", to={"name": "E", "code": "E"})),
    "answer of no model": (0, wrong(answer(1), "message", "source", "kind", to="user")),
    "answer without an id": (0, wrong(answer(1), "message", "id", to="")),
    "prompt of no one": (0, wrong(user(1), "source", to={"kind": ""})),
    "prompt of a plugin in format 4": (4, wrong(user(1), "source", to={"kind": "plugin", "plugin": "x"})),
    "block that is a text": (0, wrong(user(1), "content", to=["x"])),
    "chunks in format 2": (2, chunk(1, type="text-delta", index=0, text="x")),
    "images left out": (4, row("image/offload", 1, {"targets": []})),
    "header delta": (0, row("request/header-delta", 1, {"system": {}})),
    "mode/set": (0, row("mode/set", 1, {})),
    "header of a fallback": (0, row("request/header", 1, {"header": {"config": {}}, "reason": "fallback"})),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_broken_row_is_refused_where_it_stands(name: str) -> None:
    version, broken = ROWS[name]
    with pytest.raises(LogError) as refused:
        read(lines(header(version), TURN, broken, end(2)))
    assert (refused.value.path, refused.value.line, refused.value.seq) == ("some.jsonl", 3, 1)


# --- how a log may end

BAD: dict[str, bytes] = {
    "not JSON": b'{"type":\n',
    "zeros": b"\0" * 64 + b"\n",
    "NaN": b'{"type":"todo/write","seq":1,"time":0,"data":NaN}\n',
    "a seq left out": line(user(2)),
    "a seq again": line(user(0)),
    "two rows on a line": line(user(1))[:-1] + line(user(2)),
    "a row on two lines": line(user(1)).replace(b',"time"', b',\n"time"'),
    "not UTF-8": line(user(1)).replace(b"hello", b"\xff"),
    "no seq": b'{"type":"todo/write","time":0,"data":{}}\n',
}


@pytest.mark.parametrize("name", BAD)
def test_what_stands_behind_a_bad_row_was_never_committed(name: str) -> None:
    log = read_dsh([lines(header(), TURN, BAD[name], user(1))])
    assert [event.seq for event in log] == [0]
    assert len(log.notes) == 1
    assert "line 3" in log.notes[0]


@pytest.mark.parametrize("name", BAD)
def test_a_turn_that_ends_behind_a_bad_row_makes_the_log_corrupt(name: str) -> None:
    with pytest.raises(LogError, match="corrupt") as refused:
        read(lines(header(), TURN, BAD[name], end(1)))
    assert refused.value.line == 3


def test_a_turn_that_ends_out_of_its_place_makes_the_log_corrupt() -> None:
    with pytest.raises(LogError, match="corrupt"):
        read(lines(header(), TURN, end(3)))


@pytest.mark.parametrize("tail", [b'{"type":"turn/start","seq":1', line(user(1))[:-1], b"\0" * 4096, b"\xe6\xbc"])
def test_a_last_line_without_an_end_is_left_out(tail: bytes) -> None:
    log = read_dsh([lines(header(), TURN, tail)])
    assert [event.seq for event in log] == [0]
    assert len(log.notes) == 1


def test_a_bad_row_in_a_whole_frame_was_committed_and_is_corruption() -> None:
    with pytest.raises(LogError):
        read(frames(line(header()), lines(TURN, user(2))))


@pytest.mark.parametrize("damage", ["a flipped bit", "bytes behind the last frame"])
def test_a_damaged_frame_is_refused(damage: str) -> None:
    log = bytearray(frames(line(header()), lines(*session(0, [TEXT])[1:])))
    if damage == "a flipped bit":
        log[-1] ^= 1
    else:
        log += b"garbage"
    with pytest.raises(LogError):
        read(bytes(log))


@pytest.mark.parametrize("packing", [False, True])
def test_a_line_over_the_limit_is_refused_unread(packing: bool) -> None:
    log = lines(header(), TURN, b"x" * 300_000 + b"\n")
    log = frames(log) if packing else log
    with pytest.raises(LogError, match="longer") as refused:
        list(read_dsh([log], max_line=100_000))
    assert refused.value.line == 3


def oldest_rows() -> bytes:
    """Rows of every kind that formats 0 and 1 have, in the oldest shapes among others."""
    delta: Json = {"type": "text-delta", "index": 0, "text": "漢"}
    answered = {"turn": 1, "step": 1, "content": [{"type": "text", "text": "x"}], "provenance": {"model": "m"}}
    shown = {"turn": 1, "step": 1, "callId": "c", "content": [TEXT], "isError": False}
    return lines(
        header(),
        TURN,
        row("steering/message", 1, {"turn": 1, "content": [TEXT], "source": {"kind": "user"}}, surfaceOp="append"),
        chunk(2, **delta),
        chunk(3, **delta),
        packed(4, list("abc"), [3, -1]),
        row("assistant/message", 7, answered, surfaceOp="append", sourceEventSeqs=[2, 3, 4, 5, 6]),
        row("tool/result", 8, shown, surfaceOp="append"),
        end(9),
    )


SMALL = {"oldest": oldest_rows(), "newer": recorded("12-v4-shape-mini.HANDMADE.jsonl")}


def in_frames(log: bytes) -> bytes:
    head, rest = log.split(b"\n", 1)
    half = rest.index(b"\n", len(rest) // 2) + 1
    return frames(head + b"\n", rest[:half], rest[half:])


@pytest.mark.parametrize("name", SMALL)
def test_a_log_cut_at_any_byte_tells_the_events_of_its_whole_lines(name: str) -> None:
    log = SMALL[name]
    whole = places(read(log))
    held = 0
    for size in range(log.index(b"\n") + 1, len(log)):
        events = places(read(log[:size]))
        assert events == whole[: len(events)], f"cut at byte {size}"
        assert len(events) == (held := max(held, len(events)))
        assert len(events) + 1 >= log[:size].count(b"\n") - log[:size].count(b"-chunks"), f"cut at byte {size}"
    assert len(whole) > held > 0


@pytest.mark.parametrize("name", SMALL)
def test_a_compressed_log_cut_at_any_byte_is_refused_or_ends_with_a_frame(name: str) -> None:
    whole = places(read(SMALL[name]))
    log = in_frames(SMALL[name])
    ends = []
    for size in range(len(log)):
        try:
            events = places(read(log[:size]))
        except LogError:
            continue
        ends.append(size)
        assert events == whole[: len(events)], f"cut at byte {size}"
    assert len(ends) == 2  # behind the header's frame, and behind the one after it


@pytest.mark.parametrize("name", SMALL)
def test_a_flipped_bit_is_an_error_of_the_log_or_read_in_order(name: str) -> None:
    log = SMALL[name]
    refused = 0
    for at in range(len(log)):
        damaged = bytearray(log)
        damaged[at] ^= 1 << at % 8
        try:
            events = read(bytes(damaged))
        except LogError:
            refused += 1
            continue
        assert [event.seq for event in events] == [sum(e.width for e in events[:n]) for n in range(len(events))]
    assert refused > len(log) // 3


@pytest.mark.parametrize("name", SMALL)
def test_a_flipped_bit_in_a_frame_is_never_told_as_an_event(name: str) -> None:
    whole = places(read(SMALL[name]))
    log = in_frames(SMALL[name])
    for at in range(len(log)):
        damaged = bytearray(log)
        damaged[at] ^= 1 << at % 8
        try:
            assert places(read(bytes(damaged))) == whole, f"byte {at}"
        except LogError:
            continue


def test_a_log_that_was_read_to_its_end_does_not_pass_for_an_empty_one():
    log = read_dsh([lines(*session(4, [TEXT]))])
    events = iter(log)
    first = next(events)
    assert [event.seq for event in (first, *log)] == list(range(8)), "it goes on where it was left"
    with pytest.raises(LogError, match="has been read to its end; open it again"):
        list(log)
