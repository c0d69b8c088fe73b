"""`Reorder`: a delivery that was shuffled and repeated within the window comes out as the log stood."""

from itertools import permutations

import pytest

from refold.events import AssistantChunks, Event, Finish, FinishReason, Other, Reorder, SurfaceError


def note(seq: int, name: str = "") -> Other:
    return Other(seq, 0, name)


def run_of_chunks(seq: int, width: int) -> AssistantChunks:
    return AssistantChunks(seq, 0, 1, 1, (Finish(FinishReason("stop")),) * width)


def delivered(reorder: Reorder, seqs: list[int]) -> list[int]:
    handed_on = [event.seq for seq in seqs for event in reorder.push(note(seq))]
    assert reorder.flush() == ()
    return handed_on


def test_every_order_in_which_no_event_stands_more_than_the_window_from_its_place_is_restored() -> None:
    for window in (0, 1, 2, 3):
        orders = [
            order for order in permutations(range(6)) if all(abs(at - seq) <= window for at, seq in enumerate(order))
        ]
        assert len(orders) == (1, 13, 73, 230)[window]  # OEIS A000045, A002524, A002526
        for order in orders:
            assert delivered(Reorder(window), list(order)) == [0, 1, 2, 3, 4, 5]


def test_an_event_one_place_further_than_the_window_is_refused() -> None:
    reorder = Reorder(2)
    reorder.push(note(1))
    reorder.push(note(2))
    with pytest.raises(SurfaceError, match="seq 0 is missing and 2 events wait for it"):
        reorder.push(note(3))


def test_a_refused_event_leaves_the_order_as_it_was() -> None:
    reorder = Reorder(1)
    reorder.push(note(1))
    with pytest.raises(SurfaceError):
        reorder.push(note(2))
    assert [event.seq for event in reorder.push(note(0))] == [0, 1]
    assert [event.seq for event in reorder.push(note(2))] == [2]


def test_an_exact_repetition_is_dropped_whether_it_was_handed_on_or_still_waits() -> None:
    assert delivered(Reorder(3), [0, 0, 2, 2, 1, 2, 0, 3]) == [0, 1, 2, 3]


def test_repetitions_take_no_room_in_the_window() -> None:
    assert delivered(Reorder(1), [1, 1, 1, 1, 0, 0]) == [0, 1]


@pytest.mark.parametrize("arrived", [[0], [1]], ids=["handed on", "waiting"])
def test_a_different_event_under_a_known_seq_is_refused(arrived: list[int]) -> None:
    reorder = Reorder(3)
    for seq in arrived:
        reorder.push(note(seq))
    with pytest.raises(SurfaceError, match="another event, other at seq") as refused:
        reorder.push(note(arrived[0], "something else"))
    assert refused.value.seq == arrived[0]


def test_what_came_before_the_window_cannot_be_told_apart_and_is_refused() -> None:
    reorder = Reorder(1)
    assert delivered(reorder, [0, 1, 2]) == [0, 1, 2]
    assert reorder.push(note(1)) == ()
    with pytest.raises(SurfaceError, match="came too late"):
        reorder.push(note(0))


def test_a_delivery_that_ends_with_a_gap_is_refused() -> None:
    reorder = Reorder(2)
    reorder.push(note(1))
    with pytest.raises(SurfaceError, match="ended while seq 0 was missing"):
        reorder.flush()


def test_a_run_of_chunks_takes_as_many_places_as_it_has_chunks() -> None:
    reorder = Reorder(2)
    assert reorder.push(note(3)) == ()
    first = run_of_chunks(0, 3)
    assert reorder.push(first) == (first, note(3))
    assert reorder.push(first) == ()


def test_an_event_inside_a_known_run_of_chunks_is_refused() -> None:
    reorder = Reorder(4)
    reorder.push(run_of_chunks(2, 4))
    with pytest.raises(SurfaceError, match="assistant/chunk at seq 2, already has this place"):
        reorder.push(note(4))
    with pytest.raises(SurfaceError, match="assistant/chunk at seq 2, already has this place"):
        reorder.push(run_of_chunks(0, 3))


def test_a_log_that_was_folded_up_to_some_seq_goes_on_there() -> None:
    reorder = Reorder(1, start=7)
    events: list[Event] = [*reorder.push(note(8)), *reorder.push(note(7))]
    assert [event.seq for event in events] == [7, 8]


def test_a_window_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="got -1"):
        Reorder(-1)
