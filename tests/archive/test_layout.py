"""File names: those of the plugin, and never a path outside the archive, whatever a log holds."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.archive import Archive, Origin, Original, archive_beside, archive_of
from refold.archive.keeper import Keeper
from refold.archive.layout import (
    ResultName,
    project_key,
    result_of,
    result_path,
    round_name,
    round_of,
    session_segment,
)
from refold.events import Text, ToolResult
from refold.reducer._receipt import result_name

DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$", re.IGNORECASE)
HOSTILE = (
    "../../etc/passwd",
    "/etc/passwd",
    "..\\..\\windows",
    "C:\\windows\\system32",
    "a\x00b",
    "CON",
    "nul.txt",
    "x" * 100_000,
    "汉字/😀",
    "\ud800",
    ".",
    "..",
    "-rf",
    "a\nb",
    "",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_id_from_a_log_leaves_the_archive(name: str, tmp_path: Path) -> None:
    root = tmp_path / "deep" / "tool-result-logs"
    original = Original(Origin(1, 1, 1, name, name), ToolResult(0, 0, (Text("kept"),), 1, 1, name))
    origin = Keeper(root).keep(original)
    written = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    file = Path("deep", "tool-result-logs", result_name(origin))
    assert written == {file, file.parents[1] / "index.json", file.parents[1] / ".lock"}
    assert Archive(root).text(result_name(origin)) == "kept"


@given(st.text(), st.text(), st.integers(-5, 10**6), st.integers(-5, 10**6), st.integers(1, 200))
def test_a_result_name_is_one_plain_file_in_results(tool: str, call_id: str, turn: int, step: int, place: int) -> None:
    folder, file = result_name(Origin(turn, step, place, tool, call_id)).split("/")
    assert folder == "results"
    assert re.fullmatch(r"t-?\d+-s-?\d+-\d+-[A-Za-z0-9._-]{1,16}-[A-Za-z0-9._-]{0,12}\.txt", file, re.ASCII)
    assert not DEVICE.match(file)


@given(st.text(min_size=1), st.text(min_size=1))
def test_two_sessions_never_share_a_folder(one: str, other: str) -> None:
    assert (session_segment(one) == session_segment(other)) == (one == other)


@given(st.text(min_size=1))
def test_a_session_folder_is_one_plain_name_on_every_system(session_id: str) -> None:
    segment = session_segment(session_id)
    assert re.fullmatch(r"[A-Za-z0-9._~-]+", segment, re.ASCII)
    assert segment not in (".", "..")
    assert not DEVICE.match(segment)


def test_names_of_windows_devices_are_escaped() -> None:
    assert [session_segment(name) for name in ("con", "NUL.a", "com1", "console")] == [
        "~0063on",
        "~004EUL.a",
        "~0063om1",
        "console",
    ]


def test_code_units_are_escaped_one_by_one() -> None:
    assert session_segment("😀") == "~D83D~DE00"
    assert project_key("/😀") == "--~D83D~DE00--"


@pytest.mark.parametrize(
    ("cwd", "key"),
    [("/", "--root--"), ("C:\\a\\b", "--C-a-b--"), ("/a-/b", "--a--b--"), (None, "_no-cwd"), ("", "_no-cwd")],
)
def test_project_keys_of_unusual_folders(cwd: str | None, key: str) -> None:
    assert project_key(cwd) == key


def test_an_empty_session_id_has_no_folder() -> None:
    with pytest.raises(ValueError, match="without an id"):
        session_segment("")


def test_the_archive_lies_beside_the_log(tmp_path: Path) -> None:
    assert archive_beside(tmp_path / "session.jsonl") == archive_beside(tmp_path) == tmp_path / "tool-result-logs"
    assert archive_of(Path("/s"), "/a/b", "x y") == Path("/s/--a-b--/x~0020y/tool-result-logs")


def test_a_step_is_read_with_three_digits_and_written_with_four() -> None:
    assert round_name(3) == "round-0003.json"
    assert round_name(3, 2) == "round-0003-step-0002.json"
    assert round_of("round-0003-step-002.json") == round_of("round-0003-step-0002.json") == (3, 2)
    assert round_of("round-12345.json") == (12345, None)
    for other in ("round-003.json", "round-0003.json.tmp", "../round-0003.json", "round-٠٠٠١.json", "index.json"):
        assert round_of(other) is None


@pytest.mark.parametrize(
    ("file", "tool", "call_id"),
    [
        ("t0001-s0002-01-web_fetch-call_ab12.txt", "web_fetch", "call_ab12"),
        ("t0001-s0002-01-mcp__browser-mcp-call_1234567.txt", "mcp__browser-mcp", "call_1234567"),
        ("t0001-s0002-01-bash-a-b.txt", "bash", "a-b"),
        ("t0001-s0002-01-bash-.txt", "bash", ""),
    ],
)
def test_a_file_name_tells_tool_and_call(file: str, tool: str, call_id: str) -> None:
    assert result_of(file) == ResultName(1, 2, 1, tool, call_id)


@pytest.mark.parametrize(
    "name",
    [
        "results/../../secret.txt",
        "/etc/passwd",
        "results/secret.txt",
        "other/t0001-s0001-01-bash-a.txt",
        "results/t0001-s0001-01-bash-a.txt/../../secret",
        "results\\t0001-s0001-01-bash-a.txt",
    ],
)
def test_an_index_cannot_point_outside_its_archive(name: str, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    root.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    row = {"turn": 1, "step": 1, "callId": "a", "tool": "bash", "hint": "", "file": str(tmp_path / "secret.txt")}
    row |= {"relFile": name, "bytes": 6, "lines": 1, "time": 0}
    (root / "index.json").write_text(json.dumps({"schemaVersion": 3, "results": [row]}))
    assert Archive(root).results() == []
    assert result_path(root, name) is None
    assert Archive(root).text(name) is None
