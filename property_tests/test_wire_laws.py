"""The laws of the outgoing copy, for shapings of every kind, beside surface policies, under every profile."""

from itertools import product

import pytest
from msgspec.structs import replace

from refold.laws.wire import check_wire
from refold.reducer import Policy
from refold.reducer.presets import PRESETS, keep3, microcompact, none
from refold.reducer.wire import (
    ANTHROPIC,
    ANTHROPIC_BOUND,
    DEEPSEEK,
    NONE,
    Chain,
    Drop,
    Extract,
    HeadTail,
    Inline,
    Profile,
    Shaping,
    Truncate,
)

SHORTER = Shaping(
    reasoning=Chain((Extract(60),), after_views=1),
    tool_result=Chain((HeadTail(40, 20),), keep_last=2),
    tool_arguments=Chain((Truncate(50),), after_views=2),
    assistant_text=Chain((Truncate(40),), keep_last=3),
)
GONE = Shaping(
    reasoning=Chain((Drop(),)),
    tool_result=Chain((Drop(),), after_views=2),
    tool_arguments=Chain((Drop(),)),
    assistant_text=Chain((Inline("o", every=True), Drop()), after_views=1, keep_last=1),
)
TRIMMED = Shaping(reasoning=Chain((Drop(),), keep_last=2), keep_spans=4)
SHAPINGS = {"shorter": SHORTER, "gone": GONE, "trimmed": TRIMMED}

MOVE = replace(ANTHROPIC_BOUND, name="move", bound="move")
PROFILES = (NONE, ANTHROPIC, DEEPSEEK, ANTHROPIC_BOUND, MOVE, replace(ANTHROPIC_BOUND, name="now", loop=False))
SMALL = Policy("small keep3", keep3(gate=2000, keep=2, threshold=120, head=40, tail=20).parts)
POLICIES = (none(), SMALL, microcompact(retain=1))
SESSIONS = 4

CASES = [
    pytest.param(shaping, profile, policy, id=f"{name}, {profile.name}, {policy.name}")
    for (name, shaping), profile, policy in product(SHAPINGS.items(), PROFILES, POLICIES)
    if profile.bound != "move" or not policy.parts
]


@pytest.mark.parametrize(("shaping", "profile", "policy"), CASES)
def test_the_laws_of_the_wire_hold(shaping: Shaping, profile: Profile, policy: Policy, seed: int) -> None:
    report = check_wire(shaping, profile, policy, sessions=SESSIONS, seed=seed)

    assert report.ok, str(report)
    assert report.counts["an entry shaped"] > 0


@pytest.mark.parametrize("profile", [NONE, ANTHROPIC, ANTHROPIC_BOUND], ids=lambda profile: profile.name)
@pytest.mark.parametrize("preset", PRESETS)
def test_the_laws_of_the_wire_hold_beside_every_preset(preset: str, profile: Profile, seed: int) -> None:
    report = check_wire(SHORTER, profile, PRESETS[preset](), sessions=SESSIONS, seed=seed)

    assert report.ok, str(report)
    assert report.counts["an entry shaped"] > 0
    assert report.counts["a signed block sent"] > 0


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_without_a_shaping_bound_blocks_go_only_where_the_surface_was_changed(policy: Policy, seed: int) -> None:
    report = check_wire(Shaping(), ANTHROPIC_BOUND, policy, sessions=SESSIONS, seed=seed)

    assert report.ok, str(report)
    assert report.counts["a signed block sent"] > 0
    assert report.counts["a bound block gone"] > 0, "others rewrite and compact in these sessions"
