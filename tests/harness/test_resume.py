"""What `refold apply` writes is a log the real harness opens, and its cuts are what the next request shows."""

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from tests.wire import as_sent, unsigned

from refold.events import AssistantMessage
from refold.files import open_log
from refold.reducer import Dsh, Measure, Reducer, presets

if TYPE_CHECKING:
    from tests.harness.conftest import Harness, Run

SESSION = Path(__file__).parents[2] / "examples" / "session.v4.jsonl.zstd"
MARKER = "\n\n[... tool result middle pruned ...]\n\n"

# After which event the recorded session stops. Its fifth and last turn runs from 279 to 344.
STOPS = {"the turn is closed": 344, "between two steps": 339, "a tool runs": 335, "the model answers": 341}

pytestmark = pytest.mark.harness


def rows(log: Path) -> list[bytes]:
    with zstandard.open(log, "rb") as stored:
        return stored.read().splitlines(keepends=True)


def stopped(folder: Path, seq: int) -> Path:
    """The recorded session up to event `seq`, stored as the harness stores it: the header has a frame of its own."""
    header, *events = rows(SESSION)
    log = folder / "stopped.v4.jsonl.zstd"
    log.write_bytes(zstandard.compress(header) + zstandard.compress(b"".join(events[: seq + 1])))
    return log


def refold(*arguments: str | Path) -> bytes:
    command = [Path(sys.executable).with_name("refold"), *arguments]
    return subprocess.run(command, check=True, timeout=60, stdout=subprocess.PIPE).stdout


def applied(log: Path, policy: str = "keep3:gate=1000") -> Path:
    """The log with the policy's cuts; the gate of keep3 is low, because the recorded session is short."""
    cut = log.with_name("cut.v4.jsonl.zstd")
    refold("apply", log, "-o", cut, "--policy", policy)
    return cut


