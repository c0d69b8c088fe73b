"""What each ripeness member says of itself, counted anew from the log: who is ripe is exactly who it says."""

from bisect import bisect_right

import hypothesis
import msgspec
import pytest

from refold.events import Event, StepStart, ToolResult, TurnEnd, TurnStart
from refold.laws import Run, Script, play, scripts
from refold.laws.script import Compact, Restart, Rewind, Rewrite, Step
from refold.reducer import Dsh, Part, Policy, Reducer, View
from refold.reducer import _surface as surface
from refold.reducer.how import HeadTail
from refold.reducer.ripe import KeepLast, KeepResults, KeepSpans, KeepTokens, Turns, Views
from refold.reducer.when import Batch
from refold.reducer.which import Which

Leaf = Views | Turns | KeepLast | KeepResults | KeepTokens | KeepSpans
NEVER = Batch(1 << 40)
MEMBERS: list[Leaf] = [
    *(
        member(n, settled=settled)
        for member in (Turns, KeepLast, KeepResults, KeepSpans)
        for n, settled in ((1, 0), (2, 0), (1, 1), (2, 2))
    ),
    *(KeepTokens(n, settled=settled) for n, settled in ((60, 0), (200, 0), (100, 1), (60, 2))),
    *(Views(n) for n in (1, 2, 4)),
]


def undisturbed(script: Script) -> Script:
    """The script without what other hands do to results: of rewritten ones the members say other things."""
    acts = [act for act in script.acts if not isinstance(act, Rewrite | Compact | Rewind | Restart)]
    return msgspec.structs.replace(
        script, acts=tuple(msgspec.structs.replace(act, failures=()) if isinstance(act, Step) else act for act in acts)
    )


class Counted:
    """A log's candidates, and how far a member's count has come since each of them was born."""

    def __init__(self, run: Run, member: Leaf) -> None:
        self.member = member
        last = run.views[-1]
        self.born = {node.seq: node for _, node in surface.nodes(last) if any(place >= 0 for place in node.tickets)}
        self.turn_starts = [event.seq for event in run.events if isinstance(event, TurnStart)]
        self.steps = [event.seq for event in run.events if isinstance(event, StepStart)]
        self.turn_ends = _ended(run.events)
        self.results = [event.seq for event in run.events if isinstance(event, ToolResult)]
        self.answer_of = {seq: run.labels[seq][0] for seq in self.born}

    def ripe(self, now: int) -> set[int]:
        """The candidates that are ripe before the event `now`."""
        known = now
        if self.member.settled:
            past = bisect_right(self.turn_starts, now - 1)
            known = self.turn_starts[past - self.member.settled] if past >= self.member.settled else 0
        return {seq for seq in self.born if seq < now and self._reached(seq, known)}

    def _reached(self, seq: int, known: int) -> bool:
        """By what had happened before `known`, if the candidate was there then."""
        later = [other for other in self.born if seq < other < known]
        match self.member:
            case Views(n):
                return sum(seq < start < known for start in self.steps) >= n
            case Turns(n):
                return sum(seq < end < known for end in self.turn_ends) >= n
            case KeepLast(n):
                return len(later) >= n
            case KeepResults(n):
                return sum(seq < other < known for other in self.results) >= n
            case KeepTokens(n):
                return seq < known and self.born[seq].tokens + sum(self.born[other].tokens for other in later) > n
            case KeepSpans(n):
                return len({self.answer_of[other] for other in later} - {self.answer_of[seq]}) >= n


def _ended(events: tuple[Event, ...]) -> list[int]:
    """The turn/ends of the turns that had a step."""
    found, stepped = [], False
    for event in events:
        if isinstance(event, TurnStart):
            stepped = False
        stepped = stepped or isinstance(event, StepStart)
        if isinstance(event, TurnEnd) and stepped:
            found.append(event.seq)
    return found


def ripe_of(view: View) -> set[int]:
    boundary = view.parts[0].boundary
    return {node.seq for _, node in surface.nodes(view) if node.tickets and 0 <= node.tickets[0] < boundary}


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_who_is_ripe_is_who_the_member_says(member: Leaf, seed: int) -> None:
    policy = Policy("p", (Part("p", NEVER, Which(("*",), over_chars=80), member, HeadTail(20, 10)),))

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=10, phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.given(scripts(policy))
    def holds(script: Script) -> None:
        run = play(undisturbed(script), Reducer(policy, Dsh(script.version)))
        counted = Counted(run, member)
        for view in run.views:
            if view.step_open or not view.turn_open:
                continue
            assert ripe_of(view) == counted.ripe(view.position)

    holds()
