"""Codex rollouts of the folder against its manifest."""

import pytest
from tests.conformance.agreement import counts, weighed
from tests.conformance.manifest import counted, names, source
from tests.formats.checked import check

from refold.events import FormatError
from refold.events.formats.codex import FORMAT

pytestmark = pytest.mark.conformance

# Where the manifest counts something else.
DIFFERENT = {
    # A result is measured as the model is sent it, with the JSON around the output: 8,197 characters against 7,986.
    "moonmind_rollout-2025-11-13T16-00-16-019a7fa9-a846-7393-8d7a-9997d08b0096.jsonl": {"large": 3},
    # The manifest counts usage reports. Six of the seven answers have none.
    "agent-sessions_codex_large.jsonl": {"requests": 7},
    # The same, less a report of zero tokens; and a tool_search_output is a result, too.
    "agent-sessions_codex_small.jsonl": {"requests": 9, "results": 6},
    # Items in the old form, without a payload around them, are read as well.
    "agent-sessions_codex_schema_drift.jsonl": {"requests": 2, "results": 1},
}
# Rollouts with usage reports in a form no Codex is known to write, and without a single message.
WITHOUT_MESSAGES = ("agent-sessions_codex_050_legacy.jsonl", "agent-sessions_codex_051_usage.jsonl")
READ = [name for name in names("codex") if name not in WITHOUT_MESSAGES]


@pytest.mark.parametrize("name", READ)
def test_the_counts_are_those_of_the_manifest(name: str) -> None:
    (session,) = FORMAT.read(source("codex", name))
    check(session)
    assert counts([session]) == counted("codex")[name]._replace(**DIFFERENT.get(name, {}))


@pytest.mark.parametrize("name", READ)
def test_prompts_are_about_as_large_as_reported(name: str) -> None:
    (session,) = FORMAT.read(source("codex", name))
    found = weighed(session)
    if found is not None:
        assert 0.7 < found[0] < 1.2
        assert found[1] < 1.3


@pytest.mark.parametrize("name", WITHOUT_MESSAGES)
def test_a_rollout_without_a_message_is_refused(name: str) -> None:
    with pytest.raises(FormatError):
        FORMAT.read(source("codex", name))
