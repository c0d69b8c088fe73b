"""The command line: `refold COMMAND SESSION`. Every command prints a table for people, or one JSON document."""

from refold.cli._main import main

__all__ = ["main"]
