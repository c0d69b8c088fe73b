"""Keeping: the archive written so that neither a crash nor a second process harms it (extra `refold[archive]`).

Every write happens under the archive's lock, first the original, then the index: an original that has no row yet is
found again from its file.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from msgspec.structs import replace

from refold.archive.admission import ACCEPTED, Receipts, Rules, admit, receipted
from refold.archive.durable import PRIVATE_FILE, make_private, set_aside, sweep, write_whole
from refold.archive.index import Index, encoded_index, heal, read_index, result_row, round_row
from refold.archive.layout import INDEX, LOCK, result_path, round_name
from refold.archive.originals import Original, originals
from refold.archive.rounds import document, encoded, joined, originals_in, parsed
from refold.archive.store import ArchiveError, failed
from refold.events import Event, ToolResult, TurnEnd
from refold.reducer import View
from refold.reducer._receipt import RESULTS, Origin, result_name


class Keeper:
    """Writes a session's archive in the folder `root`, made when something is kept.

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
                    raise ArchiveError(f"{self.root}: {name!r} is no name for a result")
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
            made = document(turn, step, new, index.session_id, index.workspace)
            standing = _standing(path, turn, new)
            whole = made if standing is None else joined(standing, made)
            if whole is not standing:
                write_whole(path, encoded(whole))
            index.rounds[turn, step] = round_row(path.name, turn, step, originals_in(whole, turn))
        return True

    def keep_turns(self, events: Iterable[Event]) -> None:
        """Write the round file of every turn that has ended; done again, it changes nothing. Raises ArchiveError."""
        log = tuple(events)
        by_turn: dict[int, list[Original]] = {event.turn: [] for event in log if isinstance(event, TurnEnd)}
        for original in originals(log):
            by_turn.get(original.origin.turn, []).append(original)
        for turn, kept in by_turn.items():
            self.keep_round(turn, None, kept)

    @contextmanager
    def _writing(self) -> Iterator[Index]:
        """The index, healed, under the archive's lock; written back where it has changed."""
        try:
            make_private(self.root)
            with FileLock(self.root / LOCK, timeout=self._patience, mode=PRIVATE_FILE):
                sweep(self.root)
                sweep(self.root / RESULTS)
                index, before = self._index()
                yield index
                after = encoded_index(index)
                if after != before:
                    write_whole(self.root / INDEX, after)
        except Timeout:
            raise ArchiveError(f"{self.root}: another process has been writing for {self._patience} s") from None
        except (OSError, ValueError) as error:
            raise failed(self.root, error) from error

    def _index(self) -> tuple[Index, bytes]:
        """The index to write, and the bytes in its file; one that is no index is moved aside."""
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


def admitted(
    keeper: Keeper | None,
    view: View,
    result: ToolResult,
    receipts: Receipts,
    rules: Rules | None,
    *,
    decision: Mapping[str, Any] = ACCEPTED,
    nested: bool = False,
) -> tuple[ToolResult, str | None]:
    """What to log for a result, its original being kept by then, and a warning where that failed; see `admit`.

    A result whose original cannot be kept is logged whole. Without `rules` (admission is off) or `keeper` (there is no
    session) every result is.
    """
    if keeper is None or rules is None:
        return result, None
    admission = admit(view, result, receipts, rules, decision=decision, nested=nested)
    if admission is None:
        return result, None
    try:
        origin = keeper.keep(admission.original)
    except ArchiveError as error:
        return result, f"{error}; the result is logged whole"
    return receipted(replace(admission.original, origin=origin), rules).result, None


def _standing(path: Path, turn: int, new: list[Original]) -> dict[str, Any] | None:
    """The document a round file holds already, None for no file; one that cannot be read is moved aside."""
    try:
        standing = parsed(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        set_aside(path)
        return None
    by_seq = {one.result.seq: one for one in new}
    for one in originals_in(standing, turn):
        rival = by_seq.get(one.result.seq)
        if rival is not None and (rival.text, rival.origin.call_id) != (one.text, one.origin.call_id):
            raise ArchiveError(f"{path}: holds another result as seq {one.result.seq}: is it another session's?")
    return standing
