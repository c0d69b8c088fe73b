"""The ledger's rules, each on calls small enough to count by hand."""

from typing import Any

from refold.lab.calls import Call
from refold.lab.ledger import Charge, Ledger, Prices, Rules, charged

MARKED = Rules("marked", 1, 1024, 300, ("frame", "changed", "last"), 20)
EVERY = Rules("every", 128, 1024, 600)


def call(prompt: int, prefix: int, places: int = 0, prefix_places: int = 0, **facts: Any) -> Call:
    known: dict[str, Any] = {"time": 1_000, "answer": 0, "frame": 0, "model": "m", "whole": prefix, **facts}
    return Call(
        seq=0, turn=1, step=1, prompt=prompt, prefix=prefix, places=places, prefix_places=prefix_places, **known
    )


def test_every_token_is_looked_at_and_a_hit_is_whole_grains() -> None:
    charges = list(charged(Ledger(EVERY), [call(2_000, 0), call(2_500, 1_999)]))
    assert charges == [Charge(0, 2_000, 0), Charge(1_920, 580, 0)]  # 1,920 = 15 x 128


def test_a_prefix_below_the_least_length_is_neither_held_nor_read() -> None:
    assert list(charged(Ledger(EVERY), [call(1_023, 0), call(2_000, 1_023)])) == [
        Charge(0, 0, 1_023),
        Charge(0, 2_000, 0),
    ]


def test_an_entry_lives_from_the_start_of_the_last_call_that_used_it() -> None:
    calls = [call(2_000, 0), call(2_100, 2_000, time=600_000), call(2_200, 2_100, time=1_201_000)]
    assert [charge.read for charge in charged(Ledger(EVERY), calls)] == [0, 1_920, 0]


def test_only_marked_prefixes_are_read_and_a_cut_beyond_the_look_back_leaves_the_frame() -> None:
    first = call(50_000, 0, places=60, frame=10_000)
    near = call(49_000, 45_000, places=60, prefix_places=50, frame=10_000)
    assert [charge.read for charge in charged(Ledger(MARKED), [first, near])] == [0, 10_000]


def test_a_mark_before_the_first_changed_block_is_found_by_the_next_cut_behind_it() -> None:
    calls = [
        call(50_000, 0, places=60, frame=10_000),
        call(49_000, 45_000, places=60, prefix_places=50, frame=10_000),
        call(48_000, 46_000, places=60, prefix_places=52, frame=10_000),
    ]
    assert [charge.read for charge in charged(Ledger(MARKED), calls)] == [0, 10_000, 45_000]


def test_a_mark_before_the_next_candidate_keeps_what_stands_before_it_for_a_cut_long_after() -> None:
    rules = Rules("marked", 1, 1024, 300, ("changed", "next", "last"), 20)
    waiting = {"waiting": 4_000, "waiting_places": 4}
    grown = [
        call(10_000 + 5_000 * at, 5_000 + 5_000 * at, 10 * at, 10 * at, time=1_000 + 200_000 * at, **waiting)
        for at in range(5)
    ]
    cut = call(20_000, 4_000, 50, 4, time=1_001_000)
    assert list(charged(Ledger(rules), [*grown, cut]))[-1] == Charge(4_000, 16_000, 0)
    unmarked = Rules("marked", 1, 1024, 300, ("changed", "last"), 20)
    assert list(charged(Ledger(unmarked), [*grown, cut]))[-1] == Charge(0, 20_000, 0)


def test_another_model_has_a_cache_of_its_own() -> None:
    calls = [call(2_048, 0), call(2_176, 2_048, model="other"), call(2_304, 2_176)]
    assert [charge.read for charge in charged(Ledger(EVERY), calls)] == [0, 0, 2_048]


def test_another_frame_leaves_nothing() -> None:
    calls = [call(2_048, 0), call(2_176, 2_048, reframed=True)]
    assert [charge.read for charge in charged(Ledger(EVERY), calls)] == [0, 0]


def test_a_cost_is_reads_writes_and_plain_tokens_at_their_prices() -> None:
    assert Prices(100, 1250).cost(Charge(1_000, 200, 30)) == 100_000 + 250_000 + 30_000
