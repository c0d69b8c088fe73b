"""Changing a few values inside a JSON text and no other byte of it."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from refold.events._errors import FormatError
from refold.events.formats._messages import Path

Span = tuple[int, int]

_BLANK = re.compile("[ \t\n\r\ufeff]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_decoder = json.JSONDecoder()


def splice(text: str, edits: Mapping[Path, Callable[[Any], Any]], where: str) -> str:
    """The JSON text with the value at each path replaced by what its edit makes of it.

    An edited list keeps the text of every element that its edit gives back as the same object. Raises FormatError
    where the text is no JSON or a path leads nowhere.
    """
    try:
        spans = _spans(text, edits)
    except (ValueError, IndexError, RecursionError) as error:
        raise FormatError(f"{where}: not JSON: {error}") from None
    missing = next((path for path in edits if path not in spans), None)
    if missing is not None:
        raise FormatError(f"{where}: nothing stands at {'.'.join(map(str, missing))}")
    pieces: list[str] = []
    at = 0
    for path, (start, end) in sorted(spans.items(), key=lambda item: item[1]):
        pieces += text[at:start], _edited(text[start:end], edits[path], text.isascii())
        at = end
    return "".join((*pieces, text[at:]))


def _edited(old: str, edit: Callable[[Any], Any], escape: bool) -> str:
    value = _decoder.decode(old)
    new = edit(value)
    if not (isinstance(value, list) and isinstance(new, list)):
        return _dumped(new, escape)
    spans = _elements(old)
    texts: list[str] = []
    at = 0
    for element in new:
        kept = next((place for place in range(at, len(value)) if value[place] is element), None)
        texts.append(_dumped(element, escape) if kept is None else old[slice(*spans[kept])])
        at = at if kept is None else kept + 1
    if len(new) != len(value):
        return f"[{', '.join(texts)}]"
    for (start, end), changed in reversed(list(zip(spans, texts, strict=True))):
        old = old[:start] + changed + old[end:]
    return old


def _dumped(value: Any, escape: bool) -> str:
    """JSON in the manner of the text around it: escaped where that is ASCII alone. Lone surrogates always are."""
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=escape))


def _spans(text: str, paths: Iterable[Path]) -> dict[Path, Span]:
    """Where the values at these paths stand. Of an object's repeated keys the last counts, as for every decoder."""
    wanted: dict[str | int, Any] = {}
    for path in paths:
        below = wanted
        for key in path:
            below = below.setdefault(key, {})
    found: dict[Path, Span] = {}

    def walk(at: int, below: dict[str | int, Any], path: Path) -> int:
        if not below or text[at] not in "{[":
            end = _decoder.raw_decode(text, at)[1]
            if not below:
                found[path] = (at, end)
            return end
        closing = "}" if text[at] == "{" else "]"
        index = 0
        seen: set[str | int] = set()
        at = _skip(text, at + 1)
        while text[at] != closing:
            key: str | int = index
            if closing == "}":
                key, at = _decoder.raw_decode(text, at)
                at = _skip(text, _skip(text, at) + 1)
            if key in below:
                if key in seen:
                    for stale in [known for known in found if known[: len(path) + 1] == (*path, key)]:
                        del found[stale]
                seen.add(key)
                at = walk(at, below[key], (*path, key))
            else:
                at = _decoder.raw_decode(text, at)[1]
            at = _skip(text, at)
            at = _skip(text, at + 1) if text[at] == "," else at
            index += 1
        return at + 1

    walk(_skip(text, 0), wanted, ())
    return found


def _elements(text: str) -> list[Span]:
    """The spans of a JSON array's elements; the text is known to be one."""
    spans: list[Span] = []
    at = _skip(text, 1)
    while text[at] != "]":
        end = _decoder.raw_decode(text, at)[1]
        spans.append((at, end))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return spans


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
