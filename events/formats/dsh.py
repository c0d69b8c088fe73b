"""DeepSeek Harness's own session log, V0 to V5, as one format among others. `read_dsh` reads it block by block.

Told by its first line, a session header with a whole-number version (pi's has a textual timestamp beside it), or by the
magic number of zstd, in which no other transcript is packed.
"""

from refold.events._dsh_read import MAX_LINE, Reader
from refold.events._errors import FormatError, LogError, RefoldError
from refold.events._zstd import MAGIC
from refold.events.formats._fields import text
from refold.events.formats._lines import glance
from refold.events.formats._source import Format, Session, Source


def other_packed(error: LogError, start: bytes, name: str) -> RefoldError:
    """The error as it is, or a better one where zstd was found to hold something else than a session log."""
    if (
        error.line == 1
        and start.startswith(MAGIC)
        and error.rule.startswith(("the first line is no session header", "the header is not"))
    ):
        return FormatError(f"{name}: is zstd-compressed and holds no DSH log: unpack it first (zstd -d)")
    return error


def detect(source: Source) -> bool:
    if source.start.startswith(MAGIC):
        return True
    header = next(glance(source, 1), {})
    return header.get("type") == "session" and isinstance(header.get("version"), int) and "timestamp" not in header


def read(source: Source) -> tuple[Session, ...]:
    """The one session of a log. Raises FormatError where something else is packed in it, LogError where the log breaks
    a rule of its format."""
    try:
        reader = Reader((source.content,), source.name, MAX_LINE)
    except LogError as error:
        raise other_packed(error, source.start, source.name) from None
    events = tuple(reader.events())
    header = reader.header
    parent = text(header.get("parentSession")) or None
    return (Session(text(header.get("id")), events, parent, tuple(reader.notes), reader.torn),)


FORMAT = Format(
    "dsh",
    "DeepSeek Harness session log (V0 to V5)",
    frozenset({"usage", "cache", "reasoning", "errors", "compaction", "times"}),
    detect,
    read,
)
