"""The `refold` command: its subcommands, and how an error leaves it."""

import io
import sys
from typing import NoReturn

import click

from refold.cli._stdout import standard_output
from refold.cli.apply import apply
from refold.cli.audit import audit
from refold.cli.compare import compare
from refold.cli.formats import formats
from refold.cli.laws import laws
from refold.cli.messages import messages
from refold.cli.plan import plan
from refold.cli.policies import policies
from refold.cli.recall import recall
from refold.cli.replay import replay
from refold.cli.serve import serve
from refold.cli.view import view
from refold.events import RefoldError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="refold")
def cli() -> None:
    """Which old tool results may a model stop seeing in full, and when?

    SESSION is a session log or transcript: a file, a session directory, or - for standard input.
    """


for command in (policies, formats, view, plan, messages, apply, replay, recall, compare, audit, laws, serve):
    cli.add_command(command)


def main() -> None:
    """Run the command line; an error is one line on standard error and exit code 2."""
    if isinstance(sys.stderr, io.TextIOWrapper):  # a locale without the characters, or a lone surrogate
        sys.stderr.reconfigure(errors="backslashreplace")
    try:
        with standard_output():
            code = cli.main(standalone_mode=False) or 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        _fail(error.format_message())
    except RefoldError as error:
        _fail(str(error))
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:
        where = "input" if error.filename is None else error.filename or "''"
        _fail(f"{where}: {error.strerror or error}")
    sys.exit(code)


def _fail(message: str) -> NoReturn:
    line = " ".join(message.split())
    click.echo(f"refold: {line}".encode("utf-8", "backslashreplace").decode(), err=True)
    sys.exit(2)
