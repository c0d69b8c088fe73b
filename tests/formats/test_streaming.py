"""Long transcripts: lines are read one by one, twice at most, and a bar tells how far, on a terminal alone."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.formats.reading import DATA, excerpt

from refold.events.formats import Source, detect, named
from refold.transcripts import open_session


class Streamed(Source):
    """A source that nobody may ask for all of its bytes."""

    @property
    def data(self) -> bytes:
        raise AssertionError("the whole source was asked for")


@pytest.mark.parametrize(
    ("form", "name"), [("claude_code", "claude_code_microcompaction.jsonl"), ("codex", "codex_exec.jsonl")]
)
def test_lines_are_read_without_holding_the_whole(form: str, name: str) -> None:
    data, times = excerpt(name).data, []

    def pieces():
        times.append(1)
        return (data[at : at + 1000] for at in range(0, len(data), 1000))

    found = named(form).read(Streamed(pieces, name))

    assert found == named(form).read(excerpt(name))
    assert len(times) <= 3


def test_a_long_first_line_is_no_reason_to_hold_the_whole() -> None:
    first, _, rest = excerpt("codex_exec.jsonl").data.partition(b"\n")
    long = first.replace(b'"payload":{', b'"payload":{"filler":"' + b"x" * 100_000 + b'",', 1)
    assert len(long) > 100_000

    def pieces():
        data = long + b"\n" + rest
        return (data[at : at + 1000] for at in range(0, len(data), 1000))

    assert detect(Streamed(pieces, "codex")).name == "codex"


def test_a_file_that_grows_while_it_is_read_is_read_to_where_it_reached(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes((DATA / "claude_code_microcompaction.jsonl").read_bytes())
    whole = list(open_session(str(path)))
    grown = []

    def grow(pieces, size):
        if size is not None:
            with path.open("ab") as file:
                file.write(b'{"type":"user","uuid":"late","sessionId":"s","message":{"content":"later"}}\n')
            grown.append(size)
        return pieces

    assert list(open_session(str(path), watch=grow)) == whole
    assert len(set(grown)) == 1


def test_a_bar_is_shown_on_a_terminal_and_nowhere_else() -> None:
    run = "from refold.cli import main; main()"
    command = [sys.executable, "-c", run, "view", str(DATA / "claude_code_microcompaction.jsonl")]
    piped = subprocess.run(command, capture_output=True, check=True, text=True, env={**os.environ, "TERM": "xterm"})
    assert "reading" not in piped.stderr

    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm"}):
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # Linux: the terminal has no other end any more
            while piece := os.read(ours, 1 << 12):
                shown += piece
    os.close(ours)
    assert b"reading" in shown
