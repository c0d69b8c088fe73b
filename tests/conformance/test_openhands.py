"""OpenHands: both generations in the data folder, counted as its manifest counts, with two differences."""

import json

import pytest
from tests.conformance.figures import counted, folder, read, share, told

from refold.events import StepStart
from refold.events.formats.openhands import FORMAT

pytestmark = pytest.mark.conformance

V0 = "openhands/openhands_v0_multi-swe-bench_output.jsonl"
FAILED = 2  # calls whose answer is not in the log: the manifest counts their error messages as results


def test_v0_calls_and_results_are_those_of_the_manifest() -> None:
    calls, found, large = counted(V0)

    assert told(read(FORMAT, V0)) == (calls + FAILED, found - FAILED, large)


def test_v0_each_instance_has_the_calls_that_its_latencies_tell() -> None:
    instances = map(json.loads, (folder() / V0).read_text("utf-8").splitlines())
    wanted = [len(instance["metrics"]["response_latencies"]) for instance in instances]

    steps = [sum(isinstance(event, StepStart) for event in session.events) for session in read(FORMAT, V0)]

    assert steps == wanted


def test_v1_has_three_calls_of_which_the_last_asks_for_no_tool() -> None:
    """The manifest counts the two that ask for one."""
    assert told(read(FORMAT, "openhands/v1_cd945624")) == (3, 2, 0)


@pytest.mark.parametrize("name", [V0, "openhands/v1_cd945624"])
def test_the_surface_is_as_long_as_the_reported_prompts_say(name: str) -> None:
    for session in read(FORMAT, name):
        assert 0.5 < share(session) < 1.5
