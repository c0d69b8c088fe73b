"""`refold audit`: where a real session lost its cache, by its own usage figures."""

import re
from collections.abc import Callable
from typing import Any

import click
import msgspec

from refold.cli import _options as options
from refold.cli._output import console, number, print_json, table
from refold.cli._session import located, opened, told
from refold.events import AssistantMessage, Event, LogError, PolicyError
from refold.lab.audit import Audit, reports_cache
from refold.lab.audit import audit as audited
from refold.lab.ledger import Prices
from refold.lab.prices import prices_of, rules_for

Limit = Callable[[Audit], bool]


@click.command()
@options.session
@options.transcript_format
@options.chosen
@click.option("--model", help="Whose prices and cache rules count. Default: the session's own model.")
@click.option("--fail-on", metavar="LIMIT", help="Exit 1 beyond it: rewritten>20% of all prompt tokens, rewritten>N.")
@options.max_line
@options.as_json
@click.pass_context
def audit(
    context: click.Context,
    session: str,
    format: str | None,
    chosen: str | None,
    model: str | None,
    fail_on: str | None,
    max_line: int,
    as_json: bool,
) -> None:
    """Show each call of SESSION that lost its cache, how many tokens were taken in again, and the first change."""
    beyond = _limit(fail_on) if fail_on else None
    log = opened(session, max_line, format, chosen)
    events = tuple(told(log))
    if not reports_cache(events):
        raise LogError("reports no tokens read from a cache or written to one: there is nothing to audit", path=session)
    asked = model or next((event.model for event in events if isinstance(event, AssistantMessage) and event.model), "")
    prices = _prices(asked, events, model is not None)
    with located(log):
        result = audited(events, rules_for(asked), prices)
    if as_json:
        print_json(_told(log.name, result, prices))
    else:
        _print(log.name, result, prices)
    if beyond is not None and beyond(result):
        click.echo(f"refold: {session}: beyond {fail_on}", err=True)
        context.exit(1)


def _prices(model: str, events: tuple[Event, ...], wanted: bool) -> Prices | None:
    """None for a model without a known price, unless it was named."""
    try:
        return prices_of(model, next((event.time for event in events if event.time), 0))
    except PolicyError:
        if wanted:
            raise
        return None


_LIMIT = re.compile(r"rewritten\s*>\s*(\d+(?:\.\d+)?)\s*(%?)")


def _limit(text: str) -> Limit:
    found = _LIMIT.fullmatch(text.strip())
    if found is None:
        raise click.UsageError(f"--fail-on takes rewritten>20% or rewritten>50000, got {text!r}")
    most, share = float(found[1]), bool(found[2])

    if share:
        return lambda result: 100 * result.rewritten_share > most
    return lambda result: result.rewritten_tokens > most


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
