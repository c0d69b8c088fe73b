"""DSH's rows between a live host and the fold: events as they come in, replacements as the host must append them."""

from typing import Any, NoReturn

from refold.events import Block, Event
from refold.events import _json as js
from refold.events._dsh_read import MAX_LINE, Reader
from refold.events._dsh_write import block_json


class DshRows(Reader):
    """Rows that come in batches, with no header and no end. `seq` is the place that the next row must have.

    A log on disk may end in a torn tail; a host that sends such a row has made a mistake, so here it is an error.
    """

    def __init__(self, session: str, version: int) -> None:
        header = js.text({"type": "session", "version": version, "id": session}).encode()
        super().__init__([header + b"\n"], "session", MAX_LINE)

    def read(self, block: bytes) -> list[Event]:
        """The events of whole lines. Raises LogError; `seq` must then be put back."""
        return self._block(block) if block else []

    def _tear(self, rule: str, rest: list[bytes]) -> NoReturn:
        raise self._error(rule, self.line, self.seq)


def replacement(seq: int, content: tuple[Block, ...], shadowed_tokens: int, version: int) -> dict[str, Any]:
    """What a host appends to put `content` in the place of the tool result at `seq`, in the keys of its log version.

    `prune` is the data of the `compaction/prune` that goes first, `path` where in the old event's data `content` goes,
    `surface` what stands beside the data of the new `tool/result`. `shadowed_tokens` is DSH's price of what stood there.
    """
    names = ("start", "end") if version < 3 else ("startSeq", "endSeq")
    return {
        "prune": {
            "shadowedRange": {"start": seq, "end": seq},
            "shadowedSeqs": [seq],
            "shadowedTokenCount": shadowed_tokens,
        },
        "path": ["message", "content", 0, "content"] if version < 4 else ["message", "content"],
        "content": [block_json(block) for block in content],
        "surface": {"surfaceOp": {"op": "replace", **dict.fromkeys(names, seq)}, "sourceEventSeqs": [seq]},
    }
