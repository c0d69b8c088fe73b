"""mini-swe-agent: every file of the data folder, counted as its manifest counts."""

import json

import pytest
from tests.conformance.figures import counted, folder, read, share, told
from tests.formats.reading import answers

from refold.events.formats.mini_swe_agent import FORMAT

pytestmark = pytest.mark.conformance

FILES = sorted(path.relative_to(folder()).as_posix() for path in (folder() / "mini_swe_agent").iterdir())
RUNS = [name for name in FILES if "local" not in name]


@pytest.mark.parametrize("name", FILES)
def test_calls_and_results_are_those_of_the_manifest(name: str) -> None:
    assert told(read(FORMAT, name)) == counted(name)


@pytest.mark.parametrize("name", RUNS)
def test_hits_and_misses_are_those_of_the_provider(name: str) -> None:
    messages = json.loads((folder() / name).read_bytes())["messages"]
    reports = [message["extra"]["response"]["usage"] for message in messages if message["role"] == "assistant"]
    wanted = [(report["prompt_cache_miss_tokens"], report["prompt_cache_hit_tokens"]) for report in reports]

    (session,) = read(FORMAT, name)

    spent = [answer.usage for answer in answers(session)]
    assert [(usage.input_tokens, usage.cache_read_tokens) for usage in spent if usage] == wanted


@pytest.mark.parametrize("name", RUNS)
def test_the_surface_is_as_long_as_the_reported_prompts_say(name: str) -> None:
    assert 0.5 < share(read(FORMAT, name)[0]) < 1.5
