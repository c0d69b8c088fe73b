"""JSON as JavaScript takes and gives it, for the texts that msgspec cannot take or must not change."""

import json
import math
import re
from typing import Any

_LONE = re.compile("[\ud800-\udfff]")


class NotJson(ValueError):
    """The bytes are no JSON text; the message says where and why."""


def parse(data: bytes) -> Any:
    """The one JSON value in `data`, as JSON.parse reads it: a lone surrogate escape is kept, of equal keys the last
    one counts, `1.0` is 1.

    Raises NotJson for what is no JSON, ValueError for JSON that no DSH log may hold: bytes that are not UTF-8, numbers
    that are not finite, nesting deeper than Python's parser follows (about a thousand levels).
    """
    try:
        return json.loads(data.decode(), parse_float=_number, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte 0x{data[error.start]:02x} at column {error.start + 1}") from None
    except json.JSONDecodeError as error:
        said = error.msg[0].lower() + error.msg[1:].removesuffix(" at")
        raise NotJson(f"not JSON: {said} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("JSON is nested too deep; about a thousand levels are read") from None


def text(value: Any) -> str:
    """The value as JSON.stringify writes it: compact, non-ASCII unescaped, a lone surrogate as its escape.

    A number between 1e-6 and 1e-4 keeps Python's exponent, which JavaScript spells out.
    """
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return compact if compact.isascii() else _LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", compact)


def sorted_text(value: Any) -> str:
    """The value as compact JSON with its keys sorted: equal values have equal texts."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _number(digits: str) -> float | int:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:20]} is too large")
    # JavaScript has one type of number, and writes 1.0 and 1e3 as 1 and 1000.
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _no_constant(name: str) -> None:
    raise NotJson(f"not JSON: {name} is no JSON number")
