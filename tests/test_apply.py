"""`refold apply` and its files: what is never overwritten, what standard input gives, where an error is."""

import io
import sys
from pathlib import Path

import pytest
import zstandard
from tests.dsh_log import frames, header, line, lines, row, session, user

from refold.cli import main
from refold.events import ToolResult
from refold.files import open_log

LONG = {"type": "text", "text": "x" * 20_000}
SHORT = {"type": "text", "text": "x"}
POLICY = ["--policy", "round"]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["refold", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code if isinstance(left.value.code, int) else -1


@pytest.mark.parametrize("due", [False, True])
def test_standard_input_is_the_log_also_where_it_is_written(
    due: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = lines(*session(0, [LONG if due else SHORT]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log)))
    out = tmp_path / "out.jsonl"
    assert run(monkeypatch, "apply", "-", "-o", str(out), *POLICY) == 0
    assert out.read_bytes().startswith(log)
    assert (len(out.read_bytes()) > len(log)) == due


def test_the_log_is_not_overwritten_by_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(lines(*session(0, [LONG])))
    (tmp_path / "link").symlink_to(log)
    for out in (log, tmp_path / "link"):
        assert run(monkeypatch, "apply", str(tmp_path), "-o", str(out), "--force", *POLICY) == 2
        assert "never changed" in capsys.readouterr().err
    assert log.read_bytes() == lines(*session(0, [LONG]))


def test_a_log_in_one_frame_comes_out_as_its_harness_wants_it_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = session(0, [LONG])
    (tmp_path / "log").write_bytes(frames(lines(*rows)))
    assert run(monkeypatch, "apply", str(tmp_path / "log"), "-o", str(tmp_path / "out"), *POLICY) == 0
    assert "first zstd frame" in capsys.readouterr().err
    first = zstandard.ZstdDecompressor().decompressobj()
    assert first.decompress((tmp_path / "out").read_bytes()) == lines(rows[0])
    results = [event for event in open_log(str(tmp_path / "out")) if isinstance(event, ToolResult)]
    assert [event.replaces for event in results] == [None, (5, 5)]


@pytest.mark.parametrize("command", ["view", "plan", "messages", "replay"])
def test_an_event_that_cannot_follow_is_named_by_file_line_and_seq(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    astray = user(1, surfaceOp={"op": "replace", "start": 7, "end": 7}, sourceEventSeqs=[0])
    log = tmp_path / "log"
    log.write_bytes(lines(line(header()), row("turn/start", 0, {"turn": 1}), b"\n", astray))
    assert run(monkeypatch, command, str(log)) == 2
    assert f"{log}:4 (seq 1): " in capsys.readouterr().err