def results(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The tool results of a request by the call they answer."""
    blocks = [block for message in request["messages"] for block in message["content"]]
    return {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}


def cut_by_hand(request: dict[str, Any]) -> set[str]:
    """Cut in place what keep3 must have cut, and name it.

    The gate opens after the first step and freezes its two results; those of the last two steps with tools the model
    has seen less than three times.
    """
    cut = set()
    for call, result in results(request).items():
        text = result["content"][0]["text"]
        if len(text) > 8192 and not call.startswith(("toolu_0_", "toolu_37_", "toolu_38_")):
            result["content"][0]["text"] = text[:4096] + MARKER + text[-1024:]
            cut.add(call)
    return cut


@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS)
def test_the_next_request_shows_the_cuts_and_everything_else_unchanged(
    harness: "Harness", tmp_path: Path, stop: int
) -> None:
    whole = stopped(tmp_path, stop)
    cut = applied(whole)
    uncut_run, run = harness.resume(whole, "Go on."), harness.resume(cut, "Go on.")
    assert (run.refused, run.finished) == (None, ["completed"])
    expected = uncut_run.requests[0]
    assert len(cut_by_hand(expected)) == 26
    assert run.requests[0]["messages"] == expected["messages"]
    assert run.requests[0]["system"] == expected["system"]
    assert run.requests[0]["tools"] == expected["tools"]
    assert rows(run.log)[: len(rows(cut))] == rows(cut)


def originals(log: Path) -> dict[str, tuple[int, int, str]]:
    """Turn, step and text of each result by the call it answers, read from the rows of an uncut log."""
    found = {}
    for row in map(json.loads, rows(log)):
        if row["type"] == "tool/result":
            message = row["data"]["message"]
            text = "".join(block["text"] for block in message["content"])
            found[message["toolCallId"]] = (row["data"]["turn"], row["data"]["step"], text)
    return found


def cleared_by_hand(request: dict[str, Any], log: Path, before_turn: int) -> set[str]:
    """Put round's line in the place of each result of an earlier turn that is longer than the line, and name it."""
    cleared, known = set(), originals(log)
    for call, result in results(request).items():
        turn, step, text = known.get(call, (before_turn, 0, ""))
        line = (
            f"[第 {turn} 轮 第 {step} 步工具结果已清除归档，可用 read_tool_result_log(turn: {turn}, step: {step}) 读取]"
        )
        if turn < before_turn and len(line) < len(text) and price(text_block(line)) < price(text_block(text)):
            result["content"] = text_block(line)["content"]
            cleared.add(call)
    return cleared


def text_block(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


# After which event the log stops, the turn that is then not over, and how many results the turns before it leave.
@pytest.mark.parametrize(("stop", "turn", "cuts"), [(344, 6, 40), (335, 5, 32)], ids=["turn closed", "a tool runs"])
def test_results_cleared_by_round_are_lines_in_the_next_request_and_recall_gives_every_one_back(
    harness: "Harness", tmp_path: Path, stop: int, turn: int, cuts: int
) -> None:
    whole = stopped(tmp_path, stop)
    cut = applied(whole, "round")
    uncut_run, run = harness.resume(whole, "Go on."), harness.resume(cut, "Go on.")
    assert (run.refused, run.finished) == (None, ["completed"])
    expected = uncut_run.requests[0]
    assert len(cleared_by_hand(expected, whole, turn)) == cuts
    assert run.requests[0]["messages"] == expected["messages"]
    assert rows(run.log)[: len(rows(cut))] == rows(cut)

    logged = originals(whole)
    recalled = {}
    for of_turn, step in sorted({place[:2] for place in logged.values()}):
        answer = json.loads(refold("recall", cut, "--turn", str(of_turn), "--step", str(step), "--json"))
        recalled |= {one["call_id"]: (one["turn"], one["step"], one["text"]) for one in answer["results"]}
    assert recalled == logged


def test_the_harness_counts_the_tokens_that_the_cuts_saved(harness: "Harness", tmp_path: Path) -> None:
    # It knows a replacement's worth from the price written before it alone, and has no other way to learn of it.
    whole = stopped(tmp_path, 344)
    uncut_run, run = harness.resume(whole, "Go on."), harness.resume(applied(whole), "Go on.")
    before, after = results(uncut_run.requests[0]), results(run.requests[0])
    saved = sum(price(before[call]) - price(after[call]) for call in before)
    assert saved > 10_000
    assert surface_tokens(uncut_run) - surface_tokens(run) == saved
    assert surface_tokens(run) == folded(run).surface_tokens


def price(result: dict[str, Any]) -> int:
    """Tokens of a result by DSH's estimator, format V4: 4 a message, 4 a block, a token for 4 UTF-16 units begun."""
    return 4 + sum(4 - -len(block["text"].encode("utf-16-le")) // 8 for block in result["content"])


def surface_tokens(run: "Run") -> int:
    (cache,) = (run.home / "storages" / "session_projcache" / "sessions").glob("*.json")
    return int(json.loads(cache.read_text("utf-8"))["record"]["rows"]["contextBreakdown"]["val"]["surfaceTokens"])


def folded(run: "Run") -> Measure:
    reducer = Reducer(presets.none(), Dsh(4))
    return reducer.measure(reducer.fold_all(reducer.start(), open_log(run.log)))


def derived(run: "Run") -> list[list[dict[str, Any]]]:
    """What a fold of the harness's log, as it is after the run, shows the model at each of its calls."""
    reducer = Reducer(presets.none(), Dsh(4))
    view, prompts = reducer.start(), []
    for event in open_log(run.log):
        if isinstance(event, AssistantMessage):
            prompts.append(as_sent(reducer.messages(view)))
        view = reducer.fold(view, event)
    named: list[list[dict[str, Any]]] = json.loads(json.dumps(prompts).replace(str(run.work), "WORK"))
    return named


def test_a_log_that_the_harness_went_on_with_derives_to_what_it_sent(harness: "Harness", tmp_path: Path) -> None:
    run = harness.resume(applied(stopped(tmp_path, 344)), "Go on.", "And on.")
    assert run.finished == ["completed", "completed"]
    assert derived(run)[-2:] == [unsigned(request["messages"]) for request in run.requests]


def test_a_session_recorded_now_derives_to_what_was_sent(harness: "Harness") -> None:
    bash = ["bash", {"command": "seq 3000; echo 编译 😀; exit 3", "description": "Count"}]
    script = [
        {"think": "Counting first.", "text": "I count.", "calls": [bash, ["glob", {"pattern": "*"}]]},
        {"calls": [["read", {"file_path": "missing.txt"}]]},
        {"text": "Counted."},
    ]
    run = harness.record("Count.", "Thanks.", script=script)
    assert run.finished == ["completed", "completed"]
    assert derived(run) == [unsigned(request["messages"]) for request in run.requests]
