"""Each peer's preset on a session that shows its rule; what is expected is from the peer's own documentation."""

import pytest
from msgspec.structs import replace
from tests.sessions import Script

from refold.lab import peers
from refold.lab.remembered import METER
from refold.reducer import Policy, Reducer
from refold.replay import asked

LONG = " word" * 1_000


def cut_at(policy: Policy, script: Script) -> list[tuple[int, ...]]:
    """The seqs cut for each call, in order."""
    reducer = Reducer(policy, METER, "what-if")
    return [view.enforced for _, _, view in asked(reducer, script.events, lambda event, before, after: None)]


def reads(count: int, text: str = LONG, turns: int = 1) -> tuple[Script, list[int]]:
    """`count` steps of one result in each of some turns, then a step without a tool."""
    script, seqs = Script(), []
    for _ in range(turns):
        script.start_turn()
        script.user()
        for _ in range(count):
            seqs += script.tool_step(text)
        script.plain_step()
        script.end_turn()
    return script, seqs


def test_anthropic_clears_all_but_the_newest_three_once_the_trigger_is_reached_and_slides_on() -> None:
    script, seqs = reads(7)
    # 4 results of 1,000 tokens and their calls are over 4,000: one is behind the newest three.
    assert cut_at(peers.anthropic_clear(trigger=4_000), script)[3:] == [
        (),
        (seqs[0],),
        (seqs[1],),
        (seqs[2],),
        (seqs[3],),
    ]


def test_langchain_clears_what_anthropic_clears() -> None:
    script, _ = reads(9)
    assert cut_at(peers.langchain_clear(4_000), script) == cut_at(peers.anthropic_clear(4_000), script)


def test_pydantic_waits_until_the_history_it_has_cut_is_over_the_limit_again() -> None:
    script, seqs = reads(9)
    cuts = cut_at(peers.pydantic_clear(max_tokens=5_000), script)
    assert [cut for cut in cuts if cut] == [(seqs[0], seqs[1]), (seqs[2], seqs[3]), (seqs[4], seqs[5])]


def test_openai_trims_only_what_stands_before_the_last_two_user_messages() -> None:
    script, seqs = reads(2, turns=3)
    cuts = cut_at(peers.openai_trim(), script)
    assert cuts[:6] == [()] * 6
    assert cuts[6] == (seqs[0], seqs[1])


def test_openai_leaves_outputs_of_at_most_500_characters() -> None:
    script, _ = reads(1, "x" * 500, turns=4)
    assert not any(cut_at(peers.openai_trim(), script))


# How many results SWE-agent (commit 318f909) has removed once so many have come: its rule of which observations go,
# copied by hand from LastNObservations and run on a history that begins, as SWE-agent's do, with the task as its first
# observation. No package index has the class itself.
REMOVED = {
    (5, 1): [0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24],
    (3, 4): [0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 16, 16, 16, 16, 20, 20, 20, 20, 24, 24, 24],
    (5, 25): [0] * 24 + [19] * 25 + [44] * 12,
}


@pytest.mark.parametrize(("n", "polling"), REMOVED)
def test_swe_agent_removes_as_many_as_its_own_rule_does_after_every_result(n: int, polling: int) -> None:
    removed = REMOVED[n, polling]
    script, seqs = reads(len(removed) - 1)
    gone: list[int] = []
    for cut, count in zip(cut_at(peers.swe_agent(n, polling), script), removed, strict=True):
        gone += cut
        assert gone == seqs[:count]


def test_langchain_stops_where_enough_was_cleared_and_never_clears_more() -> None:
    script, seqs = reads(9)
    cuts = cut_at(peers.langchain_clear(4_000, clear_at_least=1_500), script)
    assert [cut for cut in cuts if cut] == [(seqs[0],), (seqs[1],)]


def test_opencode_prunes_between_turns_beyond_the_protected_tokens_when_that_is_enough() -> None:
    script, seqs = reads(4, turns=5)
    cuts = cut_at(peers.opencode_prune(protect=3_500, minimum=3_000), script)
    # The newest two turns do not count; of the 8,000 tokens before the third is asked, 3,500 are protected.
    assert [(place, cut) for place, cut in enumerate(cuts) if cut] == [(20, tuple(seqs[0:5]))]


def test_qwen_goes_from_the_high_mark_to_the_low_one_oldest_first_and_keeps_errors() -> None:
    script = Script()
    script.start_turn()
    seqs = [script.tool_step("x" * 1_000, is_error=place == 0)[0] for place in range(8)]
    script.plain_step()
    cuts = cut_at(peers.qwen_watermark(high=6_000, low=3_000, keep=2), script)
    assert [cut for cut in cuts if cut] == [tuple(seqs[1:5])]


def test_claude_code_clears_after_an_idle_hour_and_keeps_five() -> None:
    script = Script()
    script.start_turn()
    seqs = [script.tool_step(LONG, tool="Read")[0] for _ in range(8)]
    script.user()
    script.events[-1] = replace(script.events[-1], time=script.events[-1].time + 3_600_000)
    script.plain_step()
    assert cut_at(peers.claude_code_idle(), script)[-1] == tuple(seqs[:3])


def test_masking_cuts_one_result_at_every_step() -> None:
    script, seqs = reads(14)
    assert cut_at(peers.mask_oldest(), script)[10:] == [(), (seqs[0],), (seqs[1],), (seqs[2],), (seqs[3],)]
