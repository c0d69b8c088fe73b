"""Shaping the outgoing copy by category: the operations, the moments, the providers' rules, the trace back."""

import json
from typing import Any

import msgspec
import pytest
from tests.sessions import Script

from refold.events import Opaque, PolicyError, Reasoning, RequestHeader, SurfaceRewind, Text, ToolResult, ToolUse
from refold.reducer import Dsh, Reducer, presets
from refold.reducer.how import MARKER
from refold.reducer.wire import (
    ANTHROPIC,
    ANTHROPIC_BOUND,
    DEEPSEEK,
    NEOCODE_TRIM,
    NONE,
    OPENAI,
    PROFILES,
    About,
    Chain,
    Drop,
    Extract,
    Failure,
    HeadTail,
    Inline,
    Originals,
    Profile,
    Shaped,
    Shaping,
    Truncate,
    profile_for,
    shape,
)

NO_POLICY = presets.none()
THOUGHT = "first line\nsecond line\nthird line\nlast line"
SIGNED = Reasoning(THOUGHT, "proof")
HIDDEN = Opaque('{"type":"redacted_thinking","data":"xyz"}')
REASONING = About("reasoning")
RESULT = About("tool_result", "bash")


class Session(Script):
    """A script whose steps say what they are given, call one tool, and get one result."""

    def ask(self, text: str = "go on") -> None:
        if self.turn:
            self.end_turn()
        self.start_turn()
        self.user(text)

    def answers(self, *said: Any, result: str = "ok", arguments: str = "{}") -> int:
        self.start_step()
        seq = self.answer(*said, ToolUse(f"call-{self._next}", "bash", arguments))
        self.result(result, f"call-{self._next - 1}", self.call("bash", f"call-{self._next - 1}", arguments))
        self.end_step()
        return seq

    def shaped(self, shaping: Shaping, profile: Profile = NONE, policy: Any = NO_POLICY) -> Shaped:
        """The request that would come next."""
        reducer = Reducer(policy, Dsh(4), "derive")
        return shape(reducer, reducer.fold_all(reducer.start(), self.events), shaping, profile)

    def at(self, seq: int, *given: Any) -> Any:
        """The content of a message as it is sent, None where it is not."""
        found = [message.content for message in self.shaped(*given).messages if message.seq == seq]
        return found[0] if found else None


def talk(*said: Any, turns: int = 3, **more: Any) -> tuple[Session, int]:
    """A session whose first answer is given, and that went on for some turns."""
    session = Session()
    session.ask()
    seq = session.answers(*said, **more)
    for _ in range(turns):
        session.ask()
        session.answers()
    session.ask()
    return session, seq


def only(category: str, *ops: Any, **ages: int) -> Shaping:
    return Shaping(**{category: Chain(ops, **ages)})


def quoted(char: str, times: int) -> str:
    return '"' + char * times + '"'


# operations


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (43, THOUGHT),
        (42, "first line\nsecond line\nlast line"),
        (32, "first line\nsecond line\nlast line"),
        (31, "first line\nlast line"),
        (20, "first line\nlast line"),
        (19, "first line\n"),
        (11, "first line\n"),
        (10, "first line"),
        (5, "first"),
        (0, ""),
    ],
)
def test_extract_takes_whole_lines_from_both_ends_the_heads_first(most: int, shown: str) -> None:
    assert Extract(most).shaped(THOUGHT, REASONING) == shown
    assert Extract(most).shaped(THOUGHT, RESULT) == shown


def test_extract_cuts_a_single_longer_line_to_its_head_and_stops_at_the_first_line_that_does_not_fit() -> None:
    assert Extract(4).shaped("abcdefgh", REASONING) == "abcd"
    assert Extract(8).shaped("ab\n" + "x" * 20 + "\ncd\nef", REASONING) == "ab\nef"


def test_truncate_keeps_the_head_and_head_tail_marks_its_gap_in_results_alone() -> None:
    text = "a" * 100

    assert Truncate(3).shaped("abcdef", RESULT) == "abc"
    assert HeadTail(2, 3).shaped("ab" + text + "xyz", REASONING) == "abxyz"
    assert HeadTail(2, 3).shaped("ab" + text + "xyz", RESULT) == f"ab{MARKER}xyz"
    assert HeadTail(2, 0).shaped("abcdef", REASONING) == "ab"


