"""The plugin of `bridges/dsh` inside the real harness: what the model is sent, what the log holds, what failures do."""

import json
import shutil
import sys
from functools import partial
from importlib.metadata import version
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.harness.conftest import Harness, Run, lines
from tests.harness.provider import CACHE_LINE_TOKENS
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
USUAL = {"policy": POLICY, "command": [REFOLD, "serve"], "waitMs": PATIENT_MS}
KILLED_BEHIND = 6  # the call whose command kills the co-process, where a test wants that


class Plugged(Harness):
    """The harness with the plugin in its profile. `settings` is the plugin's config, `commands` typed before steps."""

    settings: dict[str, Any]
    commands: dict[int, list[str]]

    def _new_folder(self) -> Path:
        folder = self._folders.mktemp(f"plugged-{next(self._numbers):03}", numbered=False)
        profile = folder / "home" / "profiles" / "sdk"
        shutil.copytree(PLUGIN, profile / "node_modules" / "refold-dsh")
        watch = profile / "node_modules" / "watch"
        watch.mkdir()
        shutil.copy(WATCH, watch / "index.js")
        (watch / "package.json").write_text('{"name": "watch", "type": "module", "main": "index.js"}')
        watched = {"stderr": str(folder / "stderr.txt"), "commands": self.commands}
        settings = json.loads(json.dumps(self.settings).replace("FOLDER", str(folder)))
        rows = [
            {"id": "watch", "name": "watch", "config": watched},
            {"id": "refold", "name": "refold-dsh", "config": settings},
        ]
        (profile / "cordis.patch.yml").write_text(json.dumps([{"insert": rows}]))
        return folder


