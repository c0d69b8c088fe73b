"""JSON as JavaScript takes and gives it, for the texts that msgspec cannot take or must not change."""

import json
import math
import re
from itertools import accumulate
from typing import Any

MAX_DEPTH = 500
"""Levels of nesting that are read: what is accepted here must not exhaust Python's stack wherever it is used later."""

LONE = re.compile("[\ud800-\udfff]")
_BRACKETS = b"[]{}"
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(_BRACKETS)))
_MAX_DIGITS = 308  # of a number below the largest that JavaScript has


class NotJson(ValueError):
    """The bytes are no JSON text; the message says where and why."""


class NotUtf8(ValueError):
    """The bytes are no text at all; the message says where."""


def parse(data: bytes) -> Any:
    """The one JSON value in `data`, as JSON.parse reads it: a lone surrogate escape is kept, of equal keys the last
    one counts, `1.0` is 1.

    Raises NotJson and NotUtf8, ValueError for JSON that no DSH log may hold: numbers that are not finite, nesting
    deeper than `MAX_DEPTH`.
    """
    check_depth(data)
    try:
        return json.loads(data.decode(), parse_float=_number, parse_int=_whole_number, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise NotUtf8(f"not UTF-8: byte 0x{data[error.start]:02x} at column {error.start + 1}") from None
    except json.JSONDecodeError as error:
        said = error.msg[0].lower() + error.msg[1:].removesuffix(" at")
        raise NotJson(f"not JSON: {said} at column {error.colno}") from None
    except RecursionError:  # the caller has used up most of the stack
        raise ValueError(f"JSON is nested too deep; {MAX_DEPTH} levels are read") from None


def check_depth(data: bytes) -> None:
    """Raises ValueError for JSON that is nested deeper than `MAX_DEPTH`. What is no JSON may pass."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    outside_strings = b"".join(data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    steps = (1 if bracket in b"[{" else -1 for bracket in outside_strings.translate(None, _NO_BRACKETS))
    if max(accumulate(steps), default=0) > MAX_DEPTH:
        raise ValueError(f"JSON is nested too deep; {MAX_DEPTH} levels are read")


def text(value: Any) -> str:
    """The value as JSON.stringify writes it: compact, non-ASCII unescaped, a lone surrogate as its escape.

    A number between 1e-6 and 1e-4 keeps Python's exponent, which JavaScript spells out.
    """
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return compact if compact.isascii() else LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", compact)


def sorted_text(value: Any) -> str:
    """The value as compact JSON with its keys sorted: equal values have equal texts."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _number(digits: str) -> float | int:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:20]} is too large")
    # JavaScript has one type of number, and writes 1.0 and 1e3 as 1 and 1000.
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _whole_number(digits: str) -> float | int:
    return int(digits) if len(digits) <= _MAX_DIGITS else _number(digits)


def _no_constant(name: str) -> None:
    raise NotJson(f"not JSON: {name} is no JSON number")
