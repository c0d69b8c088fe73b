"""`refold policies`: the presets and the peers, their parts, the laws each keeps."""

from typing import Any

import click

from refold.cli._options import as_json
from refold.cli._output import console, print_json, table
from refold.cli._policy import NAMED
from refold.law_names import LAW_NAMES
from refold.reducer import Policy


@click.command()
@as_json
def policies(as_json: bool) -> None:
    """List the presets and the peers, their parts, and the laws each keeps or breaks by its nature."""
    rows = [_row(make()) for make in NAMED.values()]
    if as_json:
        print_json(rows)
        return
    shown = table("policy", "when", "which", "ripe", "how", "laws")
    for row in rows:
        broken = [f"{law} {kept}" for law, kept in row["laws"].items() if kept is not True]
        shown.add_row(*(row[key] for key in ("name", "when", "which", "ripe", "how")), "; ".join(broken) or "all kept")
    console().print(shown)


def _row(policy: Policy) -> dict[str, Any]:
    answers = {part: "; ".join(_told(getattr(each, part)) for each in policy.parts) or "-" for part in _QUESTIONS}
    broken = policy.broken
    laws = {law: f"broken: {broken[law]}" if law in broken else True for law in LAW_NAMES}
    return {"name": policy.name, **answers, "laws": laws}


_QUESTIONS = ("when", "which", "ripe", "how")


def _told(member: Any) -> str:
    """A member as one would write it, without the parameters that stand at their defaults."""
    if isinstance(member, tuple):
        return " ".join(map(_told, member))
    if not hasattr(member, "__struct_fields__"):
        return str(member)
    fields, defaults = member.__struct_fields__, member.__struct_defaults__
    optional = dict(zip(fields[len(fields) - len(defaults) :], defaults, strict=True))
    given = [
        (name, getattr(member, name))
        for name in fields
        if name not in optional or getattr(member, name) != optional[name]
    ]
    return f"{type(member).__name__}({', '.join(f'{name}={_told(value)}' for name, value in given)})"
