"""`refold recall`: for people, for programs, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
import zstandard
from click.testing import CliRunner
from tests.archive.logs import dsh_lines
from tests.archive.test_recall import session

from refold.archive.keeper import Keeper
from refold.cli.recall import recall

LIVE = Path(__file__).parents[2] / "examples" / "session.v4.jsonl.zstd"


def printed(*arguments: str) -> str:
    return CliRunner().invoke(recall, arguments, standalone_mode=False, catch_exceptions=False).stdout


def refused(*arguments: str) -> str:
    with pytest.raises(click.ClickException) as error:
        CliRunner().invoke(recall, arguments, standalone_mode=False, catch_exceptions=False)
    return error.value.format_message()


@pytest.fixture
def log(tmp_path: Path) -> str:
    (tmp_path / "session.v4.jsonl").write_bytes(dsh_lines(session().events))
    return str(tmp_path / "session.v4.jsonl")


def test_people_are_shown_a_step_whole(log: str) -> None:
    assert printed(log, "--turn", "1", "--step", "1") == (
        "Query: turn 1, step 1\n\n"
        "--- turn 1 step 1 · bash · ls -l · lines 1-3 of 3 · 13 bytes ---\none\ntwo\nthree\n\n"
        "--- turn 1 step 1 · read · /p/x.py · lines 1-1 of 1 · 5 bytes ---\nx = 1\n\n"
        "(2 match, 2 shown)\n"
    )


def test_programs_get_one_json_document(log: str) -> None:
    document = json.loads(printed(log, "--turn", "3", "--json"))
    assert document == {
        "session": log,
        "query": "turn 3",
        "turns": [],
        "results": [
            {
                "turn": 3,
                "step": 1,
                "seq": 26,
                "call_id": "d",
                "tool": "bash",
                "hint": "",
                "time": 3_626_000,
                "is_error": False,
                "file": None,
                "bytes": 5,
                "lines": 1,
                "first_line": 1,
                "last_line": 1,
                "text": "shown",
                "other_blocks": [{"type": "image"}],
            }
        ],
        "gone": 0,
    }
    listed = json.loads(printed(log, "--json"))
    assert listed["turns"] == [{"turn": 1, "results": 3, "steps": 2}, {"turn": 3, "results": 1, "steps": 1}]
    assert all("text" not in result for result in listed["results"])


def test_pages_are_for_people_too(log: str) -> None:
    assert "\ntwo\n\n… (lines of this result not shown: 1; go on with offset=3, limit=1)" in printed(
        log, "--turn", "1", "--step", "1", "--offset", "2", "--limit", "1"
    )


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--turn", "0"), "turn must be a whole number of at least 1"),
        (("--step", "1"), "step goes with a turn"),
        (("--turn", "2"), "nothing is archived of turn 2 (archived: turn 1, turn 3)"),
        (("--turn", "1", "--time", "0"), "time names a turn by itself: leave out one of the two"),
        (("--time", "noon"), 'cannot read "noon" as a time'),
        (("--turn", "2", "--lang", "zh"), "第 2 轮没有归档条目"),
        (("--mcp", "--turn", "1"), "--mcp serves whatever a model asks for"),
    ],
)
def test_what_cannot_be_answered_is_an_error(log: str, options: tuple[str, ...], error: str) -> None:
    assert error in refused(log, *options)


def test_standard_input_is_not_served() -> None:
    assert "standard input belongs to the MCP client" in refused("-", "--mcp")


def test_a_folder_of_originals_needs_no_log(tmp_path: Path) -> None:
    folder = tmp_path / "tool-result-logs"
    Keeper(folder).keep_turns(session().events)
    assert "\nfound\n" in printed(str(folder), "--turn", "1", "--step", "2")


def test_every_original_of_a_recorded_session_is_given_back() -> None:
    """What each tool gave back is taken from the log's own JSON, by hand."""
    reader = zstandard.ZstdDecompressor().stream_reader(LIVE.read_bytes(), read_across_frames=True)
    expected: dict[int, Any] = {}
    for line in reader.read().splitlines():
        row = json.loads(line)
        if row["type"] == "tool/result" and row["surfaceOp"] == "append":
            content = row["data"]["message"]["content"]
            expected[row["seq"]] = "".join(block["text"] for block in content if block["type"] == "text")
    listed = json.loads(printed(str(LIVE), "--json"))
    assert sum(turn["results"] for turn in listed["turns"]) == len(expected) > 40
    found = {}
    for turn in listed["turns"]:
        for result in json.loads(printed(str(LIVE), "--turn", str(turn["turn"]), "--json"))["results"]:
            found[result["seq"]] = result["text"]
    assert found == expected
