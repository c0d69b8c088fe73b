"""The laws, checked for every preset and for members that no preset uses; one run of sessions serves every law.

REFOLD_SEED is the seed of all that is generated; without it the seed is fixed, so that a run can be repeated.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from hypothesis.configuration import set_hypothesis_home_dir

from refold.laws import LAWS, Report, check
from refold.reducer import Part, Policy
from refold.reducer.how import Drop, HeadTail, Placeholder, Receipt
from refold.reducer.presets import PRESETS, keep3
from refold.reducer.ripe import AllRipe, AnyRipe, KeepLast, KeepResults, KeepTokens, Now, Turns, Unseen, Views
from refold.reducer.when import Above, Always, Batch, Idle, Latch, Least, Most, OnOverflow, Watermark
from refold.reducer.which import Admissible, Which

SEED = int(os.environ.get("REFOLD_SEED", "1"))
SESSIONS = 30

LARGE = Which(("*",), over_chars=80)
ENDS = HeadTail(20, 10)
ARRIVAL = (("order", "a receipt names its file by the order in which results arrive"),)
COUNTS = (("order", "it counts results or their tokens, which one comes first matters"),)


def policies() -> Iterator[Policy]:
    yield from (preset() for preset in PRESETS.values())
    yield Policy("small keep3", keep3(gate=2000, keep=2, threshold=120, head=40, tail=20).parts)
    yield keep3(gate=2000, keep=1, threshold=400, head=40, tail=20) + PRESETS["pruner"]()
    yield PRESETS["round"]() + PRESETS["pruner"](threshold=400, head=40, tail=20)
    yield keep3(gate=2000, keep=1, threshold=400, head=300, tail=20) + PRESETS["overclock"]()
    yield PRESETS["microcompact"](retain=1) + keep3(gate=2000, keep=3, threshold=120, head=40, tail=20)
    yield PRESETS["debt"](keep=1, tools=("*",)) + PRESETS["pruner"](threshold=400, head=40, tail=20)
    yield keep3(gate=2000, keep=1, threshold=400, head=300, tail=20) + PRESETS["debt"](keep=1, tools=("*",))
    yield _policy(Part("admitted", Always(), Admissible(120, ("read", "*")), Unseen(), Receipt(0), broken=ARRIVAL))
    yield _policy(Part("results", Above(3000, "original"), LARGE, KeepResults(2), ENDS, broken=COUNTS))
    yield _policy(Part("tokens", Batch(60), LARGE, KeepTokens(100), ENDS, broken=COUNTS))
    yield _policy(Part("watermark", Watermark(600, 300), LARGE, KeepLast(1), Placeholder("[{tool}]"), broken=COUNTS))
    yield _policy(Part("idle", Idle(60), Which(("*",), errors=True), Turns(1, settled=1), Drop()))
    yield _policy(Part("any", Most((Latch(2000), OnOverflow())), LARGE, AnyRipe((Views(3), Turns(1))), ENDS))
    either = Least((Latch(2000), Above(2500)))
    yield _policy(Part("all", either, LARGE, AllRipe((Views(2), KeepLast(1))), ENDS, broken=COUNTS))
    yield _policy(Part("now", Always(), Which(("*",), originals=True, over_chars=80), Now(), ENDS))


def _policy(part: Part) -> Policy:
    return Policy(part.name, (part,))


def pytest_configure() -> None:
    set_hypothesis_home_dir(Path(__file__).parents[1] / ".hypothesis")
    hypothesis.settings.register_profile("refold", database=None, deadline=None, print_blob=False)
    hypothesis.settings.load_profile("refold")


def pytest_report_header() -> str:
    return f"refold: REFOLD_SEED={SEED}, {SESSIONS} sessions for each policy"


@pytest.fixture(scope="session")
def seed() -> int:
    return SEED


@pytest.fixture(scope="session", params=list(policies()), ids=lambda policy: policy.name)
def policy(request: pytest.FixtureRequest) -> Policy:
    return request.param


@pytest.fixture(scope="session")
def report(policy: Policy) -> Report:
    return check(policy, sessions=SESSIONS, seed=SEED)


@pytest.fixture(scope="session")
def expected(policy: Policy) -> dict[str, str]:
    """What the report has to say of each law: that it holds, or that it is broken as the policy declares."""
    broken = {law: f"broken as declared: {why}" for law, why in policy.broken.items()}
    return {law: broken.get(law, "ok") for law in ("vacuous", *LAWS)}
