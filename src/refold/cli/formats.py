"""`refold formats`: the transcript formats, and what each can tell."""

from typing import Any

import click

from refold.cli._options import as_json
from refold.cli._output import console, print_json, table
from refold.events.formats import FORMATS

_TOLD = ("usage", "cache", "reasoning", "errors", "compaction", "times")


@click.command()
@as_json
def formats(as_json: bool) -> None:
    """List the formats that SESSION may have, what each can tell, and which `refold apply` writes."""
    rows: list[dict[str, Any]] = [
        {
            "name": known.name,
            "title": known.title,
            "tells": [fact for fact in _TOLD if fact in known.tells],
            "written": known.write is not None or known.name == "dsh",
        }
        for known in FORMATS
    ]
    if as_json:
        print_json(rows)
        return
    shown = table("format", "what it is", *_TOLD, "written")
    for row in rows:
        marks = ["yes" if fact in row["tells"] else "-" for fact in _TOLD]
        shown.add_row(str(row["name"]), str(row["title"]), *marks, "yes" if row["written"] else "-")
    console().print(shown)
