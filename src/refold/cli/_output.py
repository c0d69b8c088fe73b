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
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=160)


def table(*columns: str) -> Table:
    """An empty table; columns that begin with # hold numbers and stand to the right."""
    empty = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        name = column.removeprefix("#")
        empty.add_column(name, justify="right" if column.startswith("#") else "left", overflow="fold")
    return empty


def number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
