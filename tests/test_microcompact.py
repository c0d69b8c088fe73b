"""microcompact: NeoCode's own cases (published vectors, and N1 to N16 as its tests tell them), through the reducer."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.sessions import Script

from refold.events import AssistantMessage, Envelope, Opaque, PolicyError, StepStart, Text, ToolUse
from refold.reducer import Dsh, Message, Policy, Reducer, presets, results
from refold.reducer._summaries import SUMMARIZERS, Told
from refold.reducer.how import Summary
from refold.reducer.presets import microcompact, microcompact_neocode

VECTORS = json.loads((Path(__file__).parent / "data/vectors/microcompact.json").read_text())
CLEARED = "[Old tool result content cleared]"
IMAGE = Opaque('{"type":"image","attachment":{"mediaType":"image/png","bytes":97}}')
LONG = "a line of output\n" * 60


class Session(Script):
    """A script of spans, each one assistant message with its results."""

    def __init__(self) -> None:
        super().__init__()
        self.seqs: dict[str, int] = {}
        self.ask()

    def ask(self) -> None:
        if self.turn:
            self.end_turn()
        self.start_turn()

    def span(self, *found: dict[str, Any]) -> None:
        """One step: each result is `name`, `tool`, `text` (or `content`), and what else it has."""
        self.start_step()
        if self.step == 1:
            self.user()
        ids = [result.get("id", f"call-{self._next}-{place}") for place, result in enumerate(found)]
        asked = [result.get("arguments", "{}") for result in found]
        self.answer(*map(ToolUse, ids, [result["tool"] for result in found], asked))
        for id_, arguments, result in zip(ids, asked, found, strict=True):
            cites = self.call(result["tool"], id_, arguments)
            envelope = Envelope(meta=json.dumps(result["meta"])) if "meta" in result else Envelope()
            content = result.get("content") or (Text(result["text"]),)
            error = result.get("error", False)
            self.seqs[result.get("name", result["tool"])] = self.result(
                content, id_, cites, is_error=error, envelope=envelope
            )
        self.end_step()

    def sent(self, policy: Policy) -> tuple[Message, ...]:
        """What the request of the next step would hold."""
        reducer = Reducer(policy, Dsh(4), "derive")
        step = StepStart(self._next, 0, self.turn, self.step + 1)
        return reducer.messages(reducer.fold_all(reducer.start(), (*self.events, step)))

    def shown(self, policy: Policy) -> dict[str, str]:
        """The texts of the results that the next request shows summarised, by name."""
        names = {seq: name for name, seq in self.seqs.items()}
        logged = {event.seq: event for event in self.events}
        cut = [message for message in self.sent(policy) if message != logged[message.seq]]
        return {names[message.seq]: message.content[0].text for message in cut}

    def state(self, policy: Policy) -> dict[str, str]:
        reducer = Reducer(policy, Dsh(4))
        names = {seq: name for name, seq in self.seqs.items()}
        view = reducer.fold_all(reducer.start(), self.events)
        return {names[result.seq]: result.state for result in results(reducer, view) if result.seq in names}


def one(tool: str, text: str, **more: Any) -> dict[str, Any]:
    return {"tool": tool, "text": text, **more}


def read(text: str = "old read result", **more: Any) -> dict[str, Any]:
    return one("filesystem_read_file", text, **more)


NEOCODE = microcompact_neocode(retain=2)
RETAIN_1 = microcompact_neocode(retain=1)


# the published strings


@pytest.mark.parametrize("case", VECTORS["summaries"], ids=lambda case: case["tool"])
def test_a_summariser_called_alone_says_what_neocodes_says(case: dict[str, Any]) -> None:
    by_tool = dict(microcompact_neocode().parts[0].how.by_tool)  # type: ignore[union-attr]
    facts = Told(case["tool"], case["content"], case["metadata"], {}, case["isError"])

    if case["summarizer"] is None:
        assert case["tool"] not in by_tool
    else:
        assert SUMMARIZERS[by_tool[case["tool"]]](facts) == case["summarizer"]


@pytest.mark.parametrize("case", VECTORS["summaries"], ids=lambda case: case["tool"])
def test_an_old_result_becomes_neocodes_summary_of_it(case: dict[str, Any]) -> None:
    session = Session()
    session.span(one(case["tool"], case["content"], meta=case["metadata"], error=case["isError"], name="old"))
    session.span(one("bash", "newer"))
    session.ask()

    assert session.shown(RETAIN_1) == {"old": case["projected"]}


@pytest.mark.parametrize("case", VECTORS["pins"], ids=lambda case: f"{case['tool']} {case['path']}")
def test_what_was_done_to_a_pinned_file_stays(case: dict[str, Any]) -> None:
    session = Session()
    session.span(one(case["tool"], LONG, meta={"path": case["path"]}, name="old"))
    session.span(one("bash", "newer"))
    session.ask()

    assert (session.state(RETAIN_1)["old"] == "pinned") is case["pinned"]
    assert ("old" in session.shown(RETAIN_1)) is not case["pinned"]


# NeoCode's cases


def test_n1_the_newest_spans_stay_whole_and_an_older_one_is_summarised() -> None:
    session = Session()
    session.span(read())
    session.span(one("bash", "recent bash"))
    session.span(one("webfetch", "recent page"))
    session.ask()

    assert session.shown(NEOCODE) == {"filesystem_read_file": "[summary] filesystem_read_file lines=1 chars=15"}


def test_n2_the_tail_from_the_last_user_message_is_no_span_to_retain_or_to_summarise() -> None:
    session = Session()
    session.span(one("filesystem_grep", "a.go:1:x", meta={"root": "/p"}))
    session.span(read())
    session.span(one("bash", "third"))
    session.ask()
    session.span(one("bash", "in the running turn", name="tail"))

    assert session.shown(NEOCODE) == {"filesystem_grep": "[summary] grep root=/p matches=a.go"}


def test_a_long_running_turn_is_protected_whole_until_the_user_speaks_again() -> None:
    session = Session()
    for number in range(9):
        session.span(one("bash", LONG, name=str(number)))
    assert session.shown(NEOCODE) == {}

    session.ask()

    assert sorted(session.shown(NEOCODE)) == [str(number) for number in range(7)]


def test_the_protected_tail_is_the_running_turn_whoever_speaks_in_it() -> None:
    """NeoCode's tail begins with the last user message; here a remark within a turn ends no protection."""
    session = Session()
    session.span(one("bash", LONG, name="old"))
    session.span(one("bash", LONG, name="newer"))
    session.user("and hurry")
    session.span(one("bash", LONG, name="tail"))

    assert session.shown(RETAIN_1) == {}


