"""Claude Code transcripts of the folder against its manifest."""

from itertools import pairwise

import pytest
from tests.conformance.agreement import counts, prompts, weighed
from tests.conformance.manifest import counted, names, source
from tests.formats.checked import check

from refold.events import ToolResult
from refold.events.formats.claude_code import FORMAT

pytestmark = pytest.mark.conformance

# Where the manifest counts something else. Sub-agents inside progress lines are not in it either: the main session is
# compared, of files that hold nothing but lines of their own all sessions.
DIFFERENT = {
    # An answer that Claude Code wrote itself (model <synthetic>) is no request.
    "entire-cli_5a-c45bc32212-0.jsonl": {"requests": 58},
    "entire-cli_a6-e4c2a0fbd1-0.jsonl": {"requests": 12},
    # One assistant line each, with a text and a tool_use: one call.
    "agent-sessions_subagent__0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl": {"requests": 1},
    "agent-sessions_subagent__0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f__subagents__agent-a0ad4f44468bdf20d.jsonl": {
        "requests": 1
    },
    # Records whose uuids were all replaced by one text: those with the same content count once.
    "agent-sessions_small.jsonl": {"thinking": 4},
}
OF_ALL_SESSIONS = ("agent-sessions_small.jsonl",)
MICRO_COMPACTED = "entire-cli_57-f1f346970c-1.jsonl"
# Hand-made fixtures whose usage has nothing to do with their text (a prompt of 25 tokens in the middle of a session).
INVENTED_USAGE = ("claude-code-log_edge_cases.jsonl", "claude-code-log_representative_messages.jsonl")


@pytest.mark.parametrize("name", names("claude_code"))
def test_the_counts_are_those_of_the_manifest(name: str) -> None:
    sessions = FORMAT.read(source("claude_code", name))
    for session in sessions:
        check(session)
    found = counts(sessions if name in OF_ALL_SESSIONS else sessions[:1])
    assert found == counted("claude_code")[name]._replace(**DIFFERENT.get(name, {}))


@pytest.mark.parametrize("name", names("claude_code"))
def test_prompts_are_about_as_large_as_reported(name: str) -> None:
    for session in FORMAT.read(source("claude_code", name)):
        found = weighed(session)
        if found is not None and name not in INVENTED_USAGE:
            assert 0.7 < found[0] < 1.2
            assert found[1] < 1.3


def test_the_surface_falls_with_the_reported_prompt_at_the_micro_compaction() -> None:
    """Of the nine known micro-compactions that name ids, the folder has one (version 2.1.17, nine ids): the provider
    counted 135,211 tokens before it and 109,852 after."""
    (session,) = FORMAT.read(source("claude_code", MICRO_COMPACTED))
    results = [event for event in session.events if isinstance(event, ToolResult)]
    cleared = [event for event in results if event.replaces is not None]
    originals = {event.call_id: event.seq for event in results if event.replaces is None}
    assert len(cleared) == 9
    assert [event.replaces for event in cleared] == [(originals[event.call_id],) * 2 for event in cleared]

    calls = prompts(session)
    before = max(seq for seq in calls if seq < cleared[0].seq)
    after = min(seq for seq in calls if seq > cleared[-1].seq)
    (reported, shown), (reported_after, shown_after) = calls[before], calls[after]
    assert (reported, reported_after) == (135_211, 109_852)
    assert shown - shown_after == pytest.approx(reported - reported_after, rel=0.02)


def test_a_micro_compaction_that_names_nothing_leaves_surface_and_prompt() -> None:
    main, *_ = FORMAT.read(source("claude_code", "kimi-cli_28-db10720a96-0.jsonl"))
    assert not any(isinstance(event, ToolResult) and event.replaces for event in main.events)
    reported = [prompt for prompt, _ in prompts(main).values()]
    assert all(later > 0.95 * earlier for earlier, later in pairwise(reported))


def test_a_fall_that_no_record_explains_is_noted() -> None:
    (session,) = FORMAT.read(source("claude_code", MICRO_COMPACTED))
    assert [note for note in session.notes if "fell" in note] == [
        "turn 6 step 1: the reported prompt fell from 138395 to 95864 tokens, and no record says why"
    ]
