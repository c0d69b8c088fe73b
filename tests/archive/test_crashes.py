"""Whatever goes wrong while an archive is written, every file in it can be read and no original is lost."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.archive import writer
from tests.archive.logs import Log

from refold.archive import Archive, ArchiveError, Rules, Shelf, durable, recall
from refold.archive.keeper import Keeper, admitted
from refold.archive.layout import result_of
from refold.archive.rounds import originals_in, parsed
from refold.events import ToolResult
from refold.reducer._receipt import plain_text, result_name

RULES = Rules()
CORRUPT = '{"results": ['


class Died(BaseException):
    """The process is gone: nothing that handles errors may run."""


class Disk:
    """The operating system as `durable` calls it, noting what it is asked; the request number `broken` goes wrong."""

    def __init__(self, broken: int, kind: type[BaseException]) -> None:
        self.asked: list[str] = []
        self._broken, self._kind = broken, kind

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in ("open", "fsync", "replace"):
            return real

        def call(*given: Any) -> Any:
            self.ask(name)
            return real(*given)

        return call

    def open_file(self, *given: Any, **named: Any) -> "File":
        return File(open(*given, **named), self)

    def ask(self, name: str) -> None:
        self.asked.append(name)
        if len(self.asked) == self._broken:
            raise self._kind(errno.ENOSPC, "No space left on device")


class File:
    """A file whose writes and flushes can go wrong, a write half way through."""

    def __init__(self, file: Any, disk: Disk) -> None:
        self._file, self._disk = file, disk

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        half = len(data) // 2
        self._file.write(data[:half])
        self._disk.ask("write")
        self._file.write(data[half:])

    def flush(self) -> None:
        self._disk.ask("flush")
        self._file.flush()

    def fileno(self) -> int:
        return int(self._file.fileno())


def session() -> Log:
    log = Log()
    log.turn()
    for number in range(3):
        log.called("bash", writer.text_of(1, number), f"call{number}")
    log.turn()
    return log


def live_run(folder: Path, log: Log, logged: list[tuple[str, str]]) -> None:
    """Admission of each result in turn, then the round file; notes (what was logged, original) as far as it comes."""
    keeper, run = Keeper(folder), Log()
    for event in log.events:
        if isinstance(event, ToolResult):
            kept, _ = admitted(keeper, run.view(), event, run.receipts(RULES), RULES)
            logged.append((text_in(kept), text_in(event)))
        run.events.append(event)
    keeper.keep_turns(log.events)


def text_in(result: ToolResult) -> str:
    return plain_text(result.content) or ""


def check_readable(folder: Path, known: set[str]) -> None:
    """Every file that is no leftover of a write holds what its name says; an index that was corrupt may still be so."""
    for path in folder.rglob("*.txt"):
        assert path.read_bytes().decode() in known
    for path in folder.rglob("*.json"):
        if path.read_text() == CORRUPT:
            continue
        document = parsed(path.read_bytes())
        if path.name.startswith("round-"):
            assert {one.text for one in originals_in(document, 1)} <= known


def recalled(folder: Path) -> set[str]:
    return {found.page.text for found in recall(Shelf(archive=Archive(folder)), {"turn": 1}).found if found.page}


@pytest.mark.parametrize("kind", [OSError, Died])
@pytest.mark.parametrize("index", ["none", "corrupt"])
def test_a_fault_at_every_write_flush_fsync_and_rename_loses_nothing(
    kind: type[BaseException],
    index: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    log = session()
    known = {text_in(event) for event in log.events if isinstance(event, ToolResult)}

    def run(broken: int) -> list[str]:
        """One run in a folder of its own, the disk going wrong at call `broken`; gives what the disk was asked."""
        folder, disk, logged = tmp_path / str(broken), Disk(broken, kind), []
        folder.mkdir()
        if index == "corrupt":
            (folder / "index.json").write_text(CORRUPT)
        with monkeypatch.context() as patched:
            patched.setattr(durable, "os", disk)
            patched.setattr(durable, "open", disk.open_file, raising=False)
            try:
                live_run(folder, log, logged)
            except (Died, ArchiveError):
                assert len(disk.asked) >= broken
        check_readable(folder, known)
        receipted = {whole for shown, whole in logged if shown != whole}
        assert receipted <= recalled(folder), "what a receipt stands for can be recalled"
        live_run(folder, log, [])
        check_readable(folder, known)
        assert recalled(folder) == known
        assert not list(folder.rglob("*.tmp")), "a later run leaves nothing beside"
        return disk.asked

    asked = run(0)
    for broken in range(1, len(asked) + 1):
        run(broken)
    counted = {name: asked.count(name) for name in sorted(set(asked))}
    assert counted.keys() == {"flush", "fsync", "open", "replace", "write"}
    record_property(f"faults ({kind.__name__}, index {index})", f"{len(asked)}: {counted}")


def test_100_killed_writers_lose_nothing_they_had_kept(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    run = subprocess.run(
        [sys.executable, writer.__file__, "kill", tmp_path, "100"], capture_output=True, check=True, timeout=300
    )
    report = json.loads(run.stdout)
    told = report["told"]
    assert {step for step, _ in told} >= set(range(2, 101, 2)), "half of them were left to keep one at least"
    archives = {folder: Archive(folder) for folder in tmp_path.iterdir()}
    for folder, archive in archives.items():
        json.loads((folder / "index.json").read_bytes())
        for path in (folder / "results").glob("*.txt"):
            name = result_of(path.name)
            assert name is not None
            assert path.read_text() == writer.text_of(name.step, int(name.call_id.partition("x")[2]))
        rounds = {one.result.seq: one.text for one in archive.turn(writer.TURN)}
        for step, number in told:
            one = writer.original(step, number)
            if folder.name == str(step % 5):
                assert archive.text(result_name(one.origin)) == one.text
                assert rounds[one.result.seq] == one.text
    assert report["midway"], "some writers were killed in the middle of a write"
    figures = f"100, {report['midway']} of them in the middle of a write; {len(told)} originals kept, none lost"
    record_property("kills", figures)


def unindexed(folder: Path) -> int:
    listed = {row["relFile"] for row in json.loads((folder / "index.json").read_bytes())["results"]}
    return len({f"results/{path.name}" for path in (folder / "results").glob("*.txt")} - listed)


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    run = [sys.executable, writer.__file__, "keep", tmp_path]
    writers = [subprocess.Popen([*run, str(step), "12"]) for step in (1, 1, 2)]
    assert [process.wait(timeout=300) for process in writers] == [0, 0, 0]
    expected = {writer.text_of(step, number) for step in (1, 2) for number in range(12)}
    kept = [path.read_text() for path in (tmp_path / "results").glob("*.txt")]
    assert sorted(kept) == sorted(expected), "the two that kept the same kept it once"
    assert unindexed(tmp_path) == 0
    assert {one.text for one in Archive(tmp_path).turn(writer.TURN)} == expected
    assert not list(tmp_path.rglob("*.tmp"))
