"""Refusing impossible parameters, with the parameter's name."""

from refold.events import PolicyError


def whole_number(field: str, value: object, least: int, most: int | None = None) -> None:
    """Raises PolicyError where `value` is no integer, or lies outside of `least` to `most`."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least and (most is None or value <= most):
        return
    allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise PolicyError(f"must be a whole number {allowed}, got {value!r}", field=field)
