"""What a replay says of the host's counter of replacements, and of how many series of requests that makes."""

from pathlib import Path

import pytest
from tests.sessions import Script

from refold.cli.replay import totals
from refold.files import open_log
from refold.reducer import Dsh, Reducer, presets
from refold.replay import replay

EXAMPLE = Path(__file__).parents[1] / "examples" / "session.v4.jsonl.zstd"

LONG = "line of output\n" * 40


@pytest.mark.parametrize(
    ("policy", "mode", "moves"),
    [
        (presets.none(), "what-if", [0, 0, 0, 0, 1]),
        (presets.round_(), "what-if", [0, 0, 0, 2, 1]),
        (presets.overclock(), "what-if", [0, 0, 1, 1, 1]),
        (presets.overclock(), "derive", [0, 0, 0, 0, 1]),
    ],
    ids=["none", "round", "overclock", "overclock derived"],
)
def test_each_cut_and_each_compaction_moves_the_hosts_counter_and_what_is_only_derived_does_not(policy, mode, moves):
    script = Script()
    script.start_turn()
    script.tool_step(LONG * 3)
    script.tool_step(LONG * 3)
    script.plain_step()
    script.end_turn()
    script.start_turn()
    script.plain_step()
    last = script.user()
    script.user("summary", replaces=(last, last), sources=(last,))
    script.plain_step()

    steps = list(replay(Reducer(policy, Dsh(0), mode), script.events))

    assert [step.replacements for step in steps] == moves
    assert totals(steps)["replacements"] == sum(moves)


def test_round_keeps_one_series_a_turn_and_overclock_does_not():
    events = tuple(open_log(EXAMPLE))

    def series(policy):
        return totals(list(replay(Reducer(policy, Dsh(4), "what-if"), events)))["series"]

    assert series(presets.none()) == series(presets.round_()) == 5
    assert series(presets.admission()) == 5, "a receipt is logged in the result's place, nothing is replaced"
    assert series(presets.overclock()) > 5
