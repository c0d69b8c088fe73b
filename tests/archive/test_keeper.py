"""What is kept, how it is written down, and what becomes of files that were spoilt."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from tests.archive.logs import Log

from refold.archive import Archive, ArchiveError, Origin, Original, Shelf, originals, recall
from refold.archive.keeper import Keeper
from refold.events import Block, Envelope, Opaque, Text, ToolResult


def original(text: str, turn: int = 1, step: int = 1, call_id: str = "c", seq: int = 7) -> Original:
    result = ToolResult(seq, 1000 * seq, (Text(text),), turn, step, call_id)
    return Original(Origin(turn, step, 1, "bash", call_id, '{"command":"npm test"}'), result)


def index(root: Path) -> Any:
    return json.loads((root / "index.json").read_bytes())


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_files_are_for_their_user_alone_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    root = tmp_path / "session" / "tool-result-logs"
    before = os.umask(umask)
    try:
        Keeper(root).keep(original("text"))
        Keeper(root).keep_round(1, None, [original("text")])
    finally:
        os.umask(before)
    modes = {path.relative_to(tmp_path).as_posix(): path.stat().st_mode for path in tmp_path.rglob("*")}
    assert {stat.S_IMODE(mode) for mode in modes.values() if stat.S_ISDIR(mode)} == {0o700}
    assert {stat.S_IMODE(mode) for mode in modes.values() if stat.S_ISREG(mode)} == {0o600}
    assert len(modes) == 7  # two folders above, results, its file, the round, the index, the lock


def test_a_folder_that_was_there_keeps_its_permissions(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Keeper(tmp_path).keep(original("text"))
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_the_index_of_results_is_that_of_version_3(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, session_id="s-1", workspace="/proj")
    keeper.keep(original("first\nsecond", turn=2, call_id="b"))
    keeper.keep(original("汉", turn=1, call_id="a"))
    found = index(tmp_path)
    assert list(found) == ["schemaVersion", "sessionId", "workspace", "updatedAt", "results"]
    assert (found["schemaVersion"], found["sessionId"], found["workspace"]) == (3, "s-1", "/proj")
    assert [row["turn"] for row in found["results"]] == [1, 2]
    assert found["results"][1] == {
        "turn": 2,
        "step": 1,
        "callId": "b",
        "tool": "bash",
        "hint": "npm test",
        "file": str(tmp_path / "results/t0002-s0001-01-bash-b.txt"),
        "relFile": "results/t0002-s0001-01-bash-b.txt",
        "bytes": 12,
        "lines": 2,
        "time": 7000,
    }


def test_the_index_of_rounds_is_that_of_version_2(tmp_path: Path) -> None:
    log = Log()
    log.turn()
    log.called("bash", "x", "a")
    log.called("grep", "y", "b")
    log.turn()
    Keeper(tmp_path, session_id="s-1", workspace="/proj").keep_turns(log.events)
    Keeper(tmp_path).keep_round(1, 2, originals(log.events))
    first, last = (one.result.time for one in originals(log.events))
    found = index(tmp_path)
    assert found["schemaVersion"] == 2
    span = {"timeFrom": first, "timeTo": last}
    assert found["rounds"] == [
        {"turn": 1, "file": "round-0001.json", **span, "count": 2, "tools": ["bash", "grep"], "stepCount": 2}
    ]
    span = {"timeFrom": last, "timeTo": last}
    assert found["steps"] == [
        {"turn": 1, "step": 2, "file": "round-0001-step-0002.json", **span, "count": 1, "tools": ["grep"]}
    ]


def test_a_round_holds_the_events_of_results_and_calls(tmp_path: Path) -> None:
    log = Log()
    log.turn()
    log.step(("bash", '{"command":"ls"}', "call_1"))
    seq, time = log.at
    envelope = Envelope("m1", '{"name":"E","code":"X"}', '{"exit":1}', flagged=True)
    content = (Text("out"), Opaque('{"type":"image","attachment":{"name":"汉.png"}}'))
    log.events.append(ToolResult(seq, time, content, 1, 1, "call_1", True, envelope, sources=(seq - 1,)))
    Keeper(tmp_path, session_id="s", workspace=None).keep_round(1, None, originals(log.events))
    raw = (tmp_path / "round-0001.json").read_text()
    assert raw.startswith('{\n  "schemaVersion": 2,\n  "sessionId": "s",\n  "workspace": null,\n  "turn": 1,\n')
    assert "汉.png" in raw
    (entry,) = json.loads(raw)["toolResults"]
    assert entry["event"] == {
        "type": "tool/result",
        "seq": seq,
        "time": time,
        "data": {
            "turn": 1,
            "step": 1,
            "message": {
                "id": "m1",
                "role": "user",
                "source": {"kind": "tool", "callId": "call_1"},
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "call_1",
                        "content": [
                            {"type": "text", "text": "out"},
                            {"type": "image", "attachment": {"name": "汉.png"}},
                        ],
                        "isError": True,
                    }
                ],
            },
            "error": {"name": "E", "code": "X"},
            "meta": {"exit": 1},
        },
        "surfaceOp": "append",
        "sourceEventSeqs": [seq - 1],
    }
    call = {"turn": 1, "step": 1, "callId": "call_1", "name": "bash", "arguments": '{"command":"ls"}'}
    assert entry["call"] == {"type": "tool/call", "seq": seq - 1, "time": time - 1000, "data": call}
    assert {name: entry[name] for name in ("seq", "time", "turn", "step", "callId", "toolName")} == {
        "seq": seq,
        "time": time,
        "turn": 1,
        "step": 1,
        "callId": "call_1",
        "toolName": "bash",
    }


def test_a_round_is_read_back_as_it_was(tmp_path: Path) -> None:
    log = Log()
    log.turn()
    blocks: tuple[Block, ...] = (Text("a \ud83d lone half"), Text("b", '{"cache":1}'), Opaque('{"type":"image"}'))
    log.called("bash", blocks, command="ls")
    Keeper(tmp_path).keep_round(1, None, originals(log.events))
    assert Archive(tmp_path).turn(1) == list(originals(log.events))


def test_a_result_of_format_v4_is_read_from_a_round(tmp_path: Path) -> None:
    message = {"id": "m", "role": "tool", "toolCallId": "c", "content": [{"type": "text", "text": "direct"}]}
    event = {"seq": 5, "time": 9, "data": {"turn": 2, "step": 1, "message": {**message, "isError": True}}}
    entry = {"seq": 5, "time": 9, "turn": 2, "step": 1, "callId": "c", "toolName": "unknown_tool", "event": event}
    (tmp_path / "round-0002.json").write_text(json.dumps({"turn": 2, "toolResults": [entry]}))
    (found,) = Archive(tmp_path).turn(2)
    assert (found.text, found.result.is_error, found.origin.tool, found.call) == ("direct", True, "", None)


def test_keeping_again_changes_no_file(tmp_path: Path) -> None:
    for _ in range(2):
        Keeper(tmp_path).keep(original("text"))
        Keeper(tmp_path).keep_round(1, None, [original("text")])
        files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        times = {path: path.stat().st_mtime_ns for path in files}
    Keeper(tmp_path).keep(original("text"))
    assert {path: path.stat().st_mtime_ns for path in files if path.name != ".lock"} == {
        path: time for path, time in times.items() if path.name != ".lock"
    }


def test_another_text_under_a_taken_name_gets_the_next_place(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    places = [keeper.keep(original(text, call_id="")).place for text in ("one", "two", "one", "three")]
    assert places == [1, 2, 1, 3]
    assert sorted(path.read_text() for path in (tmp_path / "results").iterdir()) == ["one", "three", "two"]


def test_the_text_is_kept_to_the_byte(tmp_path: Path) -> None:
    text = "汉\r\n\x00\ud800\u2028 end"
    Keeper(tmp_path).keep(original(text))
    assert Archive(tmp_path).text("results/t0001-s0001-01-bash-c.txt") == text
    assert index(tmp_path)["results"][0]["bytes"] == len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("spoilt", ["", "{ not json", "[]", "{}", "\x00\x00", '{"results": 3}', "[" * 100_000])
def test_a_corrupt_index_is_rebuilt_from_the_files(spoilt: str, tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.keep(original("first\nline", call_id="a"))
    keeper.keep_round(2, None, [original("in a round", turn=2)])
    (tmp_path / "index.json").write_text(spoilt)
    assert [kept.turn for kept in Shelf(archive=Archive(tmp_path)).kept] == [1, 2]
    keeper.keep(original("new", call_id="b"))
    found = index(tmp_path)
    assert [(row["callId"], row["tool"], row["bytes"], row["lines"]) for row in found["results"]] == [
        ("a", "bash", 10, 2),
        ("b", "bash", 3, 1),
    ]
    assert [(row["turn"], row["count"]) for row in found["rounds"]] == [(2, 1)]
    assert (tmp_path / "index.json.broken").read_text() == spoilt


def test_a_row_that_makes_no_sense_is_healed_from_its_file(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.keep(original("text", call_id="a"))
    found = index(tmp_path)
    found["results"][0]["bytes"] = "many"
    (tmp_path / "index.json").write_text(json.dumps(found))
    assert [(row.call_id, row.bytes) for row in Archive(tmp_path).results()] == [("a", 4)]


def test_what_refold_does_not_know_stays_in_the_index(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text('{"schemaVersion":2,"sessionId":"s","rounds":[],"steps":[],"theirs":[1,{}]}')
    Keeper(tmp_path, session_id="other").keep(original("text"))
    found = index(tmp_path)
    assert (found["theirs"], found["sessionId"], found["schemaVersion"]) == ([1, {}], "s", 3)


def test_a_round_that_goes_on_keeps_what_it_had(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.keep_round(1, None, [original("one", seq=3)])
    stands = json.loads((tmp_path / "round-0001.json").read_bytes())
    stands["toolResults"] = [{"theirs": True}, {**stands["toolResults"][0], "note": "theirs too"}]
    (tmp_path / "round-0001.json").write_text(json.dumps(stands))
    keeper.keep_round(1, None, [original("two", seq=9, call_id="d")])
    entries = json.loads((tmp_path / "round-0001.json").read_bytes())["toolResults"]
    assert entries[:2] == stands["toolResults"]
    assert [one.text for one in Archive(tmp_path).turn(1)] == ["one", "two"]


def test_another_session_is_not_written_over(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.keep_round(1, None, [original("one session's", seq=3)])
    before = (tmp_path / "round-0001.json").read_bytes()
    with pytest.raises(ArchiveError, match="another result as seq 3"):
        keeper.keep_round(1, None, [original("another's", seq=3)])
    assert (tmp_path / "round-0001.json").read_bytes() == before


def test_a_round_that_cannot_be_read_is_moved_aside(tmp_path: Path) -> None:
    (tmp_path / "round-0001.json").write_text('{"toolResults": [{"seq"')
    Keeper(tmp_path).keep_round(1, None, [original("text")])
    assert [one.text for one in Archive(tmp_path).turn(1)] == ["text"]
    assert (tmp_path / "round-0001.json.broken").read_text() == '{"toolResults": [{"seq"'


def test_a_write_that_waits_too_long_for_another_gives_up(tmp_path: Path) -> None:
    with FileLock(tmp_path / ".lock"), pytest.raises(ArchiveError, match="another process"):
        Keeper(tmp_path, patience=0.05).keep(original("text"))
    assert not (tmp_path / "results").exists()


def test_an_archive_that_is_not_there_is_empty(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "none")
    assert (archive.results(), archive.rounds(), archive.turn(1)) == ([], [], [])
    assert recall(Shelf(archive=archive), {}).found == ()
    assert not (tmp_path / "none").exists()


def test_what_is_no_file_of_the_archive_itself_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not of this session")
    (tmp_path / "archive" / "results").mkdir(parents=True)
    (tmp_path / "archive" / "results" / "t0001-s0001-01-bash-a.txt").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "archive" / "results" / "t0001-s0001-02-bash-b.txt")
    archive = Archive(tmp_path / "archive")
    assert archive.text("results/t0001-s0001-01-bash-a.txt") is None
    assert archive.text("results/t0001-s0001-02-bash-b.txt") is None


def test_a_round_whose_content_is_no_list_is_passed_over(tmp_path: Path) -> None:
    wrapped = {"type": "tool-result", "content": 5}
    entry = {"seq": 1, "event": {"data": {"message": {"content": [wrapped]}}}}
    (tmp_path / "round-0001.json").write_text(json.dumps({"toolResults": [entry]}))
    (original,) = Archive(tmp_path).turn(1)
    assert original.text == ""