def test_n3_preserved_failed_orphaned_cleared_and_empty_results_stay() -> None:
    session = Session()
    session.span(one("ask_user", LONG), one("filesystem_edit", LONG, error=True))
    session.span(one("bash", f" {CLEARED}\n", name="cleared"), one("filesystem_glob", "  \n", name="empty"))
    session.start_step()
    session.seqs["orphan"] = session.result(LONG, "nobody-asked", None)
    session.end_step()
    session.span(one("bash", "newer"))
    session.ask()

    assert session.shown(RETAIN_1) == {}
    assert session.state(RETAIN_1)["filesystem_edit"] == "error"
    assert session.state(RETAIN_1)["orphan"] == "tool"


def test_n4_of_one_span_the_preserved_result_and_the_calls_stay() -> None:
    session = Session()
    session.span(read(), one("diagnose", LONG))
    session.span(one("bash", "1"), one("bash", "2"))
    session.ask()

    assert session.shown(RETAIN_1) == {"filesystem_read_file": "[summary] filesystem_read_file lines=1 chars=15"}
    said = [event for event in session.events if isinstance(event, AssistantMessage)]
    assert [message for message in session.sent(RETAIN_1) if isinstance(message, AssistantMessage)] == said


def test_n5_a_tool_that_no_summariser_knows_gets_its_name_and_size() -> None:
    session = Session()
    session.span(one("repo_search", "0123456789 123456789 1"))
    session.span(one("bash", "1"))
    session.span(one("bash", "2"))
    session.ask()

    assert session.shown(NEOCODE) == {"repo_search": "[summary] repo_search lines=1 chars=22"}


def test_n6_spans_with_nothing_to_summarise_use_no_budget() -> None:
    session = Session()
    session.span(read())
    session.span(one("filesystem_grep", "hits"))
    session.span(one("filesystem_edit", "edited", meta={"path": "main.go"}))
    session.span(one("bash", "", error=True))
    session.span(one("webfetch", ""))
    session.ask()

    assert list(session.shown(NEOCODE)) == ["filesystem_read_file"]


def test_n7_a_pinned_span_uses_no_budget_and_stays() -> None:
    session = Session()
    session.span(one("filesystem_write_file", LONG, meta={"path": "/p/README.md"}))
    session.span(one("bash", "1", name="old"))
    session.span(one("bash", "2"))
    session.ask()

    assert list(session.shown(RETAIN_1)) == ["old"]


def test_n8_of_one_span_the_pinned_file_stays_and_the_other_is_summarised() -> None:
    session = Session()
    session.span(
        one("filesystem_write_file", LONG, meta={"path": "README.md"}, name="readme"),
        one("filesystem_write_file", LONG, meta={"path": "main.go", "bytes": "1020"}, name="main"),
        one("filesystem_write_file", LONG, name="unnamed"),
    )
    session.span(one("bash", "newer"))
    session.ask()

    assert session.shown(RETAIN_1) == {
        "main": "[summary] wrote main.go (1020 bytes)",
        "unnamed": "[summary] filesystem_write_file lines=60 chars=1019",
    }