def test_inline_replaces_the_first_match_or_every_one() -> None:
    assert Inline(r"\d+").shaped("a1b22", RESULT) == "ab22"
    assert Inline(r"\d+", every=True).shaped("a1b22", RESULT) == "ab"
    assert Inline(r"(\w)=(\w)", r"\2").shaped("a=b c=d", RESULT) == "b c=d"


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        ("(", ""),
        ("a", "\\9"),
        ("a", "\\g<x>"),
        ("a{99999999999999999999}", ""),
        ("(" * 5000 + ")" * 5000, ""),
        (b"a", ""),
    ],
    ids=["open", "group", "named group", "repeats", "nested", "bytes"],
)
def test_an_impossible_pattern_is_refused_when_it_is_made(pattern: Any, replacement: str) -> None:
    with pytest.raises(PolicyError, match=r"Inline\.pattern"):
        Inline(pattern, replacement)


def test_a_replacement_is_a_text() -> None:
    with pytest.raises(PolicyError, match=r"Inline\.replacement: must be a text, got None"):
        Inline("a", None)  # type: ignore[arg-type]


def test_operations_without_their_chain_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"tool_result: must be a Chain of operations, got \(Drop\(\),\)"):
        Shaping(tool_result=(Drop(),))  # type: ignore[arg-type]


@pytest.mark.parametrize("category", ["reasoning", "assistant_text"])
def test_in_the_models_own_voice_inline_may_only_delete(category: str) -> None:
    only(category, Inline("a"))
    only("tool_result", Inline("a", "b"))
    with pytest.raises(PolicyError, match=f"{category}: in the model's own voice"):
        only(category, Inline("a", "b"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Extract(-1),
        lambda: Truncate(-1),
        lambda: HeadTail(1, -1),
        lambda: Chain(after_views=-1),
        lambda: Chain(keep_last=-1),
        lambda: Shaping(keep_spans=-1),
    ],
)
def test_negative_numbers_are_refused(make: Any) -> None:
    with pytest.raises(PolicyError, match="must be a whole number of at least 0"):
        make()


# chains and categories


def test_each_category_has_its_own_chain_and_its_operations_run_in_order() -> None:
    session, seq = talk(
        Reasoning(THOUGHT),
        Text("I shall look at it now"),
        result="r" * 400,
        arguments='{"path":' + quoted("p", 60) + "}",
    )
    shaping = Shaping(
        reasoning=Chain((Extract(31), Truncate(15))),
        tool_result=Chain((HeadTail(100, 100),)),
        tool_arguments=Chain((Truncate(50),)),
        assistant_text=Chain((Inline(" now"),)),
    )

    answer, result = session.shaped(shaping).messages[1:3]

    assert answer.content[:2] == (Reasoning("first line\nlast"), Text("I shall look at it"))
    assert answer.content[2] == ToolUse("call-3", "bash", '{"path":{"omitted_chars":60}}')
    assert result.content == (Text("r" * 100 + MARKER + "r" * 100),)
    assert answer.seq == seq


def test_a_dropped_block_ends_its_chain_and_a_result_keeps_its_place() -> None:
    session, seq = talk(Reasoning(THOUGHT), Text("said"))
    shaping = Shaping(reasoning=Chain((Drop(), Inline("x"))), tool_result=Chain((Drop(),)))
    sent = session.shaped(shaping).messages

    assert session.at(seq, shaping) == (Text("said"), ToolUse("call-3", "bash", "{}"))
    assert [message.content for message in sent if isinstance(message, ToolResult)] == [()] * 4


def test_an_answer_of_which_nothing_is_left_is_not_sent() -> None:
    session = Session()
    session.ask()
    session.start_step()
    seq = session.answer(Reasoning(THOUGHT))
    session.end_step()

    assert session.at(seq, only("reasoning", Drop())) is None


