"""The law order: the policies, then deliveries and interleavings that Hypothesis draws."""

from itertools import permutations
from math import factorial

import hypothesis
import pytest
from hypothesis import strategies as st

from refold.events import Reorder, SurfaceError
from refold.laws import Report, play, sessions
from refold.laws.script import Call, Script, Step, Words
from refold.reducer import Dsh, Part, Policy, Reducer
from refold.reducer.how import HeadTail
from refold.reducer.presets import keep3
from refold.reducer.ripe import KeepSpans, RipeRule, Turns, Views
from refold.reducer.when import Always
from refold.reducer.which import Which

GATED = keep3(gate=2000, keep=2, threshold=120, head=40, tail=20)


def test_events_are_folded_in_seq_order_and_parallel_results_commute(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["order"] == expected["order"]


@st.composite
def deliveries(draw: st.DrawFn, length: int, window: int) -> list[int]:
    """Places of a log in an order in which none stands more than the window from its own, some of them repeated."""
    order: list[int] = []
    left = list(range(length))
    while left:
        overdue = left[0] + window <= len(order)
        choices = [place for place in left if place <= len(order) + window]
        order.append(left[0] if overdue else choices[draw(st.integers(0, len(choices) - 1))])
        left.remove(order[-1])
    return [place for place in order for _ in range(draw(st.sampled_from((1, 1, 1, 2))))]


def test_behind_reorder_every_delivery_within_the_window_gives_the_same_view(seed: int) -> None:
    reducer = Reducer(GATED, Dsh(4), "derive")

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=25, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(sessions(GATED), st.integers(0, 6), st.data())
    def holds(events: tuple, window: int, data: st.DataObject) -> None:
        reorder, view = Reorder(window), reducer.start()
        for place in data.draw(deliveries(len(events), window)):
            view = reducer.fold_all(view, reorder.push(events[place]))
        reorder.flush()
        assert view == reducer.fold_all(reducer.start(), events)

    holds()


def test_without_reorder_an_event_out_of_order_is_refused_and_the_view_stays(seed: int) -> None:
    reducer = Reducer(GATED, Dsh(4), "derive")

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=25, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(sessions(GATED), st.integers(0, 500), st.integers(0, 500))
    def holds(events: tuple, due: int, came: int) -> None:
        hypothesis.assume(len(events) > 1)
        due, came = due % len(events), came % len(events)
        hypothesis.assume(due != came)
        view = reducer.fold_all(reducer.start(), events[:due])
        with pytest.raises(SurfaceError, match=f"next event must be seq {view.position}"):
            reducer.fold(view, events[came])
        assert view == reducer.fold_all(reducer.start(), events[:due])

    holds()


@pytest.mark.parametrize("ripe", [Views(2), Turns(1), KeepSpans(1)], ids=lambda ripe: type(ripe).__name__)
@pytest.mark.parametrize("together", [True, False], ids=["calls first", "call by call"])
def test_every_order_of_four_parallel_results_is_cut_at_the_same_step_to_the_same_content(
    ripe: RipeRule, together: bool
) -> None:
    policy = Policy("p", (Part("p", Always(), Which(("*",), over_chars=80), ripe, HeadTail(20, 10)),))
    calls = tuple(Call(f"tool{place}", "same id", (Words("xyz", 81 + place),)) for place in range(4))
    answer = Step((Words("Done. ", 6),))
    script = Script(acts=(Step((), calls, together=together), Step((), calls[:1]), answer, answer, answer))

    runs = [play(script, Reducer(policy, Dsh(4)), order) for order in range(factorial(4))]

    orders = {tuple(run.labels[event.seq] for event in run.events if event.type == "tool/result")[:4] for run in runs}
    assert orders == set(permutations([(1, place) for place in range(4)]))
    cuts = [[{run.labels[cut.seq]: cut.content for cut in beat.operations} for beat in run.beats] for run in runs]
    assert sum(map(len, cuts[0])) == 5 if not isinstance(ripe, KeepSpans) else 4
    assert all(cut == cuts[0] for cut in cuts)
