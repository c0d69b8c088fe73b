"""DSH's rows between a live host and the fold: events as they come in, replacements as the host must append them."""

from collections.abc import Iterable
from typing import Any

from refold.events import Block, Event, LogError
from refold.events import _json as js
from refold.events._dsh_read import MAX_LINE, Reader
from refold.events._dsh_write import block_json, content_path, price, replacing


class DshRows:
    """One live session's rows, in batches, without the log's first line.

    A log on disk may end in a torn tail; a host that sends such a row has made a mistake, so here it is an error. Each
    batch has a reader of its own: what a reader remembers grows with its log.
    """

    def __init__(self, session: str, version: int) -> None:
        header = {"type": "session", "version": version, "id": session, "createdAt": 0}
        self._header = js.text(header).encode() + b"\n"
        self._noted: set[str] = set()

    def read(self, rows: Iterable[bytes], seq: int) -> tuple[list[Event], list[str]]:
        """The events of rows whose first must be `seq`, and what was taken on trust for the first time.

        Raises LogError.
        """
        reader = Reader([self._header, *(row + b"\n" for row in rows)], "session", MAX_LINE)
        reader.seq = seq
        events = list(reader.events())
        notes = [note.partition(": ")[2] for note in reader.notes]
        if reader.torn:
            raise LogError(notes[-1].partition("; it and what")[0], seq=reader.seq)
        if reader.unnumbered:
            raise LogError("the row has no seq and no time", seq=seq)
        new = [note for note in dict.fromkeys(notes) if note not in self._noted]
        self._noted.update(new)
        return events, new


def replacement(seq: int, content: tuple[Block, ...], shadowed_tokens: int, version: int) -> dict[str, Any]:
    """What a host appends to put `content` in the place of the tool result at `seq`, in the keys of its log version.

    `prune` is the data of the `compaction/prune` that goes first, `path` where in the old event's data `content` goes,
    `surface` what stands beside the data of the new `tool/result`. `shadowed_tokens` is DSH's price of the old result.
    """
    return {
        "prune": price(seq, shadowed_tokens),
        "path": content_path(version),
        "content": [block_json(block) for block in content],
        "surface": replacing(seq, version),
    }
