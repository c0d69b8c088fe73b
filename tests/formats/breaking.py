"""Input that is broken in many ways, and what a reader may do with it."""

from collections.abc import Iterator

from tests.formats.checked import check

from refold.events import FormatError
from refold.events.formats._source import Format, Source


def broken(source: Source) -> Iterator[Source]:
    """The source cut off at many places, and with one byte spoilt at as many."""
    for at in range(1, len(source.data), max(1, len(source.data) // 60)):
        yield Source(source.data[:at], f"cut at {at}")
        yield Source(source.data[:at] + b"\x00" + source.data[at + 1 :], f"spoilt at {at}")


def never_breaks(form: Format, source: Source) -> None:
    """Broken input is refused with a FormatError, or read as sessions in good order."""
    for attempt in broken(source):
        form.detect(attempt)
        try:
            sessions = form.read(attempt)
        except FormatError:
            continue
        for session in sessions:
            check(session)
