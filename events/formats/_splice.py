"""Changing a few values inside a JSON text and no other byte of it."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from refold.events import _json as js
from refold.events._errors import FormatError
from refold.events.formats._messages import Path

Span = tuple[int, int]

_BLANK = re.compile("[ \t\n\r\ufeff]*")
_decoder = json.JSONDecoder()


def splice(text: str, edits: Mapping[Path, Callable[[Any], Any]], where: str) -> str:
    """The JSON text with the value at each path replaced by what its edit makes of it.

    Parts of a value that its edit gives back unchanged keep their text. Raises FormatError where the text is no JSON
    or a path leads nowhere.
    """
    try:
        spans = _spans(text, edits)
    except (ValueError, IndexError, RecursionError) as error:
        raise FormatError(f"{where}: not JSON: {error}") from None
    missing = next((path for path in edits if path not in spans), None)
    if missing is not None:
        raise FormatError(f"{where}: nothing stands at {'.'.join(map(str, missing))}")
    changes: list[tuple[Span, str]] = []
    for path, (start, end) in spans.items():
        value = _decoder.decode(text[start:end])
        changes.append(((start, end), _changed(text[start:end], value, edits[path](value), text.isascii())))
    return _with(text, changes)


def _changed(text: str, old: Any, new: Any, escape: bool) -> str:
    """The text of `old`, which `text` spells, as it must be to spell `new`."""
    if new is old:
        return text
    if isinstance(old, list) and isinstance(new, list) and len(old) != len(new):
        spans = list(_children(text, 0).values())
        kept = {place: text[start:end] for place, (start, end) in enumerate(spans)}
        same = ((next((at for at, each in enumerate(old) if each is element), -1), element) for element in new)
        return f"[{', '.join(kept[at] if at >= 0 else _dumped(element, escape) for at, element in same)}]"
    alike = isinstance(old, list) and isinstance(new, list)
    alike = alike or (isinstance(old, dict) and isinstance(new, dict) and list(old) == list(new))
    if not alike:
        return _dumped(new, escape)
    spans_of = _children(text, 0)
    changes = [
        ((start, end), _changed(text[start:end], old[key], new[key], escape)) for key, (start, end) in spans_of.items()
    ]
    return _with(text, changes)


def _with(text: str, changes: Iterable[tuple[Span, str]]) -> str:
    pieces: list[str] = []
    at = 0
    for (start, end), changed in sorted(changes):
        pieces += text[at:start], changed
        at = end
    return "".join((*pieces, text[at:]))


def _dumped(value: Any, escape: bool) -> str:
    """JSON in the manner of the text around it: escaped where that is ASCII alone. Lone surrogates always are."""
    return js.LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=escape))


def _spans(text: str, paths: Iterable[Path]) -> dict[Path, Span]:
    """Where the values at these paths stand; a path that leads nowhere is left out."""
    wanted: dict[str | int, Any] = {}
    for path in paths:
        below = wanted
        for key in path:
            below = below.setdefault(key, {})
    found: dict[Path, Span] = {}

    def walk(start: int, below: dict[str | int, Any], path: Path) -> None:
        for key, (inner, end) in _children(text, start).items():
            if below.get(key):
                walk(inner, below[key], (*path, key))
            elif key in below:
                found[(*path, key)] = (inner, end)

    start = _skip(text, 0)
    if wanted:
        walk(start, wanted, ())
    else:
        found[()] = (start, _decoder.raw_decode(text, start)[1])
    return found


def _children(text: str, start: int) -> dict[str | int, Span]:
    """Where each member of an object, or element of an array, stands; nothing for any other value.

    Of an object's repeated keys the last counts, as for every decoder.
    """
    if text[start] not in "{[":
        return {}
    closing = "}" if text[start] == "{" else "]"
    found: dict[str | int, Span] = {}
    at, index = _skip(text, start + 1), 0
    while text[at] != closing:
        key: str | int = index
        if closing == "}":
            key, at = _decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        end = _decoder.raw_decode(text, at)[1]
        found[key] = (at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
        index += 1
    return found


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
