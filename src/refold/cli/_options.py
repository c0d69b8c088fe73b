"""The options that the commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

session = click.argument("session", metavar="SESSION")
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table.")
meter = click.option(
    "--meter",
    type=click.Choice(["dsh", "tiktoken", "usage"]),
    help="How tokens are counted. Default: dsh for DSH logs, elsewhere usage.",
)
transcript_format = click.option(
    "--format", "format", metavar="F", help="Read SESSION as this format (see refold formats). Default: by its content."
)
chosen = click.option(
    "--session", "chosen", metavar="ID", help="One of several sessions in SESSION. Default: the main one."
)
max_line = click.option(
    "--max-line", type=click.IntRange(min=1), default=64 << 20, show_default=True, help="Longest line read, in bytes."
)


POLICY = "A preset or peer, with optional parameters (keep3:keep=2,gate=50000), A+B, module:object, or file.json."


def policy(default: str) -> Callable[[F], F]:
    return click.option(
        "--policy",
        default=default,
        show_default=True,
        metavar="P",
        help=POLICY,
    )


def mode(default: str) -> Callable[[F], F]:
    return click.option(
        "--mode",
        type=click.Choice(["commit", "derive", "what-if"]),
        default=default,
        show_default=True,
        help="commit: cuts are in the log. derive: they follow from it. what-if: as derive, requests were sent uncut.",
    )
