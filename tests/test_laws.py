"""The check of a policy: what it reports, and what its sessions hold."""

import msgspec
import pytest

from refold.events import ToolResult, TurnEnd
from refold.law_names import LAW_NAMES
from refold.laws import LAWS, Case, Script, check, checking, play, tally
from refold.laws.numbers import numbers
from refold.laws.script import Ask, Blocked, Call, Overrun, Resume, Step, Words
from refold.laws.sessions import drawn
from refold.reducer import Dsh, Part, Policy, Reducer
from refold.reducer.how import HeadTail, Placeholder
from refold.reducer.presets import PRESETS, keep3, none
from refold.reducer.ripe import KeepLast, Now, Views
from refold.reducer.when import Always, Idle, Pressure
from refold.reducer.which import Which

LARGE = Which(("*",), over_chars=80)
BY_COUNT = Part("last", Always(), LARGE, KeepLast(1), HeadTail(20, 10))
BY_VIEWS = Part("views", Always(), LARGE, Views(1), HeadTail(20, 10))
READ = Call("read", "c1", (Words("x", 200),))


def declared(part: Part, law: str) -> Policy:
    return Policy(part.name, (msgspec.structs.replace(part, broken=((law, "as an example"),)),))


def test_every_law_of_the_design_has_a_check() -> None:
    assert tuple(LAWS) == LAW_NAMES


def test_a_law_declared_broken_has_to_be_broken() -> None:
    assert check(declared(BY_COUNT, "order"), sessions=15, seed=1).laws["order"] == "broken as declared: as an example"

    report = check(declared(BY_VIEWS, "text"), sessions=5, seed=1)
    assert report.laws["text"] == "failed: declared broken (as an example), but held in every session"
    assert not report.ok


def test_a_policy_that_never_acts_is_not_called_lawful_but_vacuous() -> None:
    nothing = Which(("bash",), deny=("*",))
    report = check(Policy("idle", (Part("idle", Always(), nothing, Views(1), HeadTail(20, 10)),)), sessions=10, seed=1)

    assert all(report.laws[law] == "ok" for law in LAW_NAMES)
    assert "none had operations" in report.laws["vacuous"]
    assert not report.ok


def test_a_failed_law_is_reported_with_a_session_that_can_be_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "SHRINKS", 10)
    report = check(Policy("last", (BY_COUNT,)), sessions=15, seed=1)

    assert not report.ok
    assert report.laws["order"].startswith("failed: order: parallel results logged in another order are cut")
    assert "; in the session Script(version=" in report.laws["order"]
    assert "last: 15 sessions, seed 1" in str(report)


def test_the_same_seed_gives_the_same_report_and_another_one_other_sessions() -> None:
    policy = keep3(gate=2000, keep=1, threshold=120, head=40, tail=20)

    reports = [check(policy, sessions=8, seed=seed) for seed in (3, 3, 4)]

    assert reports[0] == reports[1]
    assert reports[0].counts != reports[2].counts


def test_the_numbers_of_a_policy_are_where_its_sessions_turn() -> None:
    known = numbers(keep3())
    assert (8191 in known.small, 8192 in known.small, 8193 in known.large) == (True, True, True)
    assert {99_999, 100_000, 100_001} <= set(known.aims)
    assert (known.wait, known.tools[0], known.others) == (3, "read", ("unlisted",))

    known = numbers(Policy("p", (Part("p", Pressure(500), Which(("[Rr]ead*",)), Now(), Placeholder("x" * 90)),)))
    assert {49_999, 50_000, 50_001} <= set(known.aims)
    assert (90 in known.small, 91 in known.large, known.tools) == (True, True, ("Readx",))

    assert {59_999, 60_000, 60_001} <= set(
        numbers(Policy("p", (Part("p", Idle(60), LARGE, Now(), HeadTail(9, 9)),))).pauses
    )


def kinds(script: Script, mode: str = "derive", policy: Policy | None = None) -> list[str]:
    reducer = Reducer(policy or none(), Dsh(script.version), mode)
    return [event.type for event in play(script, reducer).events]


def test_the_host_logs_a_turn_in_the_order_of_the_harness() -> None:
    step = Step((Words("Hm", 2),), (READ, READ))

    assert kinds(Script(0, acts=(Ask(), step))) == [
        *("turn/start", "step/start", "user/message", "request/header", "assistant/chunk", "assistant/message"),
        *("tool/call", "tool/call", "tool/result", "tool/result", "step/end"),
    ]
    assert kinds(Script(4, acts=(Ask(), msgspec.structs.replace(step, together=False), Step())))[1:] == [
        *("step/start", "system/message", "user/message", "request/header", "assistant/message"),
        *("tool/call", "tool/result", "tool/call", "tool/result", "step/end"),
        *("step/start", "assistant/message", "step/end", "turn/end"),
    ]


def test_the_host_commits_in_the_pre_step_and_behind_an_overflow_before_the_request_is_repeated() -> None:
    now = Policy("p", (Part("p", Always(), LARGE, Now(), HeadTail(20, 10)),))
    seen = Policy("p", (Part("p", Always(), LARGE, Views(1), HeadTail(20, 10)),))
    pair = ["compaction/prune", "tool/result"]

    script = Script(acts=(Step((), (READ,)), Step((), (), failures=(Overrun(),))))

    assert kinds(script, "commit", now)[9:] == [
        *pair,
        "step/start",
        "overflow",
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    assert kinds(script, "commit", seen)[9:] == [
        "step/start",
        "overflow",
        *pair,
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    assert kinds(Script(acts=(Step((), (READ,)), Blocked())), "commit", now)[9:] == [*pair, "turn/end"]


def test_a_harness_that_died_is_resumed_with_what_stood_open_closed() -> None:
    run = play(Script(acts=(Step((), (READ, READ), dies=1), Resume())), Reducer(none(), Dsh(4)))

    closers = run.events[-4:]
    assert [event.type for event in closers] == ["tool/result", "step/end", "turn/end", "session/end-seed"]
    assert isinstance(closers[0], ToolResult)
    assert closers[0].is_error
    assert closers[0].sources == (run.events[7].seq,)
    assert isinstance(closers[2], TurnEnd)
    assert closers[2].reason == "interrupted"


@pytest.mark.parametrize("preset", PRESETS)
def test_every_case_comes_up_for_every_preset_whatever_the_seed(preset: str) -> None:
    policy = PRESETS[preset]()
    for seed in (3, 7):
        cases = [tally.came_up(Case(policy, script)) for script in drawn(policy, 30, seed)]
        counts = {name: sum(case[name] for case in cases) for name in tally.names(policy)}
        assert min(counts.values()) >= 2, counts
        assert not policy.parts or counts["operations"] >= 10
