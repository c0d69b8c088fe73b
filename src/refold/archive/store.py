"""The archive of one session on disk, for reading. It takes no lock: every file in it is whole at any moment."""

import errno
from pathlib import Path

from refold.archive.index import Index, ResultRow, RoundRow, heal, read_index
from refold.archive.layout import result_path, round_of
from refold.archive.originals import Original
from refold.archive.rounds import merged, originals_in, parsed
from refold.events import RefoldError


class ArchiveError(RefoldError):
    """The archive could not be listed or written. Nothing was lost: an original that was not kept is logged whole."""


class Archive:
    """The archive in the folder `root`, which need not exist. Files that the index misses are found all the same."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def results(self) -> list[ResultRow]:
        """The results that have a file of their own. Raises ArchiveError."""
        return list(self._index().results.values())

    def rounds(self) -> list[RoundRow]:
        """The round files that are there. Raises ArchiveError."""
        return [row for row in self._index().rounds.values() if (self.root / row.file).is_file()]

    def text(self, name: str) -> str | None:
        """The text kept under a name relative to the archive; None where it is not there, or cannot be read."""
        path = result_path(self.root, name)
        try:
            return _bytes_of(path).decode("utf-8", "surrogatepass") if path is not None else None
        except (OSError, UnicodeDecodeError):
            return None

    def turn(self, turn: int) -> list[Original]:
        """The originals of a turn in its round files, each once; a file that cannot be read is passed over."""
        names = sorted(path.name for path in self.root.glob(f"round-{turn:04d}*.json"))
        return merged(self._read(name, turn) for name in names if (round_of(name) or (-1,))[0] == turn)

    def _read(self, name: str, turn: int) -> list[Original]:
        try:
            return originals_in(parsed(_bytes_of(self.root / name)), turn)
        except (OSError, ValueError):
            return []

    def _index(self) -> Index:
        """The index as it should be; nothing is written."""
        try:
            try:
                index = read_index(self.root)
            except ValueError:
                index = Index()
            heal(index, self.root)
        except OSError as error:
            raise failed(self.root, error) from error
        return index


def _bytes_of(path: Path) -> bytes:
    """The bytes of a file that stands there itself. Raises OSError for a link, which may lead out of the archive, and
    for a pipe, which would be waited for."""
    if path.is_symlink() or not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "is no regular file", str(path))
    return path.read_bytes()


def failed(root: Path, error: Exception) -> ArchiveError:
    """What an error of the file system means for the archive."""
    what = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    where = error.filename if isinstance(error, OSError) and error.filename else root
    return ArchiveError(f"{where}: {what}")
