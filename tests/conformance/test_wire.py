"""The laws of the wire on every real session with reasoning, signed and not."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from refold.events import AssistantMessage, Reasoning, RefoldError
from refold.laws.wire import WIRE_LAWS, requests
from refold.reducer import Counted, Reducer, presets
from refold.reducer.wire import (
    ANTHROPIC,
    ANTHROPIC_BOUND,
    DEEPSEEK,
    NONE,
    OPENAI,
    Chain,
    Drop,
    Extract,
    HeadTail,
    Shaping,
    Truncate,
    shape,
)
from refold.transcripts import open_session

FOLDER = Path(os.environ["REFOLD_DATA"])
SHORTER = Shaping(
    reasoning=Chain((Extract(200),), after_views=2),
    tool_result=Chain((HeadTail(400, 200),), keep_last=3),
    tool_arguments=Chain((Truncate(80),), after_views=2),
    assistant_text=Chain((Truncate(400),), after_views=5),
)
GONE = Shaping(reasoning=Chain((Drop(),), keep_last=3), keep_spans=12)
PROFILES = {
    profile.name: profile
    for profile in (
        NONE,
        ANTHROPIC,
        ANTHROPIC_BOUND,
        DEEPSEEK,
        OPENAI,
        replace(ANTHROPIC_BOUND, name="m", bound="move"),
    )
}
POLICIES = {
    "keep3": lambda: presets.keep3(gate=1, keep=1, threshold=200, head=50, tail=20, tools=("*",)),
    "pruner": lambda: presets.pruner(threshold=200, head=50, tail=20, ratio=1),
    "microcompact": lambda: presets.microcompact(retain=1),
    "microcompact-neocode": lambda: presets.microcompact_neocode(retain=1),
    "round": presets.round_,
    "overclock": presets.overclock,
    "debt": presets.debt,
}
LONGEST = 400  # events: every request is looked at whole


def reasoning_sessions():
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        if not path.is_file() or path.name == "MANIFEST.md":
            continue
        try:
            events = tuple(open_session(str(path)))
        except RefoldError:
            continue
        answers = [event for event in events if isinstance(event, AssistantMessage)]
        if any(isinstance(block, Reasoning) for answer in answers for block in answer.content):
            found[path.relative_to(FOLDER).as_posix()] = events[:LONGEST]
    return found


SESSIONS = reasoning_sessions()


def test_there_are_sessions_with_signed_reasoning_and_without():
    signed = {
        name
        for name, events in SESSIONS.items()
        for event in events
        if isinstance(event, AssistantMessage)
        if any(isinstance(block, Reasoning) and block.signature for block in event.content)
    }

    assert len(SESSIONS) >= 25
    assert 10 <= len(signed) < len(SESSIONS)


@pytest.mark.parametrize("name", SESSIONS)
def test_the_laws_of_the_wire_hold_under_every_profile(name):
    for shaping in (SHORTER, GONE):
        for profile in PROFILES.values():
            hold(presets.none(), SESSIONS[name], shaping, profile)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", SESSIONS)
def test_signed_and_bound_hold_beside_every_surface_policy(name, policy):
    hold(POLICIES[policy](), SESSIONS[name], SHORTER, ANTHROPIC_BOUND)


def hold(policy, events, shaping, profile):
    reducer = Reducer(policy, Counted(), "derive")
    made = requests(reducer, events, lambda one, view: shape(one, view, shaping, profile).messages)
    for law, check in WIRE_LAWS.items():
        if law != "bound" or profile.bound != "no":
            check(made)
