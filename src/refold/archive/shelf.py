"""Everything that can be recalled of a session: the originals its log holds, and those its archive keeps."""

from collections.abc import Iterable

import msgspec

from refold.archive.index import ResultRow
from refold.archive.layout import result_of
from refold.archive.originals import Original, originals
from refold.archive.store import Archive
from refold.events import Event, ToolResult
from refold.reducer._receipt import Origin, hint_of, receipted_name, result_name


class Kept(msgspec.Struct, frozen=True):
    """An original that can be recalled. `hint` says what its call was about; `row` is that of its own file in the
    archive, None where the log or a round file holds it."""

    original: Original
    hint: str
    row: ResultRow | None = None

    @property
    def turn(self) -> int:
        return self.original.origin.turn

    @property
    def step(self) -> int:
        return self.original.origin.step

    @property
    def time(self) -> int:
        return self.original.result.time


class Shelf:
    """The originals of one session, by turn, step and place. Raises ArchiveError where the archive cannot be listed.

    `events` is the session's log, () where there is none; `archive` its archive, if any. A turn that the log has is
    taken from it; where it holds a receipt the archive has the text, and what the archive alone has comes too.
    """

    def __init__(self, events: Iterable[Event] = (), archive: Archive | None = None) -> None:
        self._archive = archive
        rows = {row.rel_file: row for row in archive.results()} if archive else {}
        found = list(originals(events))
        if archive:
            for turn in {row.turn for row in archive.rounds()} - {one.origin.turn for one in found}:
                found += archive.turn(turn)
        kept = [_logged(original, rows) for original in found]
        known = {one.row.rel_file for one in kept if one.row} | {result_name(one.origin) for one in found}
        kept += [_kept_row(row) for name, row in rows.items() if name not in known]
        self.kept = sorted(kept, key=lambda one: (one.turn, one.step, one.original.origin.place))

    def text(self, kept: Kept) -> str | None:
        """The text of an original; None where its file is gone or cannot be read."""
        if kept.row is None:
            return kept.original.text
        return self._archive.text(kept.row.rel_file) if self._archive else None


def _logged(original: Original, rows: dict[str, ResultRow]) -> Kept:
    name = receipted_name(original.origin, original.result.content)
    return Kept(original, hint_of(original.origin.arguments), rows.get(name) if name else None)


def _kept_row(row: ResultRow) -> Kept:
    told = result_of(row.rel_file.rpartition("/")[2])
    origin = Origin(row.turn, row.step, told.place if told else 1, row.tool, row.call_id or "")
    result = ToolResult(-1, row.time, (), row.turn, row.step, row.call_id or "")
    return Kept(Original(origin, result), row.hint, row)
