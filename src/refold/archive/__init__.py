"""Originals outside the prompt: kept before they are cut or instead of being logged, and given back to a model.

Writing is in `refold.archive.keeper` (extra `refold[archive]`), serving over MCP in `refold.archive.mcp` (extra
`refold[mcp]`).
"""

from refold.archive.admission import Admission, Receipts, Rules, admit, decided
from refold.archive.layout import archive_beside, archive_of
from refold.archive.originals import Original, originals
from refold.archive.recall import Answer, recall
from refold.archive.shelf import Shelf
from refold.archive.store import Archive, ArchiveError
from refold.archive.tool import definition, read_tool_result_log
from refold.reducer._receipt import Origin, receipt

__all__ = [
    "Admission",
    "Answer",
    "Archive",
    "ArchiveError",
    "Origin",
    "Original",
    "Receipts",
    "Rules",
    "Shelf",
    "admit",
    "archive_beside",
    "archive_of",
    "decided",
    "definition",
    "originals",
    "read_tool_result_log",
    "recall",
    "receipt",
]
