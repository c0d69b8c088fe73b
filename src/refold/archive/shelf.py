"""Everything that can be recalled of a session: the originals its log holds, and those its archive keeps."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from refold.archive.index import ResultRow
from refold.archive.layout import result_of
from refold.archive.originals import Original, originals
from refold.archive.receipt import Origin, hint_of, receipted_name, size_of
from refold.archive.store import Archive
from refold.events import Event, Text, ToolResult


class Kept(msgspec.Struct, frozen=True):
    """An original that can be recalled. `file` is its own file's path, None where it has none, `hint` what its call
    was about; `text` is None where the file is gone or cannot be read."""

    original: Original
    text: str | None
    hint: str
    file: str | None = None

    @property
    def turn(self) -> int:
        return self.original.origin.turn

    @property
    def step(self) -> int:
        return self.original.origin.step


class Turn(msgspec.Struct, frozen=True):
    """What is kept of a turn: how many results, of which steps, from when to when (Unix milliseconds)."""

    turn: int
    results: int
    steps: tuple[int, ...]
    time_from: int
    time_to: int


class Shelf:
    """The originals of one session. `events` is its log, () where there is none; `archive` its archive, if any.

    The log comes first: what it holds whole is taken from it. Where it holds a receipt the archive has the text.
    """

    def __init__(self, events: Iterable[Event] = (), archive: Archive | None = None) -> None:
        self._log = list(originals(events))
        self._archive = archive
        self._rows = {row.rel_file: row for row in archive.results()} if archive else {}

    def of_turn(self, turn: int) -> list[Kept]:
        """All that is kept of a turn, by step and place. Raises ArchiveError."""
        seqs = {original.result.seq for original in self._log}
        rounds = self._archive.turn(turn) if self._archive else []
        found = [original for original in self._log if original.origin.turn == turn]
        found += [original for original in rounds if original.result.seq not in seqs]
        kept = [self._kept(original) for original in found]
        named = {one.file for one in kept}
        rows = [row for row in self._rows.values() if row.turn == turn]
        kept += [one for one in map(self._kept_row, rows) if one.file not in named]
        return sorted(kept, key=lambda one: (one.step, one.original.origin.place))

    def turns(self) -> list[Turn]:
        """The turns of which anything is kept. Raises ArchiveError."""
        counted: dict[int, _Count] = {}
        seqs = {original.result.seq for original in self._log}
        for original in self._log:
            counted.setdefault(original.origin.turn, _Count()).add(original.origin.step, original.result.time)
        logged = set(counted)
        receipted = {name for original in self._log if (name := _receipt(original))}
        for row in self._rows.values():
            if row.rel_file not in receipted:
                counted.setdefault(row.turn, _Count()).add(row.step, row.time)
        for turn in {row.turn for row in (self._archive.rounds() if self._archive else [])} - logged:
            for original in self._archive.turn(turn) if self._archive else []:
                if original.result.seq not in seqs:
                    counted.setdefault(turn, _Count()).add(original.origin.step, original.result.time)
        return [counted[turn].told(turn) for turn in sorted(counted)]
