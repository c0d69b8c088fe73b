"""Files that are whole or not there, for their user alone: written beside, forced to disk, renamed into place."""

import os
from contextlib import suppress
from itertools import count
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
BESIDE = ".tmp"
ASIDE = ".broken"


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` at `path`, in place of what is there. Raises OSError; then `path` is whole all the same, old or new.

    One process may write a path at a time: the caller holds the archive's lock.
    """
    beside = path.with_name(f".{path.name}{BESIDE}")
    try:
        _write(beside, data)
        os.replace(beside, path)
    except OSError:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def sweep(folder: Path) -> None:
    """Delete what killed processes left beside their files. Raises OSError. The caller holds the archive's lock."""
    for left in folder.glob(f".*{BESIDE}"):
        left.unlink()


def set_aside(path: Path) -> Path:
    """Move a file that cannot be read out of the way, its bytes kept for a person to look at. Raises OSError."""
    names = (path.with_name(f"{path.name}{ASIDE}{number if number > 1 else ''}") for number in count(1))
    free = next(name for name in names if not name.exists())
    os.replace(path, free)
    _sync_folder(path.parent)
    return free


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, for their user alone. Raises OSError."""
    for one in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        with suppress(FileExistsError):  # another process made it in the meantime
            one.mkdir(PRIVATE_FOLDER)
            one.chmod(PRIVATE_FOLDER)
            _sync_folder(one.parent)


def _write(path: Path, data: bytes) -> None:
    with open(path, "wb", opener=_private) as file:
        path.chmod(PRIVATE_FILE)  # whatever the umask took away
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), PRIVATE_FILE)


def _sync_folder(folder: Path) -> None:
    """Force a folder's names to disk; Windows does that itself and cannot open a folder."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
