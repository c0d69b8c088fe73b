"""Files in and out: which one is read, and that a file is written whole or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.dsh_log import frames, lines, session

from refold.events import LogError, RefoldError
from refold.files import blocks_of, open_log, save

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
