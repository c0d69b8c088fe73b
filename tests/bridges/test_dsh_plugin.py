"""The DSH plugin inside small stand-ins for the cores that it may meet; tests/harness has the real one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.dsh_log import Json, row, session

pytestmark = pytest.mark.oracle

CORE = Path(__file__).with_name("dsh_core.mjs")
CONFIG = {
    "policy": "keep3:gate=0,keep=1,threshold=60,head=10,tail=10",
    "command": [str(Path(sys.executable).with_name("refold")), "serve"],
    "waitMs": 60_000,
}
MARKER = "\n\n[... tool result middle pruned ...]\n\n"


class Ran(NamedTuple):
    added: list[Json]
    decisions: list[Any]
    nexts: int
    said: str


def rows(version: int) -> list[Json]:
    """A session whose one result has been seen once, stopped inside its second turn."""
    return [
        *session(version, [{"type": "text", "text": "x" * 100}])[1:],
        row("turn/start", 8, {"turn": 2}),
        row("step/start", 9, {"turn": 2, "step": 1}),
        row("step/end", 10, {"turn": 2, "step": 1}),
    ]


def ran(core: Json) -> Ran:
    done = subprocess.run(["node", CORE, json.dumps(core)], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return Ran(answer["rows"][len(core["rows"]) :], answer["decisions"], answer["nexts"], done.stderr)


def stepped(version: int | None, api: str | None, **config: Any) -> Ran:
    """Two pre-steps of a core; each enters its step, whatever happened."""
    run = ran({"rows": rows(version or 0), "version": version, "api": api, "config": CONFIG | config})
    assert (run.nexts, run.decisions) == (2, ["entered", "entered"])
    return run


@pytest.mark.parametrize(("version", "api"), [(0, "events"), (1, "log"), (3, "eventAt"), (4, "eventAt")])
def test_a_cut_is_appended_in_the_words_of_the_core(version: int, api: str) -> None:
    run = stepped(version, api)
    assert run.said == ""
    prune, result = run.added
    assert (prune["type"], prune["data"]["shadowedSeqs"]) == ("compaction/prune", [5])
    ends = ("start", "end") if version < 3 else ("startSeq", "endSeq")
    assert result["surfaceOp"] == {"op": "replace", **dict.fromkeys(ends, 5)}
    assert result["sourceEventSeqs"] == [5]
    # Everything but the content is as it was, what nobody knows included.
    expected = rows(version)[5]["data"]
    holder = expected["message"] if version >= 4 else expected["message"]["content"][0]
    holder["content"] = [{"type": "text", "text": "x" * 10 + MARKER + "x" * 10}]
    assert result["data"] == expected


@pytest.mark.parametrize(
    ("version", "api", "config", "why"),
    [
        (4, None, {}, "session s-1: tool results are left whole from here on: this core's sessions have neither "),
        (
            None,
            "log",
            {},
            "session s-1: tool results are left whole from here on: this core's sessions have no header ",
        ),
        (9, "log", {}, "session s-1: tool results are left whole from here on: log version 9 is not known"),
        (4, "log", {"policy": "keep4"}, "tool results are left whole: policy: there is no preset 'keep4'"),
        (4, "log", {"polcy": "keep3"}, "tool results are left whole: the plugin's config has the unknown key polcy"),
        (4, "log", {"command": "refold"}, "tool results are left whole: the plugin's command must be a list of words"),
        (4, "log", {"command": ["/no/such"]}, 'tool results are left whole: cannot start "/no/such": no such command'),
        (4, "log", {"command": ["echo", "{}"]}, 'tool results are left whole: "echo" ended'),
    ],
)
def test_what_it_cannot_work_with_is_said_once_and_the_agent_goes_on(
    version: int | None, api: str | None, config: Json, why: str
) -> None:
    run = stepped(version, api, **config)
    assert run.added == []
    assert run.said.startswith(f"refold: {why}")
    assert run.said.count("\n") == 1


TOO_LONG = {"code": "CONTEXT_WINDOW_EXCEEDED", "message": "prompt is too long"}


def refused(failure: Json, policy: str) -> Ran:
    """A request of the second turn's second step is refused, and refused again."""
    finish = {"type": "finish", "reason": {"kind": "error", "failure": failure}}
    stream = [{"type": "chunk", "time": 0, "chunk": finish}]
    attempt = row("assistant/attempt", 12, {"turn": 2, "step": 2, "stream": stream})
    stopped = [*rows(4), row("step/start", 11, {"turn": 2, "step": 2}), attempt]
    config = CONFIG | {"policy": policy}
    return ran({"rows": stopped, "version": 4, "api": "eventAt", "config": config, "failure": failure})


def test_a_request_that_was_too_long_is_made_again_where_that_cuts_something_and_else_left_to_the_harness() -> None:
    run = refused(TOO_LONG, "pruner:threshold=60,head=10,tail=10")
    assert [row["type"] for row in run.added] == ["compaction/prune", "tool/result"]
    assert (run.decisions, run.nexts) == ([{"kind": "retry"}, "entered"], 1)
    run = refused(TOO_LONG, "keep3:gate=1000000")
    assert (run.added, run.decisions) == ([], ["entered", "entered"])


def test_a_request_that_failed_otherwise_is_left_to_the_harness() -> None:
    run = refused({"code": "SERVER_OVERLOADED", "message": "busy"}, "pruner:threshold=60,head=10,tail=10")
    assert (run.added, run.decisions, run.said) == ([], ["entered", "entered"], "")
