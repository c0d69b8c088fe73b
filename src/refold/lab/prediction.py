"""How well the ledger tells what a provider reported: predicted against reported tokens read from the cache."""

from collections.abc import Sequence

import msgspec

from refold.events import Event
from refold.lab.calls import Call, calls
from refold.lab.ledger import Ledger, Rules, charged
from refold.lab.remembered import METER
from refold.lab.sizes import anchored, fitted
from refold.reducer import Reducer
from refold.reducer.presets import none


class Predicted(msgspec.Struct, frozen=True):
    """One call: tokens the ledger says were read from the cache, and those the provider reported.

    `idle` seconds since the call before, 0 where the log has no times; `changed` says that the log tells of something
    in the last prompt that this one does not begin with.
    """

    seq: int
    turn: int
    step: int
    predicted: int
    reported: int
    idle: int
    changed: bool

    @property
    def error(self) -> int:
        return self.predicted - self.reported


def predictions(events: Sequence[Event], rules: Rules) -> tuple[Predicted, ...]:
    """Every call that reports usage, in a session where at least two report tokens read from a cache; else none.

    Prompts are as long as reported; what of each was in the last is the replay's. Raises SurfaceError.
    """
    made = calls(Reducer(none(), METER), events)
    if sum(call.usage is not None and call.usage.cache_read_tokens > 0 for call in made) < 2:
        return ()
    sizes = fitted(made)
    known = anchored(made, sizes)
    pairs = zip(known, charged(Ledger(rules, sizes.shared), known), strict=True)
    found: list[Predicted] = []
    last: Call | None = None
    for call, charge in pairs:
        if call.usage is not None:
            idle = (call.time - last.time) // 1000 if last is not None and last.time and call.time else 0
            changed = last is not None and (call.reframed or call.model != last.model or call.prefix < last.prompt)
            read = call.usage.cache_read_tokens
            found.append(Predicted(call.seq, call.turn, call.step, charge.read, read, idle, changed))
        last = call
    return tuple(found)
