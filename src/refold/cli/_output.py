"""Printing: one JSON document for programs, tables for people."""

import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table


def print_json(value: Any) -> None:
    """Compact enough to read, non-ASCII unescaped; a lone surrogate leaves as the escape it came as."""
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.flush()


def console() -> Console:
    """Standard output; outside a terminal nothing is wrapped to a guessed width."""
    # No markup and no emoji codes: what is printed comes from logs, and means nothing but itself.
    width = None if sys.stdout.isatty() else 160
    return Console(highlight=False, markup=False, emoji=False, width=width)


def table(*columns: str) -> Table:
    """An empty table; columns that begin with # hold numbers and stand to the right."""
    empty = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        name = column.removeprefix("#")
        empty.add_column(name, justify="right" if column.startswith("#") else "left", overflow="fold")
    return empty


def plain(text: str) -> str:
    """Text from a log with its control characters spelled out, so that it cannot steer a terminal."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode() for char in text
    )


def number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
