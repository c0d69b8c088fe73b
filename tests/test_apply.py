"""`refold apply` and its files: what is never overwritten, what standard input gives, where an error is."""

import io
import json
import multiprocessing
import os
import re
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from tests.dsh_log import frames, header, line, lines, row, session, user

from refold.cli import main
from refold.events import LogError, ToolResult
from refold.events._zstd import Unpacked
from refold.files import log_path, open_log

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
    assert run(monkeypatch, "apply", str(tmp_path / "log"), "-o", str(tmp_path / "out.zstd"), *POLICY) == 0
    assert "first zstd frame" in capsys.readouterr().err
    first = zstandard.ZstdDecompressor().decompressobj()
    assert first.decompress((tmp_path / "out.zstd").read_bytes()) == lines(rows[0])
    results = [event for event in open_log(str(tmp_path / "out.zstd")) if isinstance(event, ToolResult)]
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


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "session.v4.jsonl"
    path.write_bytes(lines(*session(4, [LONG])))
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_the_name_of_the_output_says_whether_it_is_compressed(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = session(4, [LONG])
    source = tmp_path / "log"
    source.write_bytes(frames(lines(rows[0]), lines(*rows[1:])) if packed else lines(*rows))
    written = {}
    for name in ("out.jsonl", "out.zstd", "out.ZST"):
        assert run(monkeypatch, "apply", str(source), "-o", str(tmp_path / name), *POLICY) == 0
        written[name] = (tmp_path / name).read_bytes()

    assert written["out.jsonl"].startswith(lines(*rows))
    for name in ("out.zstd", "out.ZST"):
        first = zstandard.ZstdDecompressor().decompressobj()
        assert first.decompress(written[name]) == lines(rows[0]), "the harness wants the header alone in a frame"
        assert b"".join(Unpacked([written[name]], name)) == written["out.jsonl"]


def test_on_standard_output_the_log_stands_alone_with_the_compression_it_had(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(monkeypatch, "apply", str(log), "-o", str(tmp_path / "out"), *POLICY) == 0
    capfdbinary.readouterr()
    assert run(monkeypatch, "apply", str(log), "-o", "-", *POLICY) == 0
    out, err = capfdbinary.readouterr()
    assert out == (tmp_path / "out").read_bytes()
    assert err.startswith(b"refold: 1 cut, ")
    assert run(monkeypatch, "apply", str(log), "-o", "-", "--json", *POLICY) == 2
    assert capfdbinary.readouterr() == (
        b"",
        b"refold: -o - gives standard output to the log: leave out --json, or name a file\n",
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "'' can be no file's name"),
        ("folder/", "folder/ is a directory"),
        ("/dev/full", "/dev/full is no regular file"),
        ("session.v5.jsonl", "session.v5.jsonl is the name of a V5 log, and this one is V4: name it session.v4.jsonl"),
        ("session.jsonl.zstd", "is the name of a V0 log, and this one is V4: name it session.v4.jsonl.zstd"),
        ("none/out", "none/out cannot be written: No such file or directory"),
    ],
)
def test_an_output_that_cannot_be_is_refused_by_its_name(
    name: str, said: str, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "apply", str(log), "-o", name, *POLICY) == 2
    assert said in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == [log.name]


def test_a_transcript_is_written_plain_and_its_name_may_not_say_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    chat = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
    ]
    source = tmp_path / "chat.json"
    source.write_text(json.dumps({"model": "gpt-5.1", "messages": chat}))
    assert run(monkeypatch, "apply", str(source), "-o", str(tmp_path / "out.zst"), *POLICY) == 2
    assert "is written plain" in capsys.readouterr().err
    assert run(monkeypatch, "apply", str(source), "-o", str(tmp_path / "out.json"), *POLICY) == 0
    assert json.loads((tmp_path / "out.json").read_text())["messages"][2] == chat[2]


def test_a_transcript_in_a_folder_is_only_read_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    events = tmp_path / "conversation/events"
    events.mkdir(parents=True)
    said = {"id": "1", "timestamp": "2026-01-01T00:00:00", "source": "user", "kind": "MessageEvent"}
    message = {"llm_message": {"role": "user", "content": [{"type": "text", "text": "go"}]}}
    (events / "event-00000-1.json").write_text(json.dumps({**said, **message}))
    assert run(monkeypatch, "apply", str(events.parent), "-o", str(tmp_path / "out"), *POLICY) == 2
    assert "is a folder of the format openhands, which is only read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "mask", "gets"), [(0o600, 0o022, 0o600), (0o444, 0o022, 0o644), (0o644, 0o077, 0o600), (0o664, 0, 0o664)]
)
def test_the_output_gives_nobody_more_than_the_session_does(
    given: int, mask: int, gets: int, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.chmod(given)
    taken = tmp_path / "taken"
    taken.touch()
    taken.chmod(0o640)
    before = os.umask(mask)
    try:
        assert run(monkeypatch, "apply", str(log), "-o", str(tmp_path / "out"), *POLICY) == 0
        assert run(monkeypatch, "apply", str(log), "-o", str(taken), "--force", *POLICY) == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == gets
    assert stat.S_IMODE(taken.stat().st_mode) == gets & 0o640


def test_a_full_disk_leaves_nothing_and_names_the_output(log: Path, tmp_path: Path) -> None:
    most = log.stat().st_size + 100
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))"
    command = f"{limited}; from refold.cli import main; main()"
    arguments = [sys.executable, "-c", command, "apply", str(log), "-o", str(tmp_path / "out"), *POLICY]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"refold: {tmp_path / 'out'} cannot be written: File too large\n"
    assert [file.name for file in tmp_path.iterdir()] == [log.name]


def test_a_process_killed_while_it_writes_leaves_the_whole_output_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    log.write_bytes(lines(*session(4, [{"type": "text", "text": "x" * 4_000_000}])))
    whole = tmp_path / "whole"
    assert run(monkeypatch, "apply", str(log), "-o", str(whole), *POLICY) == 0
    size, halfway = whole.stat().st_size, 0
    for kill in range(20):
        folder = tmp_path / f"kill {kill}"
        folder.mkdir()
        out = folder / "session.v4.jsonl"
        writer = multiprocessing.get_context("fork").Process(
            target=run, args=(monkeypatch, "apply", str(log), "-o", str(out), *POLICY)
        )
        writer.start()
        while writer.is_alive() and _size(folder) < kill * size // 20:
            pass
        writer.kill()
        writer.join()

        left = [file for file in folder.iterdir() if file != out]
        halfway += bool(left)
        assert not out.exists() or out.read_bytes() == whole.read_bytes()
        for file in left:
            assert re.fullmatch(r"\.refold-\w+\.tmp", file.name)
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        if not out.exists():
            with pytest.raises(LogError, match="without a session log"):
                log_path(str(folder))
    assert halfway, "none of the kills met the writing"


def _size(folder: Path) -> int:
    """Of what was written there so far, 0 before there is anything."""
    sizes = []
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            sizes.append(file.stat().st_size)
    return max(sizes, default=-1)
