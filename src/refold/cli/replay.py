"""`refold replay`: a log step by step under one policy or several."""

from collections.abc import Sequence
from typing import Any

import click
import msgspec
from rich.progress import track

from refold.cli import _options as options
from refold.cli._output import console, number, print_json, table
from refold.cli._session import about, located, opened, reducer_for, told
from refold.reducer import Mode, Reducer
from refold.replay import ReplayedStep
from refold.replay import replay as replayed


@click.command()
@options.session
@options.transcript_format
@options.chosen
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=("keep3",),
    show_default=True,
    metavar="P",
    help=f"{options.POLICY} Repeatable.",
)
@options.meter
@options.mode("what-if")
@options.max_line
@options.as_json
def replay(
    session: str,
    format: str | None,
    chosen: str | None,
    policies: tuple[str, ...],
    meter: str | None,
    mode: Mode,
    max_line: int,
    as_json: bool,
) -> None:
    """Replay SESSION and show, for each step, the prompt's tokens, what is cut, and how much of it stays cached."""
    log = opened(session, max_line, format, chosen)
    reducers = [reducer_for(log, policy, meter, mode) for policy in policies]
    events = tuple(told(log))
    runs = []
    for reducer in reducers:
        watched = track(
            events,
            description=reducer.policy.name,
            console=console(),
            disable=not console().is_terminal,
            transient=True,
        )
        with located(log):
            runs.append((reducer, list(replayed(reducer, watched))))
    if as_json:
        count = sum(event.width for event in events)
        print_json({"session": log.id, "events": count, "policies": [_told(*run) for run in runs]})
        return
    for reducer, steps in runs:
        _print(reducer, steps)


def _told(reducer: Reducer, steps: Sequence[ReplayedStep]) -> dict[str, Any]:
    return {**about(reducer), "steps": msgspec.to_builtins(steps), "totals": totals(steps)}


def totals(steps: Sequence[ReplayedStep]) -> dict[str, int]:
    """Sums over the steps. `rewritten_chars` were in the prompt before and had to be sent again behind a change.

    `series` is how many a host has that begins one with each turn, and whenever its counter of replacements has moved.
    """
    before = [0, *(step.prompt_chars for step in steps)]
    turns = [None, *(step.turn for step in steps)]
    return {
        "steps": len(steps),
        "cuts": sum(len(step.cuts) for step in steps),
        "prompt_chars": sum(step.prompt_chars for step in steps),
        "prefix_chars": sum(step.prefix_chars for step in steps),
        "rewritten_chars": sum(
            max(0, min(last, step.prompt_chars) - step.prefix_chars) for last, step in zip(before, steps, strict=False)
        ),
        "breaks": sum(step.prefix_chars < last for last, step in zip(before, steps, strict=False)),
        "replacements": sum(step.replacements for step in steps),
        "series": sum(step.turn != last or step.replacements > 0 for last, step in zip(turns, steps, strict=False)),
    }


def _print(reducer: Reducer, steps: Sequence[ReplayedStep]) -> None:
    out = console()
    facts = about(reducer)
    out.print(f"policy {facts['policy']}   mode {facts['mode']}   meter {facts['meter']}   {facts['fingerprint']}")
    shown = table("#turn", "#step", "#tokens", "#prompt chars", "#prefix kept", "#replaced", "cuts")
    for step in steps:
        kept = f"{100 * step.prefix_chars // max(1, step.prompt_chars)} %"
        cuts = " ".join(map(str, step.cuts))
        tokens, chars, replaced = number(step.tokens), number(step.prompt_chars), str(step.replacements or "")
        shown.add_row(str(step.turn), str(step.step), tokens, chars, kept, replaced, cuts)
    out.print(shown)
    sums = totals(steps)
    out.print("   ".join(f"{name.replace('_', ' ')} {number(value)}" for name, value in sums.items()))
