"""Resume, on real DSH logs: a log cut off at a pre-step gives the decisions that a live run made there."""

import os
from pathlib import Path

import pytest

from refold.events import LogError, StepEnd, StepStart, ToolResult, TurnStart
from refold.files import open_log
from refold.reducer import Dsh, Reducer, presets, surface_seqs

FOLDER = Path(os.environ["REFOLD_DATA"])
LOGS = [
    *sorted((FOLDER / "dsh").glob("*.jsonl")),
    Path(__file__).parents[2] / "examples/session.v4.jsonl.zstd",
]


def read(path):
    log = open_log(str(path))
    try:
        return log.version, tuple(log)
    except LogError as refused:
        return log.version, str(refused)


READ = {path: read(path) for path in LOGS}


def scaled():
    return presets.keep3(gate=1, threshold=45, head=4, tail=2, tools=("*",), keep=1)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
@pytest.mark.parametrize("mode", ["commit", "derive", "what-if"])
def test_a_log_cut_off_at_each_pre_step_gives_the_live_decisions(path, mode, record_property):
    version, events = READ[path]
    if isinstance(events, str):
        assert path.name in REFUSED
        return
    for policy in (presets.keep3(), scaled(), presets.round_(), presets.overclock(), presets.debt()):
        reducer = Reducer(policy, Dsh(version), mode)
        live, cuts = reducer.start(), 0
        for place, event in enumerate(events):
            if isinstance(event, StepStart):
                resumed = reducer.fold_all(reducer.start(), events[:place])
                assert resumed == live
                assert reducer.plan(resumed) == reducer.plan(live)
                cuts += len(reducer.plan(live))
            live = reducer.fold(live, event)
        if policy.parts[0].when.__class__.__name__ == "Latch" and mode == "derive":
            record_property(f"{policy.name} {policy.parts[0].when.tokens}", cuts)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_scaled_down_every_log_with_three_or_more_results_has_cuts(path):
    """The gate opens at the first boundary that measures anything, so only what comes later can be cut; a log has a
    cut where a result over 45 code points arrives after that and a step/start follows its first view."""
    version, events = READ[path]
    if isinstance(events, str):
        assert path.name in REFUSED
        return
    reducer = Reducer(scaled(), Dsh(version), "derive")
    view = reducer.fold_all(reducer.start(), events)
    cut = sum(node.cut_by >= 0 for node in view.slots if hasattr(node, "cut_by"))
    born = [event for event in events if isinstance(event, ToolResult) and event.replaces is None]
    assert (cut > 0) is _something_to_cut(events, view), (path.name, len(born), surface_seqs(view))


def _something_to_cut(events, view):
    if view.latch is None:
        return False
    steps = 0
    waiting = {}
    for event in events:
        if isinstance(event, StepStart):
            steps += 1
            if any(steps - born > 1 for born in waiting.values()):
                return True
        elif isinstance(event, ToolResult) and event.replaces is None and event.seq > view.latch.seq:
            chars = sum(len(block.text) for block in event.content if hasattr(block, "text"))
            if chars > 45 and not event.is_error:
                waiting[event.seq] = steps
    return False


def test_boundaries_are_where_latches_open():
    """The scaled-down latch opens at a turn/start or a step/end on every log that it opens on."""
    opened = 0
    for version, events in READ.values():
        if isinstance(events, str):
            continue
        reducer = Reducer(scaled(), Dsh(version), "derive")
        view = reducer.fold_all(reducer.start(), events)
        if view.latch is not None:
            opened += 1
            assert isinstance(next(e for e in events if e.seq == view.latch.seq), TurnStart | StepEnd)
    assert opened >= 10


REFUSED = {
    "dsh_cancel-tool-calls_torn-line.jsonl",
    "dsh_cordis-tool-round_session.jsonl",
    "dsh_live-mode-switching-2026-07-07.session.jsonl",
    "dsh_workspace-edit_version1.jsonl",
}
