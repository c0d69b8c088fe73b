"""Refusing impossible parameters, with the parameter's name."""

from collections.abc import Sized

from refold.events import PolicyError
from refold.events._dsh_wire import SAFE


def whole_number(field: str, value: object, least: int, most: int = SAFE) -> None:
    """Raises PolicyError where `value` is no integer, or lies outside of `least` to `most`."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return
    large = isinstance(value, int) and value > SAFE
    allowed = f"from {least} to {most}" if large or most < SAFE else f"of at least {least}"
    raise PolicyError(f"must be a whole number {allowed}, got {value!r}", field=field)


def texts(field: str, value: object) -> None:
    """Raises PolicyError where `value` is no tuple of texts; a text alone would be taken for its letters."""
    if not isinstance(value, tuple) or not all(isinstance(text, str) for text in value):
        raise PolicyError(f'must be a tuple of texts, such as ("read", "mcp__*"), got {value!r}', field=field)


def some(field: str, members: Sized, what: str) -> None:
    """Raises PolicyError where there are no members, and so nothing could ever come of them."""
    if not members:
        raise PolicyError(f"is empty: name {what}", field=field)