@pytest.fixture(scope="module")
def plugged(harness_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Plugged:
    return Plugged(harness_python, tmp_path_factory)


@pytest.fixture(autouse=True)
def usual_settings(plugged: Plugged) -> None:
    plugged.settings, plugged.commands = USUAL, {}


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


def usual(request: int) -> list[str]:
    """What request number `request` of two turns must show: ten calls in the first, up to six in the second.

    The gate opens at the boundary behind the first call, whose result is frozen. Between the turns one request carries
    no new result.
    """
    first = {number: number if number <= 10 else number + 1 for number in range(1, 17)}
    return [
        printed(number) if number == 1 or request - sent < 3 else cut(printed(number))
        for number, sent in first.items()
        if sent <= request
    ]


@pytest.fixture(scope="module")
def two_turns(plugged: Plugged) -> Run:
    plugged.settings, plugged.commands = USUAL, {}
    return plugged.record("Count.", "Go on.", script=[*script(1, 10), *script(11, 6)])


def test_each_result_is_sent_whole_three_times_and_cut_from_the_fourth_and_a_frozen_one_never(two_turns: Run) -> None:
    assert two_turns.finished == ["completed", "completed"]
    assert said(two_turns) == []
    assert [shown(request) for request in two_turns.requests] == [usual(number) for number in range(18)]
    assert len(prunes(two_turns)) == 12


def test_the_log_folds_to_what_the_model_was_sent(two_turns: Run) -> None:
    reducer = REDUCER("commit")
    view, prompts = reducer.start(), []
    for event in open_log(two_turns.log):
        if isinstance(event, AssistantMessage):
            prompts.append(as_sent(reducer.messages(view)))
        view = reducer.fold(view, event)
    named = json.loads(json.dumps(prompts).replace(str(two_turns.work), "WORK"))
    assert named == [unsigned(request["messages"]) for request in two_turns.requests]


def test_a_fold_of_the_log_plans_each_cut_that_it_holds_and_leaves_none_over(two_turns: Run) -> None:
    reducer = REDUCER("commit")
    view, cuts = reducer.start(), 0
    for event in open_log(two_turns.log):
        due = [(operation.seq, operation.content) for operation in reducer.plan(view)]
        if isinstance(event, StepStart):
            assert due == []
        if isinstance(event, ToolResult) and event.replaces:
            assert (event.replaces[0], event.content) in due
            cuts += 1
        view = reducer.fold(view, event)
    assert cuts == 12


def test_a_session_resumed_in_a_new_process_goes_on_with_the_same_decisions(plugged: Plugged, two_turns: Run) -> None:
    stored = lines(two_turns.log)
    end = next(place for place, line in enumerate(stored) if json.loads(line)["type"] == "turn/end")
    first_turn = two_turns.home.parent / "first_turn.zstd"
    frames = (stored[:1], stored[1 : end + 1])
    first_turn.write_bytes(
        b"".join(zstandard.compress("".join(f"{row}\n" for row in rows).encode()) for rows in frames)
    )
    resumed = plugged.resume(first_turn, "Go on.", script=script(11, 6))
    assert (resumed.finished, resumed.refused) == (["completed"], None)
    assert [shown(request) for request in resumed.requests] == [usual(number) for number in range(11, 18)]


def test_the_provider_loses_cached_tokens_only_where_a_cut_was_announced(two_turns: Run) -> None:
    announced, lost, step, before, pruned = [], [], 0, 0, False
    for row in logged(two_turns):
        if row["type"] == "compaction/prune":
            pruned = True
        if row["type"] != "assistant/message":
            continue
        usage = row["data"]["usage"]
        if pruned:
            announced.append(step)
        if before - usage["cacheReadTokens"] > 2 * CACHE_LINE_TOKENS:
            lost.append(step)
        step, before, pruned = step + 1, usage["inputTokens"] + usage["cacheReadTokens"], False
    assert lost == announced == [5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17]


def test_a_request_that_is_refused_as_too_long_is_cut_and_made_again_in_the_same_step(plugged: Plugged) -> None:
    plugged.settings = {**USUAL, "policy": "pruner:threshold=600,head=100,tail=100"}
    refusal = {"refuse": "This model's maximum context length is 131072 tokens"}
    run = plugged.record("Count.", script=[*script(1, 4)[:4], refusal, {"text": "Counted."}])
    assert (run.finished, said(run)) == (["completed"], [])
    whole = [printed(number) for number in range(1, 5)]
    assert [shown(request) for request in run.requests] == [*(whole[:seen] for seen in range(5)), list(map(cut, whole))]
    rows = logged(run)
    attempt = next(place for place, row in enumerate(rows) if row["type"] == "assistant/attempt")
    after = [row["type"] for row in rows[attempt + 1 :]]
    assert after[:8] == ["compaction/prune", "tool/result"] * 4
    assert "step/start" not in after
    reducer = Reducer(presets.pruner(600, 100, 100), Dsh(4))
    view = reducer.fold_all(reducer.start(), islice(open_log(run.log), attempt + 1))
    assert [operation.seq for operation in reducer.plan(view)] == [
        row["data"]["shadowedSeqs"][0] for row in rows if row["type"] == "compaction/prune"
    ]


KILLABLE = {
    **USUAL,
    "command": ["sh", "-c", f"test ! -e FOLDER/gone && echo $$ > FOLDER/pid && exec '{REFOLD}' serve"],
}
KILL = "kill -9 $(cat ../pid); sleep 1"  # so long that the harness has surely noticed


def test_a_killed_process_is_started_again_and_comes_to_the_same_decisions(plugged: Plugged) -> None:
    plugged.settings = KILLABLE
    run = plugged.record("Count.", script=script(1, 10, KILL))
    assert run.finished == ["completed"]
    assert [shown(request) for request in run.requests] == [usual(number) for number in range(11)]
    assert said(run) == ['refold: tool results are left whole: "sh" ended (SIGKILL)']


def test_a_process_killed_for_good_leaves_the_session_whole_from_there_on(plugged: Plugged) -> None:
    plugged.settings = KILLABLE
    run = plugged.record("Count.", script=script(1, 10, f"touch ../gone; {KILL}"))
    assert run.finished == ["completed"]
    # The second result was cut for request 5, whose answer calls the command that kills.
    results = [[printed(number) for number in range(1, request + 1)] for request in range(11)]
    for shown_then in results[5:]:
        shown_then[1] = cut(shown_then[1])
    assert [shown(request) for request in run.requests] == results
    assert said(run) == ['refold: tool results are left whole: "sh" ended (SIGKILL)']


@pytest.mark.parametrize(
    ("refold", "why"),
    [
        (None, 'cannot start "refold": no such command; install it with `pip install refold`'),
        ("#!/usr/bin/env python3\n", '"refold" ended (exit code 127): '),
    ],
    ids=["no refold", "no Python"],
)
def test_without_the_command_the_session_is_complete_and_unpruned(
    plugged: Plugged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refold: str | None, why: str
) -> None:
    for command in ("bash", "env", "seq", "sh", "true"):
        found = shutil.which(command)
        assert found
        (tmp_path / command).symlink_to(found)
    if refold:
        (tmp_path / "refold").write_text(refold)
        (tmp_path / "refold").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    plugged.settings = {"policy": POLICY}
    assert_whole(plugged.record("Count.", script=script(1, 6)), why)


def test_a_process_that_does_not_answer_costs_the_session_two_seconds_once_and_leaves_it_whole(
    plugged: Plugged,
) -> None:
    plugged.settings = {"policy": POLICY, "command": ["sleep", "600"]}
    run = plugged.record("Count.", script=script(1, 6))
    assert_whole(run, "no answer within 2000 ms")
    times = [row["time"] for row in logged(run) if row["type"] in ("turn/start", "step/start")]
    waits = [(later - earlier) // 1000 for earlier, later in pairwise(times)]
    assert sum(wait >= 2 for wait in waits) == 1


def test_a_process_that_answers_late_is_asked_again_once_it_has_answered(plugged: Plugged) -> None:
    late = f"until test -e FOLDER/go; do sleep 0.1; done; exec '{REFOLD}' serve"
    plugged.settings = {"policy": POLICY, "command": ["sh", "-c", late]}
    run = plugged.record("Count.", script=script(1, 10, "touch ../go; sleep 10"))
    assert run.finished == ["completed"]
    whole = [[printed(number) for number in range(1, request + 1)] for request in range(KILLED_BEHIND)]
    # The gate opened where it must, because the log tells when that was.
    assert [shown(request) for request in run.requests] == [*whole, *(usual(number) for number in range(6, 11))]
    assert said(run) == ["refold: tool results are left whole: no answer within 2000 ms"]


def assert_whole(run: Run, why: str) -> None:
    assert run.finished == ["completed"]
    assert [shown(request) for request in run.requests] == [
        [printed(number) for number in range(1, request + 1)] for request in range(7)
    ]
    assert prunes(run) == []
    (line,) = said(run)
    assert line.startswith(f"refold: tool results are left whole: {why}")


def test_the_command_turns_it_off_and_on_and_tells_what_it_does(plugged: Plugged) -> None:
    plugged.commands = {6: ["/refold off"], 8: ["/refold status"], 9: ["/refold on", "/refold all"]}
    run = plugged.record("Count.", script=script(1, 10))
    # Before request 8 it is turned on again, and cuts what has become due meanwhile.
    results = [[printed(number) for number in range(1, request + 1)] for request in range(8)]
    assert [shown(request) for request in run.requests] == [*results, usual(8), usual(9), usual(10)]
    off, status, on, unknown = [row["data"] for row in logged(run) if row["type"] == "command/done"]
    assert (off["kind"], off["text"]) == ("success", "refold: off; what was cut stays cut")
    assert (status["kind"], status["text"]) == ("success", "refold: off")
    assert on["text"].startswith(f"refold: on, refold {version('refold')}, policy keep3, meter dsh; ")
    assert on["text"].endswith("; results: 1 frozen, 4 due, 3 waiting")
    assert (unknown["kind"], unknown["text"]) == ("error", "say /refold on, /refold off or /refold status")
