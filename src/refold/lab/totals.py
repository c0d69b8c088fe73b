"""The table of a comparison: one row a policy, over all sessions."""

from collections.abc import Sequence

import msgspec

from refold.lab.compare import Compared, Outcome


class Row(msgspec.Struct, frozen=True):
    """A policy over all sessions; the names are the keys of `refold compare --json`.

    `cost_ratio` is the cost of input relative to never cutting, `worst_ratio` and `best_ratio` those of single
    sessions. `hindsight_ratio` is relative to the best schedule for what `debt` cuts, over the sessions for which that
    was worked out; None where it was for none. `rewritten_tokens` were sent before and not read from the cache.
    `regret` counts cuts that were needed again, `regret_tokens` what they freed, `regret_ratio` the price of taking
    that in again, relative to the cost of never cutting. Money is in US dollars, None where no price of a token is
    known.
    """

    policy: str
    cost_ratio: float
    worst_ratio: float
    best_ratio: float
    hindsight_ratio: float | None
    rewritten_tokens: int
    cuts: int
    regret: int
    calls: int
    sent_tokens: int
    read_tokens: int
    regret_tokens: int
    regret_ratio: float
    worst_session: str
    best_session: str
    cost_usd: float | None
    regret_usd: float | None


def rows(sessions: Sequence[Compared]) -> tuple[Row, ...]:
    """One row for each policy, in the order in which they were compared."""
    places = range(len(sessions[0].outcomes)) if sessions else range(0)
    return tuple(_row([(session, session.outcomes[place]) for session in sessions]) for place in places)


def _row(pairs: Sequence[tuple[Compared, Outcome]]) -> Row:
    cost = sum(outcome.cost * session.weight for session, outcome in pairs)
    none = sum(session.none * session.weight for session, _ in pairs)
    known = [(session, outcome, session.hindsight) for session, outcome in pairs if session.hindsight]
    best = sum(hindsight * session.weight for session, _, hindsight in known)
    same = sum(outcome.cost * session.weight for session, outcome, _ in known)
    ratios = sorted((_ratio(outcome.cost, session.none), session.session) for session, outcome in pairs)
    back = sum(outcome.regret_tokens * session.prices.write * session.weight for session, outcome in pairs)
    priced = all(session.prices.input_nano for session, _ in pairs)
    return Row(
        policy=pairs[0][1].policy,
        cost_ratio=_ratio(cost, none),
        worst_ratio=ratios[-1][0],
        best_ratio=ratios[0][0],
        hindsight_ratio=_ratio(same, best) if best else None,
        rewritten_tokens=sum(outcome.rewritten for _, outcome in pairs),
        cuts=sum(outcome.cuts for _, outcome in pairs),
        regret=sum(len(outcome.needs) for _, outcome in pairs),
        calls=sum(session.calls for session, _ in pairs),
        sent_tokens=sum(outcome.sent for _, outcome in pairs),
        read_tokens=sum(outcome.read for _, outcome in pairs),
        regret_tokens=sum(outcome.regret_tokens for _, outcome in pairs),
        regret_ratio=_ratio(back, none),
        worst_session=ratios[-1][1],
        best_session=ratios[0][1],
        cost_usd=_dollars(cost) if priced else None,
        regret_usd=_dollars(back) if priced else None,
    )


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


def _dollars(cost: int) -> float:
    """From thousandths of a thousand-millionth of a dollar."""
    return round(cost / 1e12, 6)
