"""What is appended to a DSH log: rows that its harness takes, behind bytes that nobody touched."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import zstandard
from tests.dsh_log import Json, frames, header, line, lines, recorded, row, session, user

from refold.events import (
    Block,
    CompactionPrune,
    LogError,
    Opaque,
    Replacement,
    SurfaceError,
    Text,
    ToolResult,
    TurnEnd,
    TurnStart,
    append_replacements,
    read_dsh,
)

TEXT = {"type": "text", "text": "a long output"}
KEYS = {0: ("start", "end"), 1: ("start", "end"), 2: ("start", "end")}


def appended(log: bytes, *replacements: Replacement) -> bytes:
    return b"".join(append_replacements(lambda: [log], replacements, name="log"))


def new_rows(log: bytes, *replacements: Replacement) -> list[Json]:
    whole = appended(log, *replacements)
    assert whole.startswith(log)
    return [json.loads(text) for text in whole[len(log) :].splitlines()]


def replacement(seq: int, *content: Block, tokens: int = 0) -> Replacement:
    return Replacement(seq, content or (Text("short"),), tokens)


def result_content(data: Json, version: int) -> Any:
    message = data["message"]
    return message["content"] if version >= 4 else message["content"][0]["content"]


@pytest.mark.parametrize("version", range(6))
def test_a_closed_log_gets_a_turn_with_the_price_and_the_result(version: int) -> None:
    log = lines(*session(version, [TEXT]))
    first, last = KEYS.get(version, ("startSeq", "endSeq"))
    start, prune, result, end = new_rows(log, replacement(5, tokens=77))
    time = 1_700_000_000_007
    assert start == {"type": "turn/start", "seq": 8, "time": time, "data": {"turn": 2}}
    shadow = {"shadowedRange": {"start": 5, "end": 5}, "shadowedSeqs": [5], "shadowedTokenCount": 77}
    assert prune == {"type": "compaction/prune", "seq": 9, "time": time, "data": shadow}
    assert {key: value for key, value in result.items() if key != "data"} == {
        "type": "tool/result",
        "seq": 10,
        "time": time,
        "sourceEventSeqs": [5],
        "surfaceOp": {"op": "replace", first: 5, last: 5},
    }
    assert end == {"type": "turn/end", "seq": 11, "time": time, "data": {"turn": 2, "reason": {"kind": "completed"}}}


@pytest.mark.parametrize("version", range(6))
def test_only_the_content_of_the_result_differs(version: int) -> None:
    rows = session(version, [TEXT])
    data = new_rows(lines(*rows), replacement(5))[2]["data"]
    assert result_content(data, version) == [{"type": "text", "text": "short"}]
    result_content(data, version)[:] = [TEXT]
    assert data == rows[6]["data"]


@pytest.mark.parametrize("version", range(6))
def test_what_was_written_reads_back_as_the_replacement(version: int) -> None:
    log = lines(*session(version, [TEXT]))
    events = list(read_dsh([appended(log, replacement(5, tokens=77))]))
    (before,) = (event for event in events if isinstance(event, ToolResult) and event.replaces is None)
    start, prune, result, end = events[-4:]
    assert isinstance(start, TurnStart)
    assert isinstance(prune, CompactionPrune)
    assert (prune.shadowed_seqs, prune.shadowed_tokens) == ((5,), 77)
    assert isinstance(result, ToolResult)
    assert (result.content, result.replaces, result.sources) == ((Text("short"),), (5, 5), (5,))
    assert result.envelope.same_as(before.envelope)
    assert isinstance(end, TurnEnd)


def test_blocks_that_stay_are_written_as_they_stood() -> None:
    image = {"attachment": {"name": "é.png", "bytes": 3}, "type": "image"}
    noted = {"note": {"b": 1, "a": [1.5]}, "text": "\ud800 漢", "type": "text"}
    log = lines(*session(4, [TEXT, image, noted]))
    (read,) = (event for event in read_dsh([log]) if isinstance(event, ToolResult))
    _, _, result, _ = new_rows(log, replacement(5, Text("short"), *read.content[1:]))
    assert result["data"]["message"]["content"] == [{"type": "text", "text": "short"}, image, noted]


@pytest.mark.parametrize(
    "block",
    [
        Text("a\ud800😀\u2028\x00"),
        Text("x", '{"cache":{"ttl":300}}'),
        Opaque('{"type":"image","attachment":{"name":"\\ud800"}}'),
    ],
)
def test_any_block_survives_a_round_trip(block: Block) -> None:
    events = list(read_dsh([appended(lines(*session(4, [TEXT])), replacement(5, block))]))
    assert [event.content for event in events if isinstance(event, ToolResult)][-1] == (block,)


def test_a_replacement_may_replace_what_one_before_it_wrote() -> None:
    rows = new_rows(lines(*session(4, [TEXT])), replacement(5, Text("one")), replacement(10, Text("two")))
    results = [new for new in rows if new["type"] == "tool/result"]
    assert [(new["seq"], new["sourceEventSeqs"]) for new in results] == [(10, [5]), (12, [10])]
    assert results[1]["data"]["message"]["content"] == [{"type": "text", "text": "two"}]


@pytest.mark.parametrize("stop", [6, 7])
def test_an_open_turn_or_step_is_left_for_the_harness_to_close(stop: int) -> None:
    rows = new_rows(lines(*session(4, [TEXT])[: stop + 1]), replacement(5))
    assert [(new["type"], new["seq"]) for new in rows] == [("compaction/prune", stop), ("tool/result", stop + 1)]


@pytest.mark.parametrize("tail", [b"", b'{"type":"turn/st', b"{}\n", line(user(99))])
def test_without_replacements_the_file_stays_as_it_is(tail: bytes) -> None:
    log = lines(*session(4, [TEXT]), tail)
    assert appended(log) == log


@pytest.mark.parametrize("tail", [b'{"type":"turn/st', b'{"type":\n', line(user(99))])
def test_a_torn_tail_never_stands_before_new_rows(tail: bytes) -> None:
    log = lines(*session(4, [TEXT]))
    assert appended(log + tail, replacement(5)) == appended(log, replacement(5))


def test_a_compressed_log_gets_one_checksummed_frame_more() -> None:
    head, *rows = session(4, [TEXT])
    log = frames(lines(head), lines(*rows[:3]), lines(*rows[3:]))
    whole = appended(log, replacement(5))
    assert whole.startswith(log)
    added = whole[len(log) :]
    assert zstandard.get_frame_parameters(added).has_checksum
    plain = lines(head, *rows)
    assert (
        zstandard.ZstdDecompressor().decompressobj().decompress(added) == appended(plain, replacement(5))[len(plain) :]
    )


@pytest.mark.parametrize("first", [1, 4, 9])
def test_the_first_frame_of_a_compressed_log_holds_the_header_alone(first: int) -> None:
    rows = session(4, [TEXT])
    log = frames(lines(*rows[:first]), lines(*rows[first:])) if first < len(rows) else frames(lines(*rows))
    notes: list[str] = []
    whole = b"".join(append_replacements(lambda: [log], [replacement(5)], name="log", notes=notes))
    plain = list(plain_frames(whole))
    assert plain[:2] == [lines(rows[0]), lines(*rows[1:])]
    assert b"".join(plain) == appended(lines(*rows), replacement(5))
    assert (whole.startswith(log), len(notes)) == ((True, 0) if first == 1 else (False, 1))


def test_a_bad_row_in_a_whole_frame_is_not_written_over() -> None:
    head, *rows = session(4, [TEXT])
    with pytest.raises(LogError, match="corrupt"):
        appended(frames(lines(head), lines(*rows, user(99))), replacement(5))


def plain_frames(data: bytes) -> Iterator[bytes]:
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        yield frame.decompress(data)
        data = frame.unused_data


@pytest.mark.parametrize("seqs", [(2,), (3,), (4,), (99,), (5, 5), (8,)])
def test_only_a_result_on_the_surface_can_be_replaced(seqs: tuple[int, ...]) -> None:
    with pytest.raises(SurfaceError) as refused:
        appended(lines(*session(4, [TEXT])), *map(replacement, seqs))
    assert refused.value.seq == seqs[-1]


def test_a_result_that_was_replaced_or_compacted_is_not_on_the_surface() -> None:
    rows = session(0, [TEXT])
    op = {"op": "replace", "start": 2, "end": 5}
    log = lines(*rows, user(8, surfaceOp=op, sourceEventSeqs=[2, 3, 5]))
    with pytest.raises(SurfaceError):
        appended(log, replacement(5))


def test_a_refusal_comes_before_the_first_byte() -> None:
    broken = lines(*session(4, [TEXT]), row("user/message", 8, {}))
    with pytest.raises(LogError):
        append_replacements(lambda: [broken], [replacement(5)], name="log")


def test_rows_without_seq_are_followed_by_rows_without_one() -> None:
    numbered = session(0, [TEXT])
    log = lines(*({key: old[key] for key in old if key not in ("seq", "time")} for old in numbered))
    rows = new_rows(log, replacement(5, tokens=77))
    expected = new_rows(lines(*numbered), replacement(5, tokens=77))
    assert rows == [{key: new[key] for key in new if key not in ("seq", "time")} for new in expected]
    assert [event.seq for event in read_dsh([appended(log, replacement(5))])] == list(range(12))


def test_a_row_that_cannot_be_written_again_is_named() -> None:
    rows = session(0, [TEXT])
    log = lines(*rows).replace(b'"exitCode":0', b'"exitCode":1e999')
    with pytest.raises(LogError, match="too large") as refused:
        appended(log, replacement(5))
    assert (refused.value.path, refused.value.line, refused.value.seq) == ("log", 7, 5)


@pytest.mark.parametrize("packing", [False, True])
def test_what_is_written_behind_the_log_meanwhile_is_not_copied(packing: bool) -> None:
    head, *rows = session(4, [TEXT])
    log, more = lines(head, *rows), line(user(8))
    if packing:
        log, more = frames(lines(head), lines(*rows)), frames(more)
    grown = iter([log, log + more])
    whole = b"".join(append_replacements(lambda: [next(grown)], [replacement(5)], name="log"))
    assert whole == appended(log, replacement(5))


@pytest.mark.parametrize("packing", [False, True])
@pytest.mark.parametrize("change", ["shorter", "other bytes"])
def test_a_log_that_is_changed_meanwhile_is_refused(change: str, packing: bool) -> None:
    head, *rows = session(4, [TEXT])
    log = frames(lines(head), lines(*rows)) if packing else lines(head, *rows)
    after = log[:-1] if change == "shorter" else log[:-9] + b"#" + log[-8:]
    readings = iter([log, after])
    with pytest.raises(LogError, match="changed while it was read"):
        b"".join(append_replacements(lambda: [next(readings)], [replacement(5)], name="log"))


def test_a_result_of_the_oldest_shape_is_rewritten_in_the_newest_with_the_id_it_was_given() -> None:
    log = recorded("09-legacy-v0-shapes.jsonl")
    _, _, result, _ = new_rows(log, replacement(67))
    message = result["data"]["message"]
    assert message["id"] == "legacy-message:{{sessionId}}:67"
    assert message["source"] == {"kind": "tool", "callId": "call_00_OsndvlcKnCcUmae7QXal8633"}
    assert message["content"][0]["content"] == [{"type": "text", "text": "short"}]


def test_a_log_without_any_turn_gets_its_first() -> None:
    rows = [{**session(0, [TEXT])[6], "seq": 0}]
    del rows[0]["sourceEventSeqs"]
    assert new_rows(lines(header(), *rows), replacement(0))[0]["data"] == {"turn": 1}
