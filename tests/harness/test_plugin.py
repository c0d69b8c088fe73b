"""The plugin of `bridges/dsh` inside the real harness: what the model is sent, what the log holds, what a failure does."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.harness.conftest import Harness, Run, lines
from tests.wire import as_sent, unsigned

from refold.events import AssistantMessage, StepStart, ToolResult
from refold.files import open_log
from refold.reducer import Dsh, Reducer, presets

pytestmark = pytest.mark.harness

PLUGIN = Path(__file__).parents[2] / "bridges" / "dsh"
WATCH = Path(__file__).with_name("watch.js")
REFOLD = str(Path(sys.executable).with_name("refold"))
POLICY = "keep3:gate=1000,threshold=600,head=100,tail=100"
REDUCER = partial(Reducer, presets.keep3(gate=1000, threshold=600, head=100, tail=100), Dsh(4))
MARKER = "\n\n[... tool result middle pruned ...]\n\n"
PATIENT_MS = 60_000  # the machine that tests may be busy; what two seconds do is tested by itself
KILLED_BEHIND = 6  # the call whose command kills the co-process, where a test wants that


class Plugged(Harness):
    """The harness with the plugin in its profile. `settings` is the plugin's config, `commands` typed before steps."""

    settings: dict[str, Any] = {}
    commands: dict[int, list[str]] = {}

    def _new_folder(self) -> Path:
        folder = self._folders.mktemp(f"plugged-{next(self._numbers):03}", numbered=False)
        profile = folder / "home" / "profiles" / "sdk"
        shutil.copytree(PLUGIN, profile / "node_modules" / "refold-dsh")
        watch = profile / "node_modules" / "watch"
        watch.mkdir()
        shutil.copy(WATCH, watch / "index.js")
        (watch / "package.json").write_text('{"name": "watch", "type": "module", "main": "index.js"}')
        watched = {"stderr": str(folder / "stderr.txt"), "commands": self.commands}
        rows = [{"id": "watch", "name": "watch", "config": watched}, {"id": "refold", "name": "refold-dsh"}]
        rows[1]["config"] = json.loads(json.dumps(self.settings).replace("FOLDER", str(folder)))
        (profile / "cordis.patch.yml").write_text(json.dumps([{"insert": rows}]))
        return folder


@pytest.fixture(scope="module")
def plugged(harness_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Plugged:
    return Plugged(harness_python, tmp_path_factory)


@pytest.fixture(autouse=True)
def usual_settings(plugged: Plugged) -> None:
    plugged.settings = {"policy": POLICY, "command": [REFOLD, "serve"], "waitMs": PATIENT_MS}
    plugged.commands = {}


def script(start: int, steps: int, kill: str = "true") -> list[dict[str, Any]]:
    """Calls whose results are all over the policy's threshold; one of them runs `kill` as well."""
    numbers = range(start, start + steps)
    texts = [f"{kill if number == KILLED_BEHIND else 'true'}; seq {number}000 {number}400" for number in numbers]
    calls = [{"calls": [["bash", {"command": text, "description": "Count"}]]} for text in texts]
    return [*calls, {"text": "Counted."}]


def printed(number: int) -> str:
    return "".join(f"{line}\n" for line in range(number * 1000, number * 1000 + 401))


def cut(text: str) -> str:
    return text[:100] + MARKER + text[-100:]


def shown(request: dict[str, Any]) -> list[str]:
    """The texts of a request's tool results, in order."""
    blocks = [block for message in request["messages"] for block in message["content"]]
    return [block["content"][0]["text"] for block in blocks if block["type"] == "tool_result"]


def logged(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(run.log)[1:]]


def prunes(run: Run) -> list[int]:
    return [row["seq"] for row in logged(run) if row["type"] == "compaction/prune"]


def said(run: Run) -> list[str]:
    stderr = run.home.parent / "stderr.txt"
    return stderr.read_text("utf-8").splitlines() if stderr.exists() else []


@pytest.fixture(scope="module")
def two_turns(plugged: Plugged) -> Run:
    """Ten calls in one turn and six in the next, all in one process."""
    plugged.settings = {"policy": POLICY, "command": [REFOLD, "serve"], "waitMs": PATIENT_MS}
    return plugged.record("Count.", "Go on.", script=[*script(1, 10), *script(11, 6)])


def test_each_result_is_sent_whole_three_times_and_cut_from_the_fourth(two_turns: Run) -> None:
    assert two_turns.finished == ["completed", "completed"]
    assert said(two_turns) == []
    # The gate opens at the boundary behind the first call: its result is frozen.
    texts = [printed(number) for number in range(1, 17)]
    sendings = {text: [0, 0] for text in texts}
    for request in two_turns.requests:
        results = shown(request)
        assert [result if result in texts else None for result in results[:1]] == texts[: len(results[:1])]
        for text, result in zip(texts, results, strict=False):
            assert result in (text, cut(text))
            sendings[text][result != text] += 1
            assert result == text or sendings[text][0] == 3
    whole = {text: counts[0] for text, counts in sendings.items()}
    assert whole[texts[0]] == len(two_turns.requests) - 1
    # Between the turns one request carries no new result, so the last ones are sent less often than three times.
    assert [whole[text] for text in texts[1:14]] == [3] * 13
    assert sum(counts[1] > 0 for counts in sendings.values()) == len(prunes(two_turns)) >= 12


def test_the_log_folds_to_what_the_model_was_sent(two_turns: Run) -> None:
    reducer = REDUCER("commit")
    view, prompts = reducer.start(), []
    for event in open_log(two_turns.log):
        if isinstance(event, AssistantMessage):
            prompts.append(as_sent(reducer.messages(view)))
        view = reducer.fold(view, event)
    named = json.loads(json.dumps(prompts).replace(str(two_turns.work), "WORK"))
    assert named == [unsigned(request["messages"]) for request in two_turns.requests]


def test_a_fold_of_the_log_asks_for_each_cut_where_the_log_has_it_and_for_no_other(two_turns: Run) -> None:
    reducer = REDUCER("commit")
    view, asked, made, waiting = reducer.start(), [], [], []
    for event in open_log(two_turns.log):
        if isinstance(event, StepStart):
            assert reducer.plan(view) == ()
            asked += waiting
        if isinstance(event, ToolResult) and event.replaces:
            made.append((event.replaces[0], event.content))
        elif not made or view.position > made[-1][0]:
            waiting = []
        operations = reducer.plan(view)
        waiting = waiting or [(operation.seq, operation.content) for operation in operations]
        view = reducer.fold(view, event)
    assert made
    assert set(made) == set(asked) | set(made)
    derive = REDUCER("derive")
    view = derive.start()
    for event in open_log(two_turns.log):
        view = derive.fold(view, event)
        assert view.enforced == ()
