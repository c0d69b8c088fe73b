"""What happens to files: they are cut off, bytes turn over, lines are lost, come twice or out of order, and another
version writes another type into a field. And what a reader may do with such a file."""

import json
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from random import Random
from types import FrameType
from typing import Any

from tests.formats.checked import check

from refold.events import FormatError, LogError
from refold.events.formats import FORMATS, Format, Session, Source

SECONDS = 20
"""The longest that the reading of one file may take; the largest of them takes about one."""
JUNK = (
    None,
    True,
    -1,
    1.5,
    1e308,
    2**70,
    "",
    "x",
    "\ud800",
    [],
    {},
    [None],
    [[]],
    {"a": {"b": {}}},
    [{"type": "text"}],
)
NAMES = ("type", "id", "role", "content", "usage", "kind", "message", "payload", "timestamp")


def cut(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def flip(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 8) if data else 0):
        changed[random.randrange(len(data))] = random.randrange(256)
    return bytes(changed)


def shuffle(data: bytes, random: Random) -> bytes:
    return _with_rows(data, random, lambda rows: random.sample(rows, len(rows)))


def repeat(data: bytes, random: Random) -> bytes:
    def again(rows: list[Any]) -> list[Any]:
        start, end = _span(rows, random)
        return rows[:end] + rows[start:end] + rows[end:]

    return _with_rows(data, random, again)


def lose(data: bytes, random: Random) -> bytes:
    def less(rows: list[Any]) -> list[Any]:
        start, end = _span(rows, random)
        return rows[:start] + rows[end:]

    return _with_rows(data, random, less)


def spoil(data: bytes, random: Random) -> bytes:
    """Up to six fields hold something else: another type, another field's value, nothing, or a second one beside it."""
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    if (value := _parsed(data if len(lines) < 4 else lines[at])) is None:
        return data
    try:
        for _ in range(random.randint(1, 6)):
            _spoil_one(value, random)
        written = json.dumps(value).encode()
    except (RecursionError, ValueError):  # what is spoilt again and again grows deep, or comes to hold itself
        return data
    return written if len(lines) < 4 else b"\n".join([*lines[:at], written, *lines[at + 1 :]])


DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (cut, flip, shuffle, repeat, lose, spoil)


def damaged(data: bytes, how: Iterable[Callable[[bytes, Random], bytes]], random: Random) -> bytes:
    for damage in how:
        data = damage(data, random)
    return data


def detected(data: bytes) -> list[Format]:
    """The formats that take the bytes for theirs. To ask raises nothing."""
    with _time_limit():
        return [form for form in FORMATS if form.detect(Source(data, "damaged"))]


def survives(form: Format, data: bytes) -> tuple[Session, ...]:
    """The sessions that the format's reader finds in the bytes, in good order; none where it refuses them.

    A fold may still refuse a DSH log: that the reader of DSH's own format takes on trust what a surface must be like is
    its rule. Any other error, and reading without end, is the reader's failure.
    """
    source = Source(data, "damaged")
    try:
        with _time_limit():
            sessions = form.read(source)
    except FormatError:
        return ()
    except LogError:
        assert form.name == "dsh"
        return ()
    assert sessions
    for session in sessions if form.name != "dsh" else ():
        check(session)
    return sessions


def _with_rows(data: bytes, random: Random, change: Callable[[list[Any]], list[Any]]) -> bytes:
    """Change the order of lines, or of the elements of one list where the source is one JSON document."""
    value = _parsed(data)
    try:
        found = list(_lists(value))
    except RecursionError:
        found = []
    if not found:
        return b"\n".join(change(data.split(b"\n")))
    rows = random.choice(sorted(found, key=len)[-5:])
    rows[:] = change(rows)
    return json.dumps(value).encode()


def _span(rows: list[Any], random: Random) -> tuple[int, int]:
    start = random.randrange(len(rows) + 1)
    return start, random.randint(start, len(rows))


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list) and value:
        yield value
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _lists(below)


def _spoil_one(value: Any, random: Random) -> None:
    places = list(_places(value))
    if not places:
        return
    parent, key = random.choice(places)
    other, other_key = random.choice(places)
    copied = json.loads(json.dumps(other[other_key]))
    match random.randrange(5):
        case 0:
            del parent[key]
        case 1:
            parent[key] = random.choice(JUNK)
        case 2:
            parent[key] = copied
        case 3 if isinstance(parent, list):
            parent.insert(random.randrange(len(parent) + 1), copied)
        case _ if isinstance(parent, dict):
            parent[random.choice(NAMES)] = copied


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from _places(below)


@contextmanager
def _time_limit() -> Iterator[None]:
    def too_long(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"a reader took more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
