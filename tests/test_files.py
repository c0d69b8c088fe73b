"""Files in and out: which one is read, and that a file is written whole or not at all."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.dsh_log import frames, lines, session

from refold.events import LogError, RefoldError
from refold.files import OutputError, at_rest, blocks_of, log_path, open_log, save

TEXT = {"type": "text", "text": "output"}


def stored(folder: Path, name: str, version: int) -> str:
    file = folder / name
    head, *rows = session(version, [TEXT])
    file.write_bytes(frames(lines(head), lines(*rows)) if name.endswith(".zstd") else lines(head, *rows))
    return str(file)


@pytest.mark.parametrize(
    ("name", "version"),
    [("session.jsonl", 0), ("session.v3.jsonl", 3), ("session.v4.jsonl.zstd", 4), ("of-any-name", 5)],
)
def test_a_log_is_read_from_its_file(tmp_path: Path, name: str, version: int) -> None:
    file = stored(tmp_path, name, version)
    log = open_log(file)
    assert (log.version, log.name, len(list(log))) == (version, file, 8)
    assert b"".join(blocks_of(file)) == Path(file).read_bytes()


@pytest.mark.parametrize(
    ("name", "version"), [("session.jsonl", 4), ("session.v3.jsonl", 4), ("session.v4.jsonl.zstd", 0)]
)
def test_a_file_name_that_promises_another_format_is_refused(tmp_path: Path, name: str, version: int) -> None:
    file = stored(tmp_path, name, version)
    with pytest.raises(LogError) as refused:
        open_log(file)
    assert (refused.value.path, refused.value.line) == (file, 1)


def test_a_file_that_is_no_dsh_log_is_refused_with_the_function_that_may_read_it(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"role":"user"}\n')
    with pytest.raises(LogError, match=r"notes\.jsonl:1: .*refold\.transcripts\.open_session") as refused:
        open_log(str(tmp_path / "notes.jsonl"))
    assert refused.value.line == 1


def test_of_a_session_directory_the_newest_generation_is_read(tmp_path: Path) -> None:
    for name, version in [("session.jsonl", 0), ("session.v4.jsonl.zstd", 4), ("session.v3.jsonl", 3)]:
        stored(tmp_path, name, version)
    stored(tmp_path, "session.v4.jsonl.zstd.bak", 5)
    assert open_log(str(tmp_path)).version == 4


def test_a_directory_without_a_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("{}")
    with pytest.raises(LogError) as refused:
        open_log(str(tmp_path))
    assert refused.value.path == str(tmp_path)


def test_a_saved_file_is_the_pieces_in_order_and_nothing_beside_it(tmp_path: Path) -> None:
    save(str(tmp_path / "out"), [b"a", b"b"])
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"out": b"ab"}


def test_an_existing_file_is_overwritten_only_by_force(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")
    with pytest.raises(RefoldError):
        save(str(out), [b"new"])
    assert out.read_bytes() == b"old"
    save(str(out), [b"new"], force=True)
    assert out.read_bytes() == b"new"


@pytest.mark.parametrize("existing", [False, True])
def test_an_error_on_the_way_leaves_everything_as_it_was(tmp_path: Path, existing: bool) -> None:
    out = tmp_path / "out"
    if existing:
        out.write_bytes(b"old")

    def breaks() -> Iterator[bytes]:
        yield b"half"
        raise LogError("broken")

    with pytest.raises(LogError):
        save(str(out), breaks(), force=True)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == ({"out": b"old"} if existing else {})


def test_a_directory_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(RefoldError):
        save(str(tmp_path), [b"x"], force=True)


def test_a_generation_of_two_digits_is_newer_than_one_of_one(tmp_path: Path) -> None:
    for name in ("session.v9.jsonl", "session.v10.jsonl"):
        stored(tmp_path, name, 4)
    assert log_path(str(tmp_path)) == str(tmp_path / "session.v10.jsonl")


def test_a_directory_with_its_newest_generation_twice_is_refused(tmp_path: Path) -> None:
    for name in ("session.jsonl", "session.v4.jsonl", "session.v4.jsonl.zstd"):
        stored(tmp_path, name, 4)
    with pytest.raises(LogError, match=r"session\.v4\.jsonl and session\.v4\.jsonl\.zstd"):
        open_log(str(tmp_path))


def test_standard_input_is_read_once_and_gone_through_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    log = lines(*session(4, [TEXT]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log)))
    with at_rest("-") as blocks:
        assert len(list(open_log("-", blocks=blocks()))) == 8
        assert b"".join(blocks()) == log


def test_a_log_at_rest_stays_as_it_was_while_its_file_grows(tmp_path: Path) -> None:
    file = stored(tmp_path, "session.jsonl", 0)
    before = Path(file).read_bytes()
    with at_rest(file) as blocks:
        with open(file, "ab") as grown:
            grown.write(b"{}\n")
        assert b"".join(blocks()) == before


@pytest.mark.parametrize("name", ["the file", "its folder", "a symbolic link", "a hard link", "another spelling"])
def test_the_log_itself_is_not_overwritten_even_by_force(tmp_path: Path, name: str) -> None:
    file = stored(tmp_path, "session.v4.jsonl", 4)
    before, out = Path(file).read_bytes(), tmp_path / "link"
    if name == "a symbolic link":
        out.symlink_to(file)
    elif name == "a hard link":
        out.hardlink_to(file)
    elif name == "another spelling":
        out = tmp_path / ".." / tmp_path.name / "session.v4.jsonl"
    else:
        out = Path(file)
    with pytest.raises(OutputError, match="never changed"):
        save(str(out), [b"new"], force=True, original=str(tmp_path) if name == "its folder" else file)
    assert Path(file).read_bytes() == before


def test_the_log_that_standard_input_comes_from_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = stored(tmp_path, "session.v4.jsonl", 4)
    with open(file) as standard_input:
        monkeypatch.setattr(sys, "stdin", standard_input)
        with pytest.raises(OutputError, match="never changed"):
            save(file, [b"new"], force=True, original="-")


def test_another_file_is_overwritten_by_force(tmp_path: Path) -> None:
    file = stored(tmp_path, "session.v4.jsonl", 4)
    (tmp_path / "out").write_bytes(b"old")
    save(str(tmp_path / "out"), [b"new"], force=True, original=file)
    assert (tmp_path / "out").read_bytes() == b"new"


@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_file_is_not_written_over(tmp_path: Path, force: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError):
        save(str(tmp_path / "pipe"), [b"x"], force=force)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written: No such file"):
        save(str(tmp_path / "none" / "out"), [b"x"])
