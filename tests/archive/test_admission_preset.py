"""The preset `admission`: on a log that knew no admission it makes the receipts that `admit` would have logged."""

import json
from pathlib import Path

import pytest
from tests.archive.logs import Log

from refold.archive import Receipts, Rules, admit
from refold.events import Block, Event, Opaque, PolicyError, StepStart, Text, ToolResult
from refold.files import open_log
from refold.reducer import Dsh, Part, Reducer, presets, results, ripe
from refold.reducer.presets import admission

EXAMPLE = Path(__file__).parents[2] / "examples" / "session.v4.jsonl.zstd"
LONG = "line of output\n" * 100  # 1,500 bytes


def admitted_live(events: tuple[Event, ...], rules: Rules) -> dict[int, tuple[Block, ...]]:
    """What a host that asks `admit` before each result would have logged for it."""
    reducer, receipts = Reducer(presets.none(), Dsh(4)), Receipts()
    view, logged = reducer.start(), {}
    for event in events:
        if isinstance(event, ToolResult):
            found = admit(view, event, receipts, rules)
            event = found.result if found else event
            logged[event.seq] = event.content
        view, receipts = reducer.fold(view, event), receipts.fold(event, rules)
    return logged


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_on_the_recorded_session_preset_and_admit_agree_on_every_result(lang: str) -> None:
    events = tuple(open_log(EXAMPLE))
    policy = admission(lang=lang, cwd="/workspace", root="/r")  # type: ignore[arg-type]
    reducer = Reducer(policy, Dsh(4), "what-if")
    view = reducer.fold_all(reducer.start(), (*events, StepStart(len(events), 0, 9, 1)))

    shown = {one.seq: one.content for one in reducer.messages(view) if isinstance(one, ToolResult)}

    live = admitted_live(events, Rules(lang=lang, root="/r", cwd="/workspace"))  # type: ignore[arg-type]
    whole = {event.seq: event.content for event in events if isinstance(event, ToolResult)}
    assert shown == live
    assert sum(live[seq] != whole[seq] for seq in live) == 26
    again = [seq for seq in live if live[seq] == whole[seq] and len(str(whole[seq])) > 9_000]
    assert len(again) == 4, "big.txt is read in each of five turns, and put on disk in the first"


def test_what_the_model_was_sent_whole_is_never_cut_and_its_file_may_still_be_put_on_disk_when_it_is_read_anew() -> (
    None
):
    """The policy is switched on in mid-session: until then nobody had committed anything."""
    log = Log()
    log.turn()
    log.called("read", LONG, "a", file_path="a.txt")
    log.step()
    reducer = log.reducer(admission())
    assert reducer.plan(log.view(admission())) == ()
    assert [one.state for one in results(reducer, log.view(admission()))] == ["seen"]

    second = log.called("read", LONG, "b", file_path="a.txt")
    log.end_step()
    planned = [operation.seq for operation in reducer.plan(log.view(admission()))]

    assert planned == [second.seq]


def test_a_file_is_put_on_disk_once_even_if_one_step_reads_it_twice() -> None:
    log = Log()
    log.turn()
    log.step(*(("read", json.dumps({"file_path": path}), path) for path in ("a.txt", "./a.txt", "b.txt")))
    seqs = [log.result(LONG, path).seq for path in ("a.txt", "./a.txt", "b.txt")]
    reducer, view = log.reducer(admission()), log.view(admission())

    assert [operation.seq for operation in reducer.plan(view)] == [seqs[0], seqs[2]]
    assert [one.state for one in results(reducer, view)] == ["due", "seen", "due"]


IMAGE = Opaque('{"type":"image"}')


@pytest.mark.parametrize(
    ("tool", "content", "arguments", "is_error", "cut"),
    [
        ("bash", "x" * 1024, {}, False, False),
        ("bash", "x" * 1025, {}, False, True),
        ("bash", "漢" * 342, {}, False, True),  # 1,026 bytes
        ("bash", LONG, {}, True, False),
        ("bash", (Text(LONG), IMAGE), {}, False, False),
        ("bash", (Text(LONG[:900]), Text(LONG[900:])), {}, False, True),
        ("read_tool_result_log", LONG, {}, False, False),
        ("read", LONG, {"file_path": "/x/tool-result-logs/results/t.txt"}, False, False),
        ("read", LONG, {"file_path": "/x/tool-result-logs.txt"}, False, True),
        ("grep", LONG, {"file_path": "/x/tool-result-logs/results/t.txt"}, False, True),
    ],
)
def test_what_passes_through(
    tool: str, content: str | tuple[Block, ...], arguments: dict[str, str], is_error: bool, cut: bool
) -> None:
    log = Log()
    log.turn()
    log.step((tool, json.dumps(arguments), "c"))
    view, result = log.view(), log.next_result(content, "c", is_error)
    live = admit(view, result, log.receipts(Rules()), Rules())
    log.events.append(result)

    planned = log.reducer(admission()).plan(log.view(admission()))

    assert bool(planned) == bool(live) == cut
    assert [operation.content for operation in planned] == [live.result.content for live in [live] if live]


def test_what_a_model_has_been_sent_stands_in_every_later_prompt() -> None:
    reducer = Reducer(admission(), Dsh(4), "derive")
    view, sent, cuts = reducer.start(), (), []
    for event in open_log(EXAMPLE):
        view = reducer.fold(view, event)
        if isinstance(event, StepStart):
            cuts += view.enforced
            shown = reducer.messages(view)
            assert shown[: len(sent)] == sent
            sent = shown
    assert len(cuts) == 26


def test_unseen_cannot_be_one_of_two_ways_to_be_ripe() -> None:
    part = admission().parts[0]
    both = ripe.AllRipe((ripe.Unseen(), ripe.KeepResults(1)))
    assert Part("p", part.when, part.which, both, part.how).ripe == both
    with pytest.raises(PolicyError, match="ripe: Unseen joins others with & alone"):
        Part("p", part.when, part.which, ripe.AnyRipe((ripe.Unseen(), ripe.Turns(1))), part.how)
