"""The archive of one session on disk: what was kept, written so that a crash or a second process harms nothing.

Every write happens under the archive's lock, first the original, then the index: at any moment each file is whole, and
an original without a row is found again from its file. Reading takes no lock.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout
from msgspec.structs import replace

from refold.archive.durable import PRIVATE_FILE, make_private, set_aside, write_whole
from refold.archive.index import Index, ResultRow, RoundRow, encoded_index, heal, read_index, result_row, round_row
from refold.archive.layout import INDEX, LOCK, result_path, round_name, round_of
from refold.archive.originals import Original, originals
from refold.archive.receipt import Origin, result_name
from refold.archive.rounds import document, encoded, merged, originals_in, parsed
from refold.events import Event, RefoldError, TurnEnd


class ArchiveError(RefoldError):
    """The archive could not keep something: nothing was lost, so log the result whole."""


class Archive:
    """A session's archive in the folder `root`, which need not exist yet.

    `session_id` and `workspace` are written down for readers. `patience` is how many seconds a write waits for another
    process's.
    """

    def __init__(
        self, root: Path, *, session_id: str | None = None, workspace: str | None = None, patience: float = 10.0
    ) -> None:
        self.root = root
        self._session_id, self._workspace, self._patience = session_id, workspace, patience

    def keep(self, original: Original) -> Origin:
        """Keep an original's text as a file of its own; gives the origin that names the file.

        Keeping the same again changes nothing. Where the name is taken by another text, the origin's place moves on
        until it is free. Raises ArchiveError.
        """
        with self._writing() as index:
            data = original.text.encode("utf-8", "surrogatepass")
            for place in count(original.origin.place):
                placed = replace(original, origin=replace(original.origin, place=place))
                name = result_name(placed.origin)
                path = result_path(self.root, name)
                if path is None:
                    raise ArchiveError(f"{self.root}: a result of turn {original.origin.turn} has no file name")
                if not path.exists():
                    make_private(path.parent)
                    write_whole(path, data)
                elif path.read_bytes() != data:
                    continue
                index.results.setdefault(name, result_row(self.root, placed))
                return placed.origin
        raise AssertionError("counting has no end")

    def keep_round(self, turn: int, step: int | None, kept: Iterable[Original]) -> bool:
        """Write the originals of a turn, or of one step of it, as one file; says whether there were any.

        What the file holds already stays in it. Raises ArchiveError, also where it holds another result under the same
        seq: it is then the archive of another session.
        """
        new = [one for one in kept if one.origin.turn == turn and step in (None, one.origin.step)]
        if not new:
            return False
        with self._writing() as index:
            path = self.root / round_name(turn, step)
            whole = merged((new, self._standing(path, new)))
            data = encoded(document(turn, step, whole, index.session_id, index.workspace))
            if not path.exists() or path.read_bytes() != data:
                write_whole(path, data)
            index.rounds[turn, step] = round_row(path.name, turn, step, whole)
        return True

    def keep_turns(self, events: Iterable[Event]) -> None:
        """Write the round file of every turn that has ended; done again, it changes nothing. Raises ArchiveError."""
        log = tuple(events)
        by_turn: dict[int, list[Original]] = {event.turn: [] for event in log if isinstance(event, TurnEnd)}
        for original in originals(log):
            by_turn.get(original.origin.turn, []).append(original)
        for turn, kept in by_turn.items():
            self.keep_round(turn, None, kept)

    def results(self) -> list[ResultRow]:
        """The results kept as files of their own, by turn and step. Raises ArchiveError."""
        rows = self._index().results.values()
        return sorted(rows, key=lambda row: (row.turn, row.step, row.time, row.rel_file))

    def rounds(self) -> list[RoundRow]:
        """The round files that are there. Raises ArchiveError."""
        rows = self._index().rounds.values()
        there = (row for row in rows if (self.root / row.file).exists())
        return sorted(there, key=lambda row: (row.turn, row.step or 0))

    def text(self, name: str) -> str | None:
        """The text kept under a name relative to the archive; None where it is not there, or cannot be read."""
        path = result_path(self.root, name)
        try:
            return None if path is None else path.read_bytes().decode("utf-8", "surrogatepass")
        except (OSError, UnicodeDecodeError):
            return None

    def turn(self, turn: int) -> list[Original]:
        """The originals of a turn in its round files, each once; a file that cannot be read is passed over."""
        names = sorted(path.name for path in self.root.glob(f"round-{turn:04d}*.json"))
        places = [(name, found) for name in names if (found := round_of(name)) is not None and found[0] == turn]
        return merged(self._read(name) for name, _ in places)

    def _read(self, name: str) -> list[Original]:
        try:
            return originals_in(parsed((self.root / name).read_bytes()))
        except (OSError, ValueError):
            return []

    def _standing(self, path: Path, new: list[Original]) -> list[Original]:
        """What a round file holds already; one that cannot be read is moved aside."""
        if not path.exists():
            return []
        try:
            standing = originals_in(parsed(path.read_bytes()))
        except ValueError:
            set_aside(path)
            return []
        by_seq = {one.result.seq: one for one in new}
        for one in standing:
            rival = by_seq.get(one.result.seq)
            if rival is not None and (rival.text, rival.origin.call_id) != (one.text, one.origin.call_id):
                raise ArchiveError(f"{path}: holds another result as seq {one.result.seq}: is it another session's?")
        return standing

    def _index(self) -> Index:
        """The index as it should be; nothing is written."""
        try:
            index = read_index(self.root)
        except ValueError:
            index = Index()
        except OSError as error:
            raise _failed(self.root, error) from error
        heal(index, self.root)
        return index

    @contextmanager
    def _writing(self) -> Iterator[Index]:
        """The index, healed, under the archive's lock; written back where it has changed."""
        try:
            make_private(self.root)
            with self._lock():
                index, before = self._index_to_write()
                yield index
                after = encoded_index(index)
                if after != before:
                    write_whole(self.root / INDEX, after)
        except Timeout:
            raise ArchiveError(f"{self.root}: another process has been writing for {self._patience} s") from None
        except (OSError, ValueError) as error:
            raise _failed(self.root, error) from error

    def _lock(self) -> FileLock:
        return FileLock(self.root / LOCK, timeout=self._patience, mode=PRIVATE_FILE)

    def _index_to_write(self) -> tuple[Index, bytes]:
        path = self.root / INDEX
        try:
            index = read_index(self.root)
        except ValueError:
            set_aside(path)
            index = Index()
        heal(index, self.root)
        index.session_id = index.session_id or self._session_id
        index.workspace = index.workspace or self._workspace
        return index, path.read_bytes() if path.exists() else b""


def _failed(root: Path, error: Exception) -> ArchiveError:
    what = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    where = error.filename if isinstance(error, OSError) and error.filename else root
    return ArchiveError(f"{where}: {what}")