def test_n9_copies_and_moves_of_pinned_files_stay() -> None:
    session = Session()
    session.span(one("filesystem_copy_file", "ok", meta={"source_path": "a", "destination_path": "/p/go.mod"}))
    session.span(
        one("filesystem_move_file", "ok", meta={"source_path": "package.json", "destination_path": "b"}, name="moved")
    )
    session.span(
        one("filesystem_move_file", "ok", meta={"source_path": "main.go", "destination_path": "main2.go"}, name="main")
    )
    session.span(one("bash", "newer"))
    session.ask()

    assert session.shown(RETAIN_1) == {"main": "[summary] filesystem_move_file lines=1 chars=2"}


@pytest.mark.parametrize("said", ["", "\x01\x1f\x7f \n\t"])
def test_n10_a_summariser_with_nothing_to_say_gives_way_to_tool_and_size(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert summarised_as(said, monkeypatch) == "[summary] bash lines=1 chars=6"


def test_n11_a_summary_loses_its_control_characters_and_ends_after_200_code_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert summarised_as("\x02" + "x" * 250 + "\x7f", monkeypatch) == "x" * 200 + "..."
    assert summarised_as("x" * 200, monkeypatch) == "x" * 200
    assert summarised_as("a\tb\nc", monkeypatch) == "abc"


def summarised_as(said: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the next request shows for an old result whose summariser says this."""
    monkeypatch.setattr("refold.reducer.how.SUMMARIZERS", {**SUMMARIZERS, "bash-neocode": lambda facts: said})
    session = Session()
    session.span(one("bash", "output", name="old"))
    session.span(one("read", "newer"))
    session.ask()
    return session.shown(RETAIN_1)["old"]


def test_n12_a_result_of_a_nameless_tool_gets_neocodes_words_where_a_policy_lets_it_be_cut() -> None:
    session = Session()
    session.span(one("", LONG, name="nameless"))
    session.span(one("bash", "newer"))
    session.ask()
    part = RETAIN_1.parts[0]
    anything = type(part.which)(("*",))
    policy = Policy("any", (type(part)("any", part.when, anything, part.ripe, Summary(), True),))

    assert session.shown(policy) == {"nameless": CLEARED}
    assert session.shown(RETAIN_1) == {}, "which call it answers cannot be told, as with an orphan"


def test_n13_a_tool_of_another_server_gets_its_name_and_size() -> None:
    session = Session()
    session.span(one("mcp.github.issue", "first line\nsecond line"))
    session.span(one("bash", "newer"))
    session.ask()

    assert session.shown(RETAIN_1) == {"mcp.github.issue": "[summary] mcp.github.issue lines=2 chars=22"}


@pytest.mark.parametrize("blank", ["", "  "])
def test_n14_neocode_leaves_a_result_with_a_blank_call_id_and_the_plan_knows_it_by_its_seq(blank: str) -> None:
    session = Session()
    session.span(one("bash", LONG, id=blank))
    session.span(one("read", LONG))
    session.ask()

    assert session.shown(RETAIN_1) == {}
    assert session.shown(microcompact(retain=1)) == {"bash": "[summary] bash [exit=0] lines=60 chars=1019"}


@pytest.mark.parametrize("path", ["readme.md", "schema.sql", ".env", "a.schemaX.json"])
def test_n16_pins_are_case_sensitive_and_a_schema_needs_both_dots(path: str) -> None:
    session = Session()
    session.span(one("filesystem_write_file", LONG, meta={"path": path}, name="old"))
    session.span(one("bash", "newer"))
    session.ask()

    assert list(session.shown(RETAIN_1)) == ["old"]


# N15 is the excerpt for memory extraction: tests/test_excerpt.py


# what else the code does


def test_tool_names_are_looked_up_trimmed_and_in_lower_case() -> None:
    session = Session()
    session.span(one(" Spawn_Subagent ", LONG, name="preserved"), one(" Bash ", LONG, name="shell"))
    session.span(one("read", "newer"))
    session.ask()

    assert session.shown(RETAIN_1) == {"shell": "[exit=0] lines=60 chars=1019"}


def test_images_count_as_their_word_and_go_with_the_summary() -> None:
    session = Session()
    session.span({"tool": "browser", "content": (Text("shot: "), IMAGE), "name": "old"})
    session.span(one("bash", "newer"))
    session.ask()
    reducer = Reducer(RETAIN_1, Dsh(4))
    (operation,) = reducer.plan(reducer.fold_all(reducer.start(), session.events))

    assert operation.content == (Text("[summary] browser lines=1 chars=13"),)
    assert operation.dropped == (IMAGE,)


def test_neocode_summarises_even_what_grows_and_the_plan_does_not() -> None:
    session = Session()
    session.span(one("repo_search", "hit", name="small"))
    session.span(one("bash", LONG))
    session.ask()

    assert session.shown(RETAIN_1) == {"small": "[summary] repo_search lines=1 chars=3"}
    assert session.shown(microcompact(retain=1)) == {}
    assert session.state(microcompact(retain=1))["small"] == "no gain"
    assert list(microcompact_neocode().broken) == ["shrink"]
    assert microcompact().broken == {}


def test_a_task_that_is_not_established_is_left_alone() -> None:
    session = Session()
    session.span(read(LONG))
    session.span(one("bash", "newer"))
    session.ask()

    assert session.shown(microcompact_neocode(retain=1, established=False)) == {}


def test_no_number_of_spans_means_neocodes_six_and_the_plan_refuses_it() -> None:
    assert microcompact_neocode(retain=0).parts == microcompact_neocode(retain=6).parts
    with pytest.raises(PolicyError, match="retain: must be a whole number of at least 1"):
        microcompact(retain=0)


# what the plan asked for


@pytest.mark.parametrize(
    ("tool", "more", "summary"),
    [
        ("spawn_subagent", {"arguments": '{"role":"reviewer","goal":"' + "g" * 90 + '"}'}, None),
        ("diagnose", {}, "[summary] diagnose lines=60 chars=1019"),
        ("memo_recall", {}, "[summary] memo recall lines=60 chars=1019"),
        ("todo_write", {}, "[summary] todo_write lines=60 chars=1019"),
        ("codebase_read", {"meta": {"path": "/p/file.go"}}, "[summary] /p/file.go lines=60 chars=1019"),
    ],
)
def test_the_plans_summarisers(tool: str, more: dict[str, Any], summary: str | None) -> None:
    session = Session()
    session.span(one(tool, LONG, **more))
    session.span(one("bash", "newer " * 40))
    session.ask()
    goal = f"[summary] spawn_subagent role=reviewer goal={'g' * 80} lines=60 chars=1019"

    assert session.shown(microcompact(retain=1, preserve=())) == {tool: summary or goal}


def test_a_failed_diagnosis_is_marked_where_a_policy_lets_errors_be_cut() -> None:
    facts = Told("diagnose", "no\nsuch service", {}, {}, is_error=True)

    assert SUMMARIZERS["diagnose"](facts) == "[summary] diagnose [error] lines=2 chars=15"


@pytest.mark.parametrize("tool", ["spawn_subagent", "diagnose", "memo_list", "ask_user"])
def test_the_plan_keeps_what_cannot_be_had_again(tool: str) -> None:
    session = Session()
    session.span(one(tool, LONG))
    session.span(one("bash", LONG))
    session.ask()

    assert session.shown(microcompact(retain=1)) == {}
    assert session.state(microcompact(retain=1))[tool] == "tool"


@pytest.mark.parametrize("tool", ["copy_file", "filesystem_copy_file", "move_file"])
def test_the_plan_pins_copies_and_moves_and_patterns_of_ones_own(tool: str) -> None:
    session = Session()
    session.span(one(tool, LONG, arguments='{"source_path":"x","destination_path":"/p/Cargo.toml"}', name="old"))
    session.span(one("bash", LONG))
    session.ask()

    assert list(session.shown(microcompact(retain=1))) == ["old"]
    assert session.state(microcompact(retain=1, extra_pins=("Cargo.*",)))["old"] == "pinned"


@pytest.mark.parametrize(
    ("text", "more", "status"),
    [
        (LONG, {}, "0"),
        (LONG, {"meta": {"exitCode": 3}}, "3"),
        (LONG + "[exit code: 1]", {}, "1"),
        ("Exit code: 127\n" + LONG, {}, "127"),
        ('{"output":"' + "x" * 300 + '","metadata":{"exit_code":2,"duration_seconds":0.1}}', {}, "2"),
        ("the docs say exit code 5\n".join((LONG, LONG)), {}, "0"),
    ],
)
def test_a_shells_summary_tells_its_exit_status(text: str, more: dict[str, Any], status: str) -> None:
    session = Session()
    session.span(one("bash", text, name="old", **more))
    session.span(one("bash", LONG))
    session.ask()

    assert session.shown(microcompact(retain=1))["old"].startswith(f"[summary] bash [exit={status}] lines=")


def test_both_are_presets_by_name() -> None:
    assert presets.PRESETS["microcompact"]() == microcompact()
    assert presets.PRESETS["microcompact-neocode"]() == microcompact_neocode()
