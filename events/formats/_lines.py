"""JSON lines as harnesses leave them: two records on one line, a last line that breaks off, lines that are no JSON."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from refold.events._errors import FormatError
from refold.events.formats._fields import Object
from refold.events.formats._source import Source, decode_json


def records(source: Source) -> tuple[list[tuple[int, Object]], list[str]]:
    """Each record with its line number, and what could not be read: one text each, nothing where all was read."""
    found: list[tuple[int, Object]] = []
    damage: list[str] = []
    torn = not source.data.endswith(b"\n")
    number = 0
    for number, line in source.lines():
        values, whole = _values(line)
        found += ((number, value) for value in values if isinstance(value, dict))
        if not whole:
            damage.append(f"line {number} is no JSON and is left out")
        elif not all(isinstance(value, dict) for value in values):
            damage.append(f"line {number} holds no JSON object and is left out")
    if torn and damage and damage[-1] == f"line {number} is no JSON and is left out":
        damage[-1] = f"the last line, {number}, breaks off and is left out"
    return found, damage


def glance(source: Source, lines: int = 50) -> Iterator[Object]:
    """The records of the first lines, to tell a format by; raises nothing."""
    for _, line in islice(source.lines(), lines):
        yield from (value for value in _values(line)[0] if isinstance(value, dict))


def _values(line: bytes) -> tuple[list[Any], bool]:
    """The values on a line, and whether they are all of it: racing writers leave two without a line end between."""
    try:
        return [decode_json(line, "line")], True
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
        return values, False
    return values, True
