"""`refold view`: the latch, the frozen set, every result and why it is or is not cut, the measure."""

from typing import Any

import click
import msgspec

from refold.cli import _options as options
from refold.cli._output import console, number, plain, print_json, table
from refold.cli._session import about, folded, opened, reducer_for, told
from refold.echoes import Echoes, echoes
from refold.reducer import Mode, Reducer, View, frozen, results, surface_seqs


@click.command()
@options.session
@options.transcript_format
@options.chosen
@options.policy("keep3")
@options.meter
@options.mode("commit")
@options.max_line
@click.option("--echoes", "with_echoes", is_flag=True, help="Show markers in the assistant's own voice.")
@options.as_json
def view(
    session: str,
    format: str | None,
    chosen: str | None,
    policy: str,
    meter: str | None,
    mode: Mode,
    max_line: int,
    with_echoes: bool,
    as_json: bool,
) -> None:
    """Show what the reducer derives from SESSION as it stands."""
    log = opened(session, max_line, format, chosen)
    reducer = reducer_for(log, policy, meter, mode)
    if with_echoes:
        found = echoes(told(log))
        if as_json:
            print_json({"echoes": msgspec.to_builtins(found.found), "blocks": found.blocks})
        else:
            _print_echoes(found)
        return
    facts = _facts(reducer, folded(reducer, log))
    if as_json:
        print_json(facts)
    else:
        _print(facts)


def _facts(reducer: Reducer, view: View) -> dict[str, Any]:
    measure = reducer.measure(view)
    every = [msgspec.to_builtins(result) for result in results(reducer, view)]
    return {
        **about(reducer),
        "events": view.position,
        "turn": view.turn,
        "step": view.step,
        "steps": view.steps,
        "tokens": measure.tokens,
        "baseline": measure.baseline,
        "refusal": measure.refusal,
        "surface": list(surface_seqs(view)),
        "replace_generation": view.replace_generation,
        "latch": {"open": True, "seq": view.latch.seq, "tokens": view.latch.tokens} if view.latch else None,
        "frozen": frozen(view),
        "candidates": [result for result in every if result["state"] in ("waiting", "due")],
        "results": every,
    }


def _print(facts: dict[str, Any]) -> None:
    out = console()
    latch = facts["latch"]
    gate = f"open since seq {latch['seq']} at {number(latch['tokens'])} tokens" if latch else "closed"
    measured = (
        f"{number(facts['tokens'])} tokens ({facts['baseline']})" if facts["refusal"] is None else facts["refusal"]
    )
    out.print(f"policy {facts['policy']}   mode {facts['mode']}   meter {facts['meter']}   {facts['fingerprint']}")
    out.print(
        f"turn {facts['turn']}, step {facts['step']}; {number(facts['steps'])} steps, {number(facts['events'])} events"
    )
    out.print(f"measure {measured}   latch {gate}   frozen {len(facts['frozen'] or ())}")
    shown = table("#seq", "tool", "#chars", "#views", "state", "call id")
    for result in facts["results"]:
        chars, views = number(result["chars"]), number(result["views"])
        shown.add_row(
            str(result["seq"]), plain(result["tool"]), chars, views, result["state"], plain(result["call_id"])
        )
    out.print(shown)


def _print_echoes(found: Echoes) -> None:
    for voice, (marked, every) in found.blocks.items():
        console().print(f"{voice}: {number(marked)} of {number(every)} blocks hold a marker")
    shown = table("#seq", "#turn", "#step", "voice", "marker", "text")
    for echo in found.found:
        place = (str(echo.seq), str(echo.turn), str(echo.step))
        shown.add_row(*place, echo.voice, echo.marker, plain(echo.text))
    if found.found:
        console().print(shown)
