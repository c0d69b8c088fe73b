"""Shaping the outgoing copy by category: arguments, the moments, the providers' rules, the trace back."""

import json
from typing import Any

import msgspec
import pytest
from tests.shaping_sessions import THOUGHT, Session, only, quoted, talk

from refold.events import Opaque, PolicyError, Reasoning, RequestHeader, SurfaceRewind, Text, ToolResult, ToolUse
from refold.reducer import presets
from refold.reducer.how import MARKER
from refold.reducer.wire import (
    ANTHROPIC,
    ANTHROPIC_BOUND,
    DEEPSEEK,
    NEOCODE_TRIM,
    NONE,
    OPENAI,
    PROFILES,
    Chain,
    Drop,
    Extract,
    Failure,
    HeadTail,
    Inline,
    Originals,
    Profile,
    Shaping,
    Truncate,
    profile_for,
)

SIGNED = Reasoning(THOUGHT, "proof")
HIDDEN = Opaque('{"type":"redacted_thinking","data":"xyz"}')


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
