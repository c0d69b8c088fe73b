"""Lengths as JavaScript sees them: DSH prices `text.length` and `JSON.stringify(value).length`."""

import json
import math
from typing import Any

from refold.events import FormatError

TOO_DEEP = "cannot price a block or tool list whose JSON nests this deep; Python follows about a thousand levels"


def utf16_length(text: str) -> int:
    """UTF-16 code units: 1 for a code point of the basic plane or a lone surrogate, 2 for any other."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def parse(text: str) -> Any:
    """What `JSON.parse(text)` gives, but with every number replaced by an int that is written in as many digits.

    No type of Python is written the way JavaScript writes a number, and `stringified_length` needs no more than the
    length. Of repeated keys the last value counts, as in JavaScript. NaN and the infinities, which Python writes
    though JSON has none, are null, as JSON.stringify would write them.

    Raises FormatError where `text` is no JSON, or nests deeper than Python's parser follows (about a thousand levels).
    """
    try:
        return json.loads(text, parse_int=_stand_in, parse_float=_stand_in, parse_constant=lambda _: None)
    except RecursionError:
        raise FormatError(TOO_DEEP) from None
    except ValueError as error:
        excerpt = text if len(text) <= 60 else text[:60] + "..."
        raise FormatError(f"cannot price what is no JSON ({error}): {excerpt!r}") from None


def stringified_length(value: Any) -> int:
    """UTF-16 code units of `JSON.stringify`, for a value that `parse` gave. Raises FormatError as `parse` does."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), check_circular=False)
    except RecursionError:
        raise FormatError(TOO_DEEP) from None
    if text.isascii():
        return len(text)
    # Once pairs are joined, what is left are lone surrogates: JSON.stringify and this handler both write them \udxxx.
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return len(joined.encode("utf-16-le", "backslashreplace")) // 2


def number_length(value: float) -> int:
    """Code units of a number as JSON.stringify writes it: ECMA-262, Number::toString, and null if it is not finite."""
    if math.isinf(value):
        return len("null")
    if value.is_integer() and abs(value) < 1e21:
        # Above 2**53 JavaScript fills up with zeros where Python goes on giving digits, but it gives as many.
        return len(str(int(value)))
    text = repr(value)  # in both languages the shortest digits that read back as this number
    if 1e-6 <= abs(value) < 1e-4:
        mantissa, exponent = text.split("e-")
        decimals = len(mantissa.partition(".")[2]) + int(exponent)
        return len(f"{value:.{decimals}f}")
    return len(text.replace("e-0", "e-"))


def _stand_in(text: str) -> int:
    return int("1" * number_length(float(text)))
