"""The official pruner's pass over a whole session, and the `pruner` preset: the same results, the same lengths."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from tests.generated_logs import Session, sessions
from tests.oracle_client import Oracle, Refusal
from tests.refold_side import read, spelled_out
from tests.test_official import examples

from refold.commit import Commit
from refold.reducer import Dsh, Part, Policy, Reducer, presets, when

pytestmark = pytest.mark.oracle

CONFIG = {"thresholdChars": 60, "headChars": 4, "tailChars": 3}
PASS = Policy(
    "pass",
    tuple(Part(part.name, when.Always(), part.which, part.ripe, part.how) for part in presets.pruner(60, 4, 3).parts),
)


def test_a_pass_cuts_what_the_official_pass_cuts_and_reports_the_same(
    oracle: Oracle, seed: str, record_property: Any
) -> None:
    """Pressure aside, which the official caller decides. Far above the threshold a cut always lowers the price, so the
    law `shrink`, by which refold leaves what a cut would not make cheaper, parts the two nowhere here."""
    seen: Counter[str] = Counter()

    @examples(seed, 300)
    @given(sessions())
    def compare(session: Session) -> None:
        official = oracle.one("pruneSession", events=session.events, config=CONFIG)
        if isinstance(official, Refusal):
            seen["refused"] += 1
            return
        reducer = Reducer(PASS, Dsh(0))
        view = reducer.fold_all(reducer.start(), read(spelled_out(session.events)))
        commit = Commit(reducer, view, 0)
        mine = [(o.seq, o.before.call_id, o.chars_before, o.chars_after) for o in commit.operations]
        asked = [(p["originalSeq"], p["callId"], p["charsBefore"], p["charsAfter"]) for p in official["pruned"]]
        assert mine == asked
        assert sum(o.chars_before - o.chars_after for o in commit.operations) == official["charsRemoved"]
        prices = [e["data"]["shadowedTokenCount"] for e in official["events"] if e["type"] == "compaction/prune"]
        assert [replacement.shadowed_tokens for replacement in commit.replacements] == prices
        seen["sessions"] += 1
        seen["cuts"] += len(mine)

    compare()
    record_property("generated", dict(seen))
    assert seen["sessions"] >= 200
    assert seen["cuts"] >= 60
