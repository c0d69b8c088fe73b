"""Where a real session lost its cache, by its own usage figures: what was taken in again, and why."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from refold.events import Event, SurfaceEvent, SurfaceRewind, ToolResult
from refold.lab.calls import Call, calls
from refold.lab.ledger import Prices, Rules
from refold.lab.remembered import METER
from refold.lab.sizes import anchored, fitted, reported
from refold.reducer import Reducer
from refold.reducer.presets import none

Cause = Literal["model switch", "system prompt or tools", "compaction", "cut", "idle gap", "unknown"]

LEAST = 1024
"""Tokens below which nothing is called a loss: the shortest prefix that most caches hold."""


class Loss(msgspec.Struct, frozen=True):
    """A call that did not read what the call before had left in the cache.

    `rewritten` tokens of the provider were in the last prompt and not read; `detail` says what is known of the cause;
    `cost` is what they cost beyond a read, in thousandths of an input token, None without prices.
    """

    seq: int
    turn: int
    step: int
    rewritten: int
    cause: Cause
    detail: str
    cost: int | None


class Audit(msgspec.Struct, frozen=True):
    """A session's calls with reported usage, their prompt tokens, those read from the cache, and where it was lost."""

    calls: int
    prompt_tokens: int
    read_tokens: int
    rewritten_tokens: int
    losses: tuple[Loss, ...]

    @property
    def rewritten_share(self) -> float:
        """Of all prompt tokens, 0 to 1."""
        return self.rewritten_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


def audit(events: Sequence[Event], rules: Rules, prices: Prices | None) -> Audit:
    """The losses of a session as it was logged. Raises SurfaceError."""
    made = calls(Reducer(none(), METER), events)
    known = [call for call in anchored(made, fitted(made)) if reported(call)]
    losses = []
    for before, call in pairwise(known):
        usage = call.usage
        assert usage is not None, "only calls with reported usage are known"
        rewritten = min(before.prompt, call.prompt) - usage.cache_read_tokens
        if rewritten >= LEAST and _cached(before, rules):
            cause, detail = _cause(before, call, rewritten, rules, events)
            cost = None if prices is None else max(0, prices.write - prices.read) * rewritten
            losses.append(Loss(call.seq, call.turn, call.step, rewritten, cause, detail, cost))
    return Audit(
        calls=len(known),
        prompt_tokens=sum(call.prompt for call in known),
        read_tokens=sum(call.usage.cache_read_tokens for call in known if call.usage),
        rewritten_tokens=sum(loss.rewritten for loss in losses),
        losses=tuple(losses),
    )


def reports_cache(events: Sequence[Event]) -> bool:
    """Does any answer report tokens read from a cache, or written to one?"""
    used = (getattr(event, "usage", None) for event in events)
    return any(usage is not None and usage.cache_read_tokens + usage.cache_write_tokens for usage in used)


def _cached(call: Call, rules: Rules) -> bool:
    return call.prompt >= rules.minimum


def _cause(before: Call, call: Call, rewritten: int, rules: Rules, events: Sequence[Event]) -> tuple[Cause, str]:
    """What stands first in the prompt of all that changed; a gap changes nothing, and so it comes last."""
    if call.model != before.model:
        return "model switch", f"{before.model or 'unknown'} to {call.model or 'unknown'}"
    if call.reframed:
        return "system prompt or tools", "the request's frame is another"
    idle = (call.time - before.time) // 1000 if call.time and before.time else 0
    gone = before.prompt - min(before.prompt, call.prefix)
    if gone >= LEAST and (2 * gone >= rewritten or not _cold(rules, idle)):
        return _change(before.seq, call.seq, events)
    if _cold(rules, idle):
        return "idle gap", f"{idle} s without a call, entries live {rules.seconds} s"
    return "unknown", "nothing in the log changed"


def _cold(rules: Rules, idle: int) -> bool:
    return rules.seconds is not None and idle > rules.seconds


def _change(start: int, end: int, events: Sequence[Event]) -> tuple[Cause, str]:
    """What was replaced or dropped between two calls; of several, what stands first in the prompt."""
    found: list[tuple[int, Cause, str]] = []
    for event in events:
        if not start < event.seq <= end:
            continue
        if isinstance(event, SurfaceRewind):
            found.append((event.to_seq, "compaction", "the conversation was taken back"))
        replaces = getattr(event, "replaces", None)
        if isinstance(event, SurfaceEvent) and replaces is not None:
            result = isinstance(event, ToolResult)
            told = "tool result" if result else f"{event.role} message for {replaces[0]} to {replaces[1]}"
            found.append((replaces[0], "cut" if result else "compaction", f"{told} rewritten at seq {event.seq}"))
    if not found:
        return "unknown", "the prompt changed, and no event says how"
    _, cause, detail = min(found)
    return cause, detail
