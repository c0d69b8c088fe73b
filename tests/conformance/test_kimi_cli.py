"""Kimi: every file of the data folder, counted as its manifest counts."""

import json
from itertools import pairwise

import pytest
from tests.conformance.figures import counted, folder, read, share, told

from refold.events import AssistantMessage, StepEnd, StepStart, SurfaceEvent, UserMessage
from refold.events.formats._source import Session
from refold.events.formats.kimi_cli import FORMAT

pytestmark = pytest.mark.conformance

FILES = sorted(path.relative_to(folder()).as_posix() for path in (folder() / "kimi_cli").iterdir())
PROTOCOL = "kimi_cli/agent-sessions_wire_assistant_tools.jsonl"
SUMMARIES = {PROTOCOL: 1}  # calls that wrote a summary: the manifest counts step.begin alone


@pytest.mark.parametrize("name", FILES)
def test_calls_and_results_are_those_of_the_manifest(name: str) -> None:
    calls, found, large = counted(name)

    assert told(read(FORMAT, name)) == (calls + SUMMARIES.get(name, 0), found, large)


def test_each_request_sends_as_many_messages_as_the_log_says() -> None:
    """`messageCount` is what was sent: what the user asked in a row is one message there."""
    lines = (folder() / PROTOCOL).read_text("utf-8").splitlines()
    requests = [record for record in map(json.loads, lines) if record["type"] == "llm.request"]
    wanted = [record["messageCount"] for record in requests if record["kind"] == "loop"]

    assert _sent(read(FORMAT, PROTOCOL)[0])[: len(wanted)] == wanted


def _sent(session: Session) -> list[int]:
    """The messages on the surface when each step's answer began, or its end came without one."""
    sent: list[int] = []
    surface: list[SurfaceEvent] = []
    waiting = False
    for event in session.events:
        waiting |= isinstance(event, StepStart)
        if waiting and isinstance(event, AssistantMessage | StepEnd):
            waiting = False
            asked = [isinstance(node, UserMessage) and node.source == "user" for node in surface]
            in_a_row = sum(one and other for one, other in pairwise(asked))
            sent.append(len(surface) - in_a_row)
        if isinstance(event, SurfaceEvent):
            surface = [event] if getattr(event, "replaces", None) else [*surface, event]
    return sent


@pytest.mark.parametrize(
    "name",
    [
        "kimi_cli/kimi-cli_sklearn-26323_run1_main.jsonl",
        "kimi_cli/kimi-cli_sklearn-26323_run1_read_1.jsonl",
        "kimi_cli/kimi-cli_sklearn-26323_run1_read_2.jsonl",
        "kimi_cli/kimi-code_large-100msgs_wire.jsonl",
    ],
)
def test_the_surface_is_as_long_as_the_reported_prompts_say(name: str) -> None:
    """The other files had their prompts and results trimmed by those who published them."""
    assert 0.5 < share(read(FORMAT, name)[0]) < 1.5
