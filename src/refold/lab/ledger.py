"""The ledger: what of each call's prompt a provider's cache would have read, taken in, or missed. Pure."""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from refold.lab.calls import Call

Mark = Literal["frame", "changed", "next", "last"]


class Rules(msgspec.Struct, frozen=True):
    """How one provider's cache works. `source` says where that is written.

    `grain`: a hit is a multiple of so many tokens. `minimum`: a shorter prefix is never held. `seconds`: how long an
    entry lives after the start of the last request that used it, None for ever. `marks`: where a request says that
    its prefix shall be held: behind the frame, before the first block that a policy changed, before the first that it
    may change next, at the end; empty where the provider looks at every token by itself; there, `answers` says that
    what the model said is held as well.
    `lookback`: how many places before a mark, it included, are looked at.
    """

    name: str
    grain: int = 1
    minimum: int = 0
    seconds: int | None = None
    marks: tuple[Mark, ...] = ()
    lookback: int = 20
    answers: bool = False
    source: str = ""


class Charge(msgspec.Struct, frozen=True):
    """A call's prompt in tokens: read from the cache, written to it, and neither."""

    read: int
    written: int
    plain: int

    @property
    def prompt(self) -> int:
        return self.read + self.written + self.plain


class Prices(msgspec.Struct, frozen=True):
    """Prices of a token read from the cache and of one written to it, per thousand of a plain input token's.

    `input_nano` is what that one costs, in thousand-millionths of a US dollar; None where money is not asked for.
    """

    read: int
    write: int
    input_nano: int | None = None

    def cost(self, charge: Charge) -> int:
        """In thousandths of a plain input token."""
        return self.read * charge.read + self.write * charge.written + 1000 * charge.plain


class _Entry(msgspec.Struct, frozen=True):
    """A prefix that is held: its end in places and tokens, and the start of the last request that used it."""

    places: int
    tokens: int
    used: int


class _Lane(msgspec.Struct, frozen=True):
    """One model's cache: what is held, newest last, and how much of that the prompts since then still begin with."""

    model: str
    tokens: int
    places: int
    entries: tuple[_Entry, ...]


class Ledger(msgspec.Struct, frozen=True):
    """What a provider holds of one session; a value: charging a call gives the ledger behind it.

    `shared` tokens of the frame are held whatever this session does, because other sessions send them too.
    """

    rules: Rules
    shared: int = 0
    lanes: tuple[_Lane, ...] = ()

    def charge(self, call: Call) -> tuple[Charge, "Ledger"]:
        """What the call is charged for, and the ledger after it."""
        tokens, places = (0, 0) if call.reframed else (call.prefix, call.prefix_places)
        lanes = {
            lane.model: _Lane(lane.model, min(lane.tokens, tokens), min(lane.places, places), lane.entries)
            for lane in self.lanes
        }
        lane = lanes.get(call.model, _Lane(call.model, 0, 0, ()))
        rules = self.rules
        hit, entries = _marked(rules, lane, call) if rules.marks else _continuous(rules, lane, call)
        read = max(hit, min(self.shared, call.prompt))
        written = call.prompt - read if call.prompt >= rules.minimum else 0
        held = call.prompt + call.answer if rules.answers else call.prompt
        lanes[call.model] = _Lane(call.model, held, call.places, entries)
        charge = Charge(read, written, call.prompt - read - written)
        return charge, Ledger(rules, self.shared, tuple(lanes.values()))


def charged(ledger: Ledger, calls: Iterable[Call]) -> Iterator[Charge]:
    """Each call's charge, in order."""
    for call in calls:
        charge, ledger = ledger.charge(call)
        yield charge


def is_cold(rules: Rules, used: int, now: int) -> bool:
    """Has an entry that a request at `used` started last been dropped by `now`? A log without times is never cold."""
    return rules.seconds is not None and used > 0 and now - used > rules.seconds * 1000


def _continuous(rules: Rules, lane: _Lane, call: Call) -> tuple[int, tuple[_Entry, ...]]:
    """Every token is looked at: what the model's last prompt and this one begin with, in whole grains."""
    held = lane.entries[-1:]
    hit = lane.tokens // rules.grain * rules.grain if held and not is_cold(rules, held[0].used, call.time) else 0
    return hit if hit >= rules.minimum else 0, (_Entry(call.places, call.prompt, call.time),)


def _marked(rules: Rules, lane: _Lane, call: Call) -> tuple[int, tuple[_Entry, ...]]:
    """Only what an earlier request marked is held, and only within the look-back of a mark it is found."""
    held = [
        entry for entry in lane.entries if entry.places <= lane.places and not is_cold(rules, entry.used, call.time)
    ]
    marks = {
        "frame": (0, call.frame),
        "changed": (min(call.prefix_places, call.places), call.whole),
        "last": (call.places, call.prompt),
    }
    if call.waiting is not None:
        marks["next"] = (call.waiting_places, call.waiting)
    wanted = [marks[name] for name in rules.marks if name in marks]
    hit = 0
    for at in range(len(held) - 1, -1, -1):
        entry = held[at]
        if any(0 <= places - entry.places < rules.lookback for places, _ in wanted):
            hit = entry.tokens
            held[at] = _Entry(entry.places, entry.tokens, call.time)
            break
    for places, tokens in sorted(wanted):
        if tokens >= rules.minimum:
            held = [entry for entry in held if entry.places != places]
            held.append(_Entry(places, tokens, call.time))
    return hit, tuple(sorted(held, key=lambda entry: entry.places))
