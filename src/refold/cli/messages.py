"""`refold messages`: what a model would be sent."""

from itertools import takewhile

import click

from refold.cli import _options as options
from refold.cli._output import console, print_json
from refold.cli._session import located, opened, reducer_for, told
from refold.events import LogError
from refold.prompt import rendered, rendered_text
from refold.reducer import Mode


@click.command()
@options.session
@options.transcript_format
@options.chosen
@click.option("--at", type=click.IntRange(min=0), metavar="SEQ", help="As they stood just before the event SEQ.")
@options.policy("none")
@options.meter
@options.mode("what-if")
@options.max_line
@options.as_json
def messages(
    session: str,
    format: str | None,
    chosen: str | None,
    at: int | None,
    policy: str,
    meter: str | None,
    mode: Mode,
    max_line: int,
    as_json: bool,
) -> None:
    """Show the messages that a model would be sent."""
    log = opened(session, max_line, format, chosen)
    reducer = reducer_for(log, policy, meter, mode)
    events = told(log)
    wanted = events if at is None else takewhile(lambda event: event.seq + event.width <= at, events)
    with located(log):
        view = reducer.fold_all(reducer.start(), wanted)
    if at is not None and view.position < at and next(events, None) is None:
        raise LogError(f"has no event {at}: it ends before seq {view.position}; give a lower --at", path=session)
    shown = reducer.messages(view)
    if as_json:
        print_json([rendered(message) for message in shown])
        return
    for message in shown:
        console().print(f"[{message.seq}] {rendered_text(message)}", soft_wrap=True)
