"""`refold compare`: sessions through one policy after another: what each would have cost, and what it would hurt."""

import math
import os
import sys
from typing import Any

import click
import msgspec
from rich.progress import Progress

from refold.cli import _options as options
from refold.cli._output import console, number, print_json, table
from refold.cli._policy import policy_of
from refold.cli._transcripts import Transcript, transcripts
from refold.events import AssistantMessage, LogError, PolicyError, SurfaceError
from refold.files import OutputError, save
from refold.lab.compare import Compared, Contender, debt_for
from refold.lab.compare import compare as compared
from refold.lab.ledger import Prices, Rules
from refold.lab.peers import PEERS
from refold.lab.prices import prices_of, rules_for
from refold.lab.providers import rules_named
from refold.lab.report import report
from refold.lab.totals import Row, rows

DEFAULT = ("none", "debt", "keep3", *PEERS)


@click.command()
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=DEFAULT,
    metavar="P",
    help=f"{options.POLICY} Repeatable. Default: none, debt, keep3, and the peers: {', '.join(PEERS)}.",
)
@click.option("--model", help="Whose prices and cache rules count. Default: each session's own model.")
@click.option("--read-price", type=click.FloatRange(0, 100), help="Of a cached token, relative to an input token.")
@click.option("--write-price", type=click.FloatRange(0, 100), help="Of a token the cache takes in, likewise.")
@click.option("--rules", "rules", help="Cache rules by name, instead of those of the model; ideal holds everything.")
@click.option("--html", type=click.Path(dir_okay=False), help="Also write a report, one file that needs no network.")
@click.option("--force", is_flag=True, help="Overwrite the report if it exists.")
@options.transcript_format
@options.as_json
def compare(
    sessions: tuple[str, ...],
    policies: tuple[str, ...],
    model: str | None,
    read_price: float | None,
    write_price: float | None,
    rules: str | None,
    html: str | None,
    force: bool,
    format: str | None,
    as_json: bool,
) -> None:
    """Replay each SESSION, of any format, under policies; compare their cost, and count the cuts needed again.

    Of many, those that cannot be read are named and left out, and the exit code is 2.
    """
    if (read_price is None) != (write_price is None):
        raise click.UsageError("--read-price and --write-price are given together")
    contenders = [contender(policy) for policy in policies]
    given = None if read_price is None or write_price is None else Prices(_mille(read_price), _mille(write_price))
    found: list[Compared] = []
    out = console()
    with Progress(console=out, disable=not out.is_terminal, transient=True) as progress:
        told, whole = transcripts(sessions, format)
        task = progress.add_task("comparing", total=len(told) * (len(contenders) + 2))
        for transcript in told:
            prices, cache = _terms(transcript, model, given, rules)
            try:
                found.append(
                    compared(
                        os.path.basename(transcript.name) or transcript.name,
                        transcript.events,
                        contenders,
                        prices,
                        cache,
                        lambda: progress.advance(task),
                    )
                )
            except SurfaceError as error:
                raise LogError(error.rule, path=transcript.name, seq=error.seq) from None
    lines = rows(found)
    if html:
        for source in sessions:
            if os.path.exists(html) and os.path.exists(source) and os.path.samefile(html, source):
                raise OutputError(f"{html} is the session itself; name another file for the report")
        save(html, [report(found, lines).encode("utf-8", "backslashreplace")], force=force)
    if as_json:
        print_json({"sessions": [_session(each) for each in found], "policies": msgspec.to_builtins(lines)})
    else:
        _print(found, lines)
    if not whole:
        sys.exit(2)


def contender(text: str) -> Contender:
    """What `--policy` names. `debt` without parameters follows the prices it is compared under."""
    if text == "debt":
        return Contender(text, debt_for)
    policy = policy_of(text)
    return Contender(text, lambda prices, rules: policy)


def _terms(transcript: Transcript, model: str | None, given: Prices | None, rules: str | None) -> tuple[Prices, Rules]:
    answers = (event for event in transcript.events if isinstance(event, AssistantMessage) and event.model)
    asked = model or next((answer.model for answer in answers), "")
    cache = rules_named(rules) if rules else rules_for(asked)
    if given is not None:
        return given, cache
    if not asked:
        raise PolicyError(
            f"{transcript.name} does not tell its model: give --model, or --read-price and --write-price, relative to "
            "an input token's",
            field="model",
        )
    time = next((event.time for event in transcript.events if event.time), 0)
    return prices_of(asked, time), cache


def _mille(price: float) -> int:
    if not math.isfinite(price):
        raise PolicyError(f"must be a number, got {price}", field="price")
    return round(price * 1000)


def _session(each: Compared) -> dict[str, Any]:
    return {
        "session": each.session,
        "model": each.model,
        "rules": each.rules,
        "read_price": each.prices.read / 1000,
        "write_price": each.prices.write / 1000,
        "calls": each.calls,
        "hindsight_ratio": round(each.hindsight / each.none, 4) if each.hindsight and each.none else None,
        "policies": [
            {
                "policy": outcome.policy,
                "cost_ratio": round(outcome.cost / each.none, 4) if each.none else 1.0,
                "cuts": outcome.cuts,
                "rewritten_tokens": outcome.rewritten,
                "regret": len(outcome.needs),
                "needs": [
                    {
                        "result": need.cut.result,
                        "call": need.cut.call,
                        "answer": need.answer,
                        "signal": need.signal,
                        "shown": need.shown,
                    }
                    for need in outcome.needs
                ],
            }
            for outcome in each.outcomes
        ],
    }


def _print(found: list[Compared], lines: tuple[Row, ...]) -> None:
    shown = table(
        "policy",
        "#calls",
        "#cuts",
        "#sent",
        "#read",
        "#rewritten",
        "#of none",
        "#of hindsight",
        "#worst",
        "#best",
        "#needed again",
        "#tokens",
    )
    for line in lines:
        hindsight = "-" if line.hindsight_ratio is None else f"{line.hindsight_ratio:.3f}"
        shown.add_row(
            line.policy,
            number(line.calls),
            number(line.cuts),
            number(line.sent_tokens),
            number(line.read_tokens),
            number(line.rewritten_tokens),
            f"{line.cost_ratio:.3f}",
            hindsight,
            f"{line.worst_ratio:.3f}",
            f"{line.best_ratio:.3f}",
            number(line.regret),
            number(line.regret_tokens),
        )
    out = console()
    out.print(shown)
    if len(found) > 1 and lines:
        last = max(lines, key=lambda line: line.worst_ratio)
        out.print(f"{len(found)} sessions; the worst: {last.policy} on {last.worst_session}")
