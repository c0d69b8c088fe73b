"""`refold audit`: where a real session lost its cache, by its own usage figures."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import click
import msgspec

from refold.cli import _options as options
from refold.cli._output import console, number, print_json, table
from refold.cli._transcripts import Transcript, asked_of
from refold.events import AssistantMessage, LogError, PolicyError, SurfaceError
from refold.lab.audit import Audit, reports_cache
from refold.lab.audit import audit as audited
from refold.lab.ledger import Prices
from refold.lab.prices import prices_of, rules_for

Limit = Callable[[Sequence[Audit]], bool]


@click.command()
@options.session
@click.option("--model", help="Whose prices and cache rules count. Default: the session's own model.")
@click.option("--fail-on", metavar="LIMIT", help="Exit 1 beyond it: rewritten>20% of all prompt tokens, rewritten>N.")
@options.max_line
@options.as_json
@click.pass_context
def audit(
    context: click.Context, session: str, model: str | None, fail_on: str | None, max_line: int, as_json: bool
) -> None:
    """Show each call of SESSION that lost its cache, how many tokens were taken in again, and the first change."""
    beyond = _limit(fail_on) if fail_on else None
    found = [
        (transcript, _audit(transcript, model))
        for transcript in asked_of((session,), max_line)
        if reports_cache(transcript.events)
    ]
    if not found:
        raise LogError("reports no tokens read from a cache or written to one: there is nothing to audit", path=session)
    if as_json:
        print_json({"sessions": [_told(transcript.name, *result) for transcript, result in found]})
    else:
        for transcript, result in found:
            _print(transcript.name, *result)
    if beyond is not None and beyond([result for _, (result, _) in found]):
        click.echo(f"refold: {session}: {fail_on}", err=True)
        context.exit(1)


def _audit(transcript: Transcript, model: str | None) -> tuple[Audit, Prices | None]:
    answers = (event.model for event in transcript.events if isinstance(event, AssistantMessage) and event.model)
    asked = model or next(answers, "")
    try:
        prices = prices_of(asked, next((event.time for event in transcript.events if event.time), 0))
    except PolicyError:
        if model:
            raise
        prices = None
    try:
        return audited(transcript.events, rules_for(asked), prices), prices
    except SurfaceError as error:
        raise LogError(error.rule, path=transcript.name, seq=error.seq) from None


_LIMIT = re.compile(r"rewritten\s*>\s*(\d+(?:\.\d+)?)\s*(%?)")


def _limit(text: str) -> Limit:
    found = _LIMIT.fullmatch(text.strip())
    if found is None:
        raise click.UsageError(f"--fail-on takes rewritten>20% or rewritten>50000, got {text!r}")
    most, share = float(found[1]), bool(found[2])

    def beyond(audits: Sequence[Audit]) -> bool:
        rewritten = sum(each.rewritten_tokens for each in audits)
        sent = sum(each.prompt_tokens for each in audits)
        return (100 * rewritten / sent if sent else 0) > most if share else rewritten > most

    return beyond


def _usd(cost: int | None, prices: Prices | None) -> float | None:
    if cost is None or prices is None or prices.input_nano is None:
        return None
    return round(cost * prices.input_nano / 1e12, 6)


def _told(name: str, result: Audit, prices: Prices | None) -> dict[str, Any]:
    losses = [{**msgspec.to_builtins(loss), "cost_usd": _usd(loss.cost, prices)} for loss in result.losses]
    return {
        "session": name,
        "calls": result.calls,
        "prompt_tokens": result.prompt_tokens,
        "read_tokens": result.read_tokens,
        "rewritten_tokens": result.rewritten_tokens,
        "rewritten_share": round(result.rewritten_share, 4),
        "losses": losses,
    }


def _print(name: str, result: Audit, prices: Prices | None) -> None:
    out = console()
    share = f"{100 * result.rewritten_share:.1f} %"
    out.print(
        f"{name}: {result.calls} calls, {number(result.prompt_tokens)} prompt tokens, "
        f"{number(result.read_tokens)} read, {number(result.rewritten_tokens)} ({share}) sent before and taken in again"
    )
    if not result.losses:
        return
    shown = table("#turn", "#step", "#tokens", "#US$", "first change", "what is known of it")
    for loss in result.losses:
        money = _usd(loss.cost, prices)
        shown.add_row(
            str(loss.turn),
            str(loss.step),
            number(loss.rewritten),
            "-" if money is None else f"{money:.4f}",
            loss.cause,
            loss.detail,
        )
    out.print(shown)
