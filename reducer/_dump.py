"""A view as bytes: to put aside and go on with, by the same reducer only."""

import json
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from pyrsistent import PSet, PVector, pset, pvector

from refold.events import PolicyError
from refold.reducer._reducer import Reducer
from refold.reducer._rows import Rows
from refold.reducer._view import PartState, State, View


def dump(view: View) -> bytes:
    """The view as JSON. It holds the surface's texts: keep it as safe as the log."""
    # Python's json, because msgspec encodes no lone surrogate and real logs contain them.
    return json.dumps(msgspec.to_builtins(_plain(view)), separators=(",", ":")).encode("ascii")


def load(reducer: Reducer, data: bytes) -> View:
    """The view that `dump` put aside. Raises PolicyError where another reducer made it, or where it is no view."""
    try:
        fields = json.loads(data)
        made_by = fields["fingerprint"]
        if made_by == reducer.fingerprint:
            parts = tuple(PartState(**_typed(PartState, part)) for part in fields["parts"])
            return View(**{**_typed(State, fields), "parts": parts})
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PolicyError(f"these bytes are no view: {error}", field="data") from None
    raise PolicyError(
        f"the view was made by another policy, meter or mode: it has fingerprint {made_by}, "
        f"this reducer {reducer.fingerprint}; fold the log again",
        field="data",
    )


def _plain(struct: msgspec.Struct) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, Rows) or type(value) is type(pvector()):
            value = list(value)
        elif isinstance(value, PSet):
            value = sorted(value)
        facts[name] = [_plain(part) for part in value] if name == "parts" else value
    return facts


def _typed(kind: type[msgspec.Struct], facts: dict[str, Any]) -> dict[str, Any]:
    typed: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        if name == "parts" or name not in facts:
            continue
        if name == "weights":
            typed[name] = None if facts[name] is None else Rows.of(msgspec.convert(facts[name], list[int]))
            continue
        origin = get_origin(hint)
        if origin is PSet:
            typed[name] = pset(msgspec.convert(facts[name], list[get_args(hint)[0]]))  # type: ignore[misc]
        elif origin in (Rows, PVector):
            items = msgspec.convert(facts[name], list[get_args(hint)[0]])  # type: ignore[misc]
            typed[name] = Rows.of(items) if origin is Rows else pvector(items)
        else:
            typed[name] = msgspec.convert(facts[name], hint)
    return typed
