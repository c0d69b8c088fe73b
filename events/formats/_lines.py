"""JSON lines as harnesses leave them: two records on one line, a last line that breaks off, lines that are no JSON."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from refold.events._errors import FormatError
from refold.events.formats._fields import Object
from refold.events.formats._source import Source, TooDeep, decode_json


class Records:
    """The records of JSON lines, with their line numbers, read anew at each iteration and not held.

    `damage`, complete when an iteration has ended, says what could not be read: one text each, none where all was.
    """

    def __init__(self, source: Source) -> None:
        self.damage: list[str] = []
        self._source = source

    def __iter__(self) -> Iterator[tuple[int, Object]]:
        self.damage.clear()
        number, line = 0, b"\n"
        for number, line in enumerate(self._source.whole_lines(), 1):
            if not (text := line.strip()):
                continue
            values, wrong = _values(text)
            yield from ((number, value) for value in values if isinstance(value, dict))
            if wrong:
                torn = wrong == "is no JSON" and not line.endswith(b"\n")
                damaged = f"the last line, {number}, breaks off" if torn else f"line {number} {wrong}"
                self.damage.append(f"{damaged} and is left out")
            elif not all(isinstance(value, dict) for value in values):
                self.damage.append(f"line {number} holds no JSON object and is left out")


def records(source: Source) -> tuple[list[tuple[int, Object]], list[str]]:
    """Each record with its line number, and what could not be read."""
    told = Records(source)
    return list(told), told.damage


def glance(source: Source, lines: int = 50) -> Iterator[Object]:
    """The records of the first lines, to tell a format by; raises nothing."""
    if source.is_one_long_line:  # decoded once for all who ask
        try:
            whole = source.document()
            yield from (whole,) if isinstance(whole, dict) else ()
            return
        except FormatError:
            pass
    try:
        for _, line in islice(source.lines(), lines):
            yield from (value for value in _values(line)[0] if isinstance(value, dict))
    except FormatError:  # a line too long: whoever reads it says so
        return


def _values(line: bytes) -> tuple[list[Any], str]:
    """The values on a line, and what is wrong with the rest: racing writers leave two without a line end between."""
    try:
        return [decode_json(line, "line")], ""
    except TooDeep:
        return [], "is nested too deeply"
    except FormatError:
        pass
    values: list[Any] = []
    try:
        text = line.decode().strip()
        at = 0
        while at < len(text):
            value, at = json.JSONDecoder().raw_decode(text, at)
            values.append(value)
            while text[at : at + 1].isspace():
                at += 1
    except (ValueError, RecursionError):
        return values, "is no JSON"
    return values, ""
