"""`refold serve`: answers a host that is not Python, over standard input and output."""

import sys
from contextlib import redirect_stdout

import click

from refold.bridges.serve import Server
from refold.cli import _options as options
from refold.cli._policy import policy_of


@click.command()
@options.max_line
def serve(max_line: int) -> None:
    """Fold the sessions of a host that is not Python and tell it what to cut: JSON lines in, JSON lines out.

    The host starts it and says hello with a policy; docs/serve.md describes the messages. It ends with its input.
    """
    if sys.stdin is None:
        raise click.UsageError("standard input is closed, and requests come from there")
    server = Server(policy_of)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    with redirect_stdout(sys.stderr):  # a policy of one's own may print, and a host takes every line for a reply
        while line := source.readline(max_line + 1):
            if len(line) > max_line and not line.endswith(b"\n"):
                while (rest := source.readline(1 << 16)) and not rest.endswith(b"\n"):
                    pass
                sink.write(
                    server.refuse(f"the line is longer than {max_line} bytes, the most that is read; send less at once")
                )
            else:
                sink.write(server.answer(line))
            sink.flush()