class Raises(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        raise LookupError("no such model")


class GivesBytes(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        return text.encode()  # type: ignore[return-value]


class Inserts(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        return f"[{about.category} of {len(text)}]"


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class RaisesWorse(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        raise Unspeakable


class Quoted(str):
    __slots__ = ()


class GivesItsOwn(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        return Quoted(text[:3])


class Tears(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        return text[:3] + "\ud83d"


class FirstWord(msgspec.Struct, frozen=True):
    def shaped(self, text: str, about: About) -> str | None:
        return text.split(maxsplit=1)[0]


def test_a_hosts_own_operation_runs_and_one_that_fails_is_skipped_and_reported() -> None:
    session, seq = talk(Reasoning(THOUGHT))
    shaped = session.shaped(only("reasoning", Raises(), GivesBytes(), Inserts(), FirstWord()))

    (answer,) = (message for message in shaped.messages if message.seq == seq)
    assert answer.content[0] == Reasoning("first")
    assert shaped.report.failures == (
        Failure(seq, 0, "reasoning", "operation 0 (Raises): LookupError: no such model"),
        Failure(seq, 0, "reasoning", "operation 1 (GivesBytes): gave bytes, not a text or None"),
        Failure(seq, 0, "reasoning", "operation 2 (Inserts): puts text into the model's own voice"),
    )


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (RaisesWorse(), "operation 0 (RaisesWorse): Unspeakable"),
        (GivesItsOwn(), "operation 0 (GivesItsOwn): gave Quoted, not a text or None"),
        (Tears(), "operation 0 (Tears): puts in a lone surrogate, which no provider takes"),
    ],
)
def test_what_no_provider_could_be_sent_is_skipped_and_reported(operation: Any, reason: str) -> None:
    session, _ = talk(result="r" * 400)
    shaped = session.shaped(only("tool_result", operation, Truncate(5)))

    assert shaped.messages[2].content == (Text("rrrrr"),)
    assert shaped.report.failures[0].reason == reason


def test_a_lone_surrogate_that_the_log_holds_is_no_failure() -> None:
    session, _ = talk(Reasoning("\ud83d" + THOUGHT))
    shaped = session.shaped(only("reasoning", Truncate(3)))

    assert shaped.messages[1].content[0] == Reasoning("\ud83dfi")
    assert shaped.report.failures == ()


def test_a_hosts_own_words_may_stand_in_a_tool_result() -> None:
    session, _ = talk(result="r" * 400)

    assert session.shaped(only("tool_result", Inserts())).messages[2].content == (Text("[tool_result of 400]"),)


def test_what_would_not_get_smaller_stays() -> None:
    session, _ = talk(result="r" * 10)
    shaped = session.shaped(only("tool_result", Inserts()))

    assert shaped.report.changes == ()
    assert shaped.messages[2].content == (Text("r" * 10),)


def test_messages_and_blocks_that_are_not_touched_are_the_same_objects() -> None:
    session, seq = talk(Reasoning(THOUGHT), Text("said"))
    reducer = Reducer(NO_POLICY, Dsh(4))
    view = reducer.fold_all(reducer.start(), session.events)
    plain, sent = reducer.messages(view), shape(reducer, view, only("reasoning", Truncate(5))).messages

    for before, after in zip(plain, sent, strict=True):
        assert (before is after) is (before.seq != seq)
        assert all(old is new for old, new in zip(before.content[1:], after.content[1:], strict=True))


class Counted(msgspec.Struct, frozen=True):
    """Notes each text that it is given."""

    seen: list[str]

    def shaped(self, text: str, about: About) -> str | None:
        self.seen.append(text)
        return text[:5]

    def __hash__(self) -> int:
        return id(self.seen)


def test_a_host_that_keeps_what_is_known_has_each_text_worked_on_once_and_the_same_answers() -> None:
    session, _ = talk(Reasoning(THOUGHT), turns=0)
    known: dict[Any, Any] = {}
    once, anew = Counted([]), Counted([])
    for number in range(6):
        session.answers(Reasoning(f"thought number {number}"))
        session.ask()
        reducer = Reducer(NO_POLICY, Dsh(4))
        view = reducer.fold_all(reducer.start(), session.events)
        shaped = shape(reducer, view, only("reasoning", once, GivesBytes(), after_views=1), NONE, known)
        expected = shape(reducer, view, only("reasoning", anew, GivesBytes(), after_views=1))
        assert shaped.messages == expected.messages
        assert [failure.seq for failure in shaped.report.failures] == [each.seq for each in expected.report.failures]

    assert once.seen == [THOUGHT, *(f"thought number {number}" for number in range(5))]
    assert len(anew.seen) == 1 + 2 + 3 + 4 + 5 + 6


def test_what_is_known_of_one_shaping_says_nothing_of_another() -> None:
    session, seq = talk(Reasoning(THOUGHT))
    reducer = Reducer(NO_POLICY, Dsh(4))
    view, known = reducer.fold_all(reducer.start(), session.events), {}
    for shaping, profile, left in (
        (only("reasoning", Truncate(5)), NONE, Reasoning("first")),
        (only("reasoning", Truncate(6)), NONE, Reasoning("first ")),
        (only("reasoning", Drop()), DEEPSEEK, Reasoning(".")),
        (only("reasoning", Drop()), NONE, ToolUse("call-3", "bash", "{}")),
    ):
        sent = shape(reducer, view, shaping, profile, known).messages
        assert next(message.content[0] for message in sent if message.seq == seq) == left


# arguments


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"content":' + quoted("x", 99) + ',"path":"a.py"}', '{"content":{"omitted_chars":99},"path":"a.py"}'),
        (
            '{ "edits": [ {"old" : ' + quoted("é", 30) + ', "n": 1.0}, ' + quoted("y", 30) + " ] }",
            '{ "edits": [ {"old" : {"omitted_chars":30}, "n": 1.0}, {"omitted_chars":30} ] }',
        ),
        ("{" + quoted("k", 99) + ':"short"}', None),
        ('{"a":' + quoted('\\"\\\\', 20) + "}", '{"a":{"omitted_chars":40}}'),
        ('{"a":' + quoted("\\ud83d", 30) + "}", '{"a":{"omitted_chars":30}}'),
        ('{"a":{"omitted_chars":99}}', None),
        (quoted("z", 40), '{"omitted_chars":40}'),
        ("[" + quoted("x", 18) + "," + quoted("y", 19) + "]", "[" + quoted("x", 18) + ',{"omitted_chars":19}]'),
        ('{"n":' + "1" * 5000 + ',"a":' + quoted("x", 40) + "}", '{"n":' + "1" * 5000 + ',"a":{"omitted_chars":40}}'),
        ("{}", None),
        ("", None),
    ],
)
def test_a_value_is_kept_or_replaced_whole_and_all_else_keeps_its_bytes(arguments: str, shown: str | None) -> None:
    session, seq = talk(arguments=arguments)
    shaped = session.shaped(only("tool_arguments", Truncate(15)))

    (answer,) = (message for message in shaped.messages if message.seq == seq)
    assert answer.content[0].arguments == (arguments if shown is None else shown)
    assert shaped.report.failures == ()


@pytest.mark.parametrize(
    "arguments",
    ["*** Begin Patch\n" + "+" * 99, '{"a":NaN,"b":' + quoted("x", 40) + "}", '{"a":' + quoted("x", 40), "[" * 99_999],
    ids=["patch", "NaN", "cut off", "nested"],
)
def test_arguments_that_are_no_json_stay_whole_and_are_reported(arguments: str) -> None:
    session, seq = talk(arguments=arguments)
    shaped = session.shaped(only("tool_arguments", Drop()))

    assert Failure(seq, 0, "tool_arguments", "the arguments are no JSON") in shaped.report.failures
    assert shaped.report.changes == ()


def test_a_call_that_its_provider_signed_keeps_its_arguments() -> None:
    session = Session()
    session.ask()
    session.start_step()
    call = ToolUse("1", "bash", '{"a":' + quoted("x", 99) + "}", '{"thoughtSignature":"abc"}')
    seq = session.answer(call)
    session.end_step()

    assert session.at(seq, only("tool_arguments", Drop())) == (call,)


# moments


def sendings(shaping: Shaping, profile: Profile = NONE, *, turns: bool) -> list[bool]:
    """For the first answer's reasoning: is it whole in each of the requests that follow it?"""
    session = Session()
    session.ask()
    seq = session.answers(Reasoning(THOUGHT))
    whole = []
    for _ in range(5):
        if turns:
            session.ask()
        whole.append(session.at(seq, shaping, profile)[0] == Reasoning(THOUGHT))
        session.answers(Reasoning("hm"))
    return whole


def test_after_n_views_means_sent_whole_n_times() -> None:
    shaping = only("reasoning", Truncate(5), after_views=2)

    assert sendings(shaping, turns=True) == [True, True, False, False, False]
    assert sendings(only("reasoning", Truncate(5)), turns=True) == [False] * 5


def test_keep_last_k_counts_later_entries_of_the_category() -> None:
    shaping = only("reasoning", Truncate(5), keep_last=3)

    assert sendings(shaping, turns=True) == [True, True, True, False, False]


def test_what_was_shaped_stays_so_when_the_newer_entries_are_taken_back() -> None:
    session, seq = talk(Reasoning(THOUGHT), turns=0)
    shaping = only("reasoning", Truncate(5), keep_last=2)
    back_to = session.events[-1].seq
    for _ in range(2):
        session.answers(Reasoning("hm"))
        session.ask()
    assert session.at(seq, shaping)[0] == Reasoning("first")

    session.add(SurfaceRewind, back_to)

    assert session.at(seq, shaping)[0] == Reasoning("first")


def test_results_count_as_newer_ones_whatever_others_make_of_them() -> None:
    session, _ = talk(result="r" * 400, turns=0)
    shaping = only("tool_result", Truncate(5), keep_last=1)
    session.answers()
    newer = next(event for event in reversed(session.events) if isinstance(event, ToolResult))
    assert session.shaped(shaping).messages[2].content == (Text("rrrrr"),)

    rewritten = {"replaces": (newer.seq, newer.seq), "sources": (newer.seq,)}
    session.add(ToolResult, (), newer.turn, newer.step, newer.call_id, **rewritten)

    assert session.shaped(shaping).messages[2].content == (Text("rrrrr"),)


def test_inside_the_running_tool_loop_nothing_is_touched() -> None:
    shaping = only("reasoning", Truncate(5), after_views=1)

    assert sendings(shaping, NONE, turns=False) == [True, False, False, False, False]
    assert sendings(shaping, DEEPSEEK, turns=False) == [True] * 5
    assert sendings(shaping, DEEPSEEK, turns=True) == [True, False, False, False, False]


@pytest.mark.parametrize("profile", [ANTHROPIC, DEEPSEEK, OPENAI])
def test_what_grew_old_inside_a_loop_is_shaped_when_the_next_loop_starts(profile: Profile) -> None:
    session, seq = talk(Reasoning(THOUGHT), turns=0)
    shaping = only("reasoning", Truncate(5), after_views=2)
    for _ in range(5):
        assert session.at(seq, shaping, profile)[0] == Reasoning(THOUGHT)
        session.answers()
    session.ask()

    assert session.at(seq, shaping, profile)[0] == Reasoning("first")


def test_a_remark_in_the_middle_of_a_turn_ends_no_loop() -> None:
    session = Session()
    session.ask()
    seq = session.answers(Reasoning(THOUGHT))
    session.user("and hurry")

    assert session.at(seq, only("reasoning", Drop()), ANTHROPIC)[0] == Reasoning(THOUGHT)


def test_the_request_of_the_open_step_is_that_of_the_pre_step_before_it() -> None:
    session, seq = talk(Reasoning(THOUGHT), turns=1)
    for views in range(5):
        shaping = only("reasoning", Truncate(5), after_views=views)
        before = session.at(seq, shaping)
        step = Session()
        step.events, step._next, step.turn, step.step = list(session.events), session._next, session.turn, session.step
        step.start_step()
        assert step.at(seq, shaping) == before


# providers


def test_where_reasoning_may_not_be_missing_a_stub_of_one_character_is_left() -> None:
    session, seq = talk(Reasoning(THOUGHT), Reasoning("!"), SIGNED)

    assert session.at(seq, only("reasoning", Drop()), DEEPSEEK)[:3] == (Reasoning("."), Reasoning("!"), SIGNED)
    assert session.at(seq, only("reasoning", Extract(0)), DEEPSEEK)[0] == Reasoning(".")
    assert not any(isinstance(block, Reasoning) for block in session.at(seq, only("reasoning", Drop()), ANTHROPIC))


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_signed_block_is_kept_whole_or_dropped_whole(profile: Profile) -> None:
    session, seq = talk(SIGNED, HIDDEN)

    assert session.at(seq, only("reasoning", Truncate(3)), profile)[:2] == (SIGNED, HIDDEN)
    dropped = session.at(seq, only("reasoning", Drop()), profile)
    assert dropped == ((SIGNED, HIDDEN, *dropped[2:]) if profile.stub else dropped[-1:])


def test_a_bound_block_goes_with_a_later_edit_before_it_and_is_counted() -> None:
    session, edited = talk(Text("word " * 50), turns=0)
    signed = session.answers(SIGNED)
    shaping = only("assistant_text", Truncate(10), after_views=2)
    bound = msgspec.structs.replace(ANTHROPIC_BOUND, loop=False)
    assert session.shaped(shaping, bound).report.lost == 0

    session.answers()
    shaped = session.shaped(shaping, bound)

    assert shaped.report.lost == 1
    assert [(change.seq, change.shaped) for change in shaped.report.changes] == [
        (edited, Text("word word ")),
        (signed, None),
    ]


def test_an_edit_that_a_bound_block_was_written_behind_leaves_it_valid() -> None:
    session, _ = talk(Text("word " * 50), turns=1)
    session.answers(SIGNED)
    session.ask()
    shaped = session.shaped(only("assistant_text", Truncate(10)), ANTHROPIC_BOUND)

    assert shaped.report.lost == 0
    assert [change.shaped for change in shaped.report.changes] == [Text("word word ")]


def test_a_later_system_text_takes_the_bound_blocks_behind_it_along() -> None:
    session = Session()
    session.add(RequestHeader, "Be brief.")
    session.ask()
    session.answers(SIGNED)
    session.ask()
    assert session.shaped(Shaping(), ANTHROPIC_BOUND).report.lost == 0

    session.add(RequestHeader, "Be long.")

    assert session.shaped(Shaping(), ANTHROPIC_BOUND).report.lost == 1


def test_a_profile_may_move_the_edit_or_refuse_instead() -> None:
    session, seq = talk(Text("word " * 50), turns=0)
    signed = session.answers(SIGNED)
    session.answers()
    session.ask()
    shaping = only("assistant_text", Truncate(10), after_views=2)

    moved = session.shaped(shaping, msgspec.structs.replace(ANTHROPIC_BOUND, bound="move"))
    assert (moved.report.lost, moved.report.put_off, moved.report.changes) == (0, 1, ())
    with pytest.raises(
        PolicyError, match=f"bound: profile anthropic-bound: the reasoning in message {signed} is bound"
    ):
        session.shaped(shaping, msgspec.structs.replace(ANTHROPIC_BOUND, bound="refuse"))
    assert session.at(seq, shaping, ANTHROPIC_BOUND)[0] == Text("word word ")


@pytest.mark.parametrize("bound", ["move", "refuse"])
def test_a_surface_policy_beside_bound_blocks_is_refused_unless_they_may_be_dropped(bound: Any) -> None:
    session, _ = talk(SIGNED)
    profile = msgspec.structs.replace(ANTHROPIC_BOUND, bound=bound)

    with pytest.raises(PolicyError, match="profile: profile anthropic-bound binds reasoning to its prefix, and policy"):
        session.shaped(Shaping(), profile, presets.keep3())
    assert session.shaped(Shaping(), profile).report.lost == 0
    assert session.shaped(Shaping(), ANTHROPIC_BOUND, presets.keep3()).report.lost == 0


def test_a_cut_of_the_surface_takes_the_bound_blocks_behind_it_along() -> None:
    session = Session()
    session.ask()
    session.answers(result="r" * 4000)
    blocks = [session.answers(SIGNED) for _ in range(3)]
    policy = presets.keep3(gate=0, keep=3, threshold=200, head=50, tail=50, tools=("bash",))
    session.start_step()
    shaped = session.shaped(Shaping(), ANTHROPIC_BOUND, policy)

    cut = next(message for message in shaped.messages if isinstance(message, ToolResult))
    assert len(cut.content[0].text) == 139
    assert shaped.report.lost == 3
    assert [change.seq for change in shaped.report.changes] == blocks
    assert session.shaped(Shaping(), ANTHROPIC, policy).report.changes == ()


def test_a_model_finds_its_profile_by_name() -> None:
    names = {
        "claude-fable-5-1-20260901": "anthropic-bound",
        "anthropic/claude-mythos-5.2": "anthropic-bound",
        "claude-sonnet-4-5": "anthropic",
        "claude-fable-5": "anthropic",
        "deepseek-v4-flash": "deepseek",
        "gpt-5.1-codex": "openai",
        "llama-4": "none",
        "": "none",
    }

    assert {model: profile_for(model).name for model in names} == names


# whole messages


def test_neocodes_trim_keeps_the_newest_24_spans_and_the_running_turn() -> None:
    session = Session()
    for _ in range(30):
        session.ask()
        session.answers()
    session.ask()
    shaped = session.shaped(NEOCODE_TRIM)

    # Of 30 turns of two spans, and the last question: 12 answers with their results, 11 questions, and the last one.
    roles = [message.role for message in shaped.messages]
    assert roles == ["assistant", "tool", "user"] * 12
    assert len(shaped.report.trimmed) == 19 + 2 * 18


def test_the_trim_never_cuts_into_the_running_turn() -> None:
    session = Session()
    session.ask("old")
    session.answers()
    session.ask("new")
    for _ in range(40):
        session.answers()
    shaped = session.shaped(NEOCODE_TRIM)

    assert len(shaped.report.trimmed) == 3
    assert shaped.messages[0].content == (Text("new"),)


# originals


def test_every_shaped_entry_can_be_traced_to_its_original_and_each_pair_is_held_once() -> None:
    session, seq = talk(Reasoning(THOUGHT), SIGNED, result="r" * 400)
    shaping = Shaping(reasoning=Chain((Truncate(5),)), tool_result=Chain((HeadTail(10, 10),)))
    table = Originals()
    for _ in range(4):
        shaped = session.shaped(shaping)
        table = table.noted(shaped.report)
        session.answers(Reasoning("first things first"))

    originals = {(change.seq, change.index): change.original for change in shaped.report.changes}
    assert originals[seq, 0] == Reasoning(THOUGHT)
    logged = {message.seq: message for message in session.events if hasattr(message, "content")}
    assert all(logged[at].content[index] is block for (at, index), block in originals.items())
    assert table.of(Reasoning("first")) == (Reasoning(THOUGHT), Reasoning("first things first"))
    assert table.of(Text("r" * 10 + MARKER + "r" * 10)) == (Text("r" * 400),)
    assert len(table) == 3
    assert table.of(Reasoning("never shaped")) == ()


# files


def test_a_shaping_and_a_profile_can_stand_in_a_file() -> None:
    shaping = Shaping(
        Chain((Extract(200), Inline("a")), 1, 2), Chain((HeadTail(1, 2),)), Chain((Drop(),)), keep_spans=3
    )
    text = msgspec.json.encode(shaping)

    assert msgspec.json.decode(text, type=Shaping) == shaping
    assert json.loads(text)["reasoning"]["ops"][0] == {"type": "Extract", "max_chars": 200}
    assert msgspec.json.decode(msgspec.json.encode(ANTHROPIC_BOUND), type=Profile) == ANTHROPIC_BOUND
    with pytest.raises(msgspec.ValidationError, match="unknown field `maxChars`"):
        msgspec.json.decode(
            b'{"type":"Shaping","reasoning":{"type":"Chain","ops":[{"type":"Extract","maxChars":1}]}}', type=Shaping
        )
