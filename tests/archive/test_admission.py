"""Admission: whole receipts, what is folded from the log, and what a prompt is spared."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.archive.logs import Log

from refold.archive import Archive, Origin, Receipts, Rules, admit, receipt
from refold.archive.keeper import Keeper, admitted
from refold.events import PolicyError, Text, ToolResult
from refold.reducer import Dsh, Reducer, presets
from refold.reducer._receipt import hint_of, preview, receipted_name, size_of

BASH = Origin(1, 2, 1, "bash", "call_ab12", '{"command":"npm   test\\n"}')
GREP = Origin(1, 2, 3, "grep", "call_ab12", '{"pattern":"TODO"}')
LINES = "\n".join(f"line number {number:04d}" for number in range(100))


def test_a_shell_shows_its_last_lines_behind_the_word_on_what_is_left_out() -> None:
    assert receipt(BASH, LINES, root="/home/x/tool-result-logs/") == (
        "[bash · npm test · 1,699 字节 / 100 行 → 全文已落盘，此处是尾部 17 行]\n"
        "路径：/home/x/tool-result-logs/results/t0001-s0002-01-bash-call_ab12.txt\n"
        "……（中间省略 83 行，共 100 行）\n" + "\n".join(LINES.split("\n")[-17:])
    )


def test_other_tools_show_their_first_lines_before_it() -> None:
    assert receipt(GREP, LINES, root=None) == (
        "[grep · TODO · 1,699 字节 / 100 行 → 全文已落盘，此处是开头 17 行]\n"
        "路径：results/t0001-s0002-03-grep-call_ab12.txt\n"
        + "\n".join(LINES.split("\n")[:17])
        + "\n……（中间省略 83 行，共 100 行）"
    )


def test_a_receipt_in_english() -> None:
    assert receipt(GREP, LINES, root=None, lang="en") == (
        "[grep · TODO · 1,699 bytes / 100 lines → full text on disk, here: first 17 lines]\n"
        "Path: results/t0001-s0002-03-grep-call_ab12.txt\n"
        + "\n".join(LINES.split("\n")[:17])
        + "\n…… (83 of 100 lines left out)"
    )


def test_one_long_line_is_clipped_and_says_so() -> None:
    shown = receipt(Origin(1, 1, 1, "web_fetch", "c"), "汉" * 2000, root=None).split("\n")
    assert shown[0] == "[web_fetch · 6,000 字节 / 1 行 → 全文已落盘，此处是开头 1 行]"
    assert shown[2:] == ["汉" * 100, "……（该行过长，此处仅显示开头 300 字节 / 共 6,000 字节）"]


def test_a_long_last_line_is_shown_though_a_line_end_follows() -> None:
    shown = preview("x" * 5000 + "\n", 300, from_end=True)
    assert (shown.text, shown.lines, shown.total, shown.clipped) == ("x" * 299 + "\n", 2, 2, True)


@given(st.text(), st.integers(0, 40), st.booleans())
def test_a_preview_is_never_longer_than_its_budget(text: str, budget: int, from_end: bool) -> None:
    shown = preview(text, budget, from_end)
    assert size_of(shown.text) <= budget
    assert text.endswith(shown.text) if from_end else text.startswith(shown.text)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ('{"command":"git\\n  status"}', "git status"),
        ('{"path":"b","file_path":"a"}', "a"),
        ('{"query":"  ","url":"http://x"}', "http://x"),
        ('{"todos":[]}', ""),
        ("", ""),
        ("not  json", "not json"),
        ('{"command":"' + "漢" * 80 + '"}', "漢" * 60),
        ("[" * 100_000, "[" * 60),
    ],
)
def test_the_hint_says_what_was_asked(arguments: str, hint: str) -> None:
    assert hint_of(arguments) == hint


def test_admission_writes_nothing_and_reads_only_what_it_is_given() -> None:
    log = Log()
    log.turn()
    log.step(("bash", "{}", "c"))
    result = log.next_result("x" * 2000, "c")
    given = (log.view(), result, log.receipts(Rules()), Rules())
    assert admit(*given) == admit(*given)
    admission = admit(*given)
    assert admission is not None
    assert admission.original.text == "x" * 2000
    assert admission.result == ToolResult(
        result.seq, result.time, admission.result.content, 1, 1, "c", False, result.envelope
    )


def test_the_receipts_of_a_resumed_session_are_those_of_the_live_one() -> None:
    log, live = Log(), Receipts()
    log.turn()
    for path in ("a.py", "b.py", "a.py"):
        log.step(("read", json.dumps({"file_path": path}), path))
        result = log.next_result("x" * 2000, path)
        admission = admit(log.view(), result, log.receipts(Rules(cwd="/p")), Rules(cwd="/p"))
        log.events.append(admission.result if admission else result)
    for event in log.events:
        live = live.fold(event, Rules(cwd="/p"))
    assert live == log.receipts(Rules(cwd="/p"))
    assert live.paths == {"/p/a.py", "/p/b.py"}
    whole = [event.content == (Text("x" * 2000),) for event in log.events if isinstance(event, ToolResult)]
    assert whole == [False, False, True]


def test_a_receipt_that_is_quoted_is_none() -> None:
    own = (Text(receipt(GREP, LINES, root="/r")),)
    assert receipted_name(GREP, own) == "results/t0001-s0002-03-grep-call_ab12.txt"
    assert receipted_name(Origin(1, 2, 9, "grep", "call_ab12"), own) is not None, "its place may have been taken"
    assert receipted_name(Origin(1, 3, 3, "grep", "call_ab12"), own) is None
    assert receipted_name(Origin(1, 2, 3, "read", "call_ab12"), own) is None
    assert receipted_name(Origin(1, 2, 3, "grep", "call_other"), own) is None
    assert receipted_name(GREP, (Text("as I said:\n" + own[0].text),)) is None
    assert receipted_name(GREP, (*own, Text("more"))) is None


@pytest.mark.parametrize("lang", ["zh", "en"])
@given(
    tool=st.text(max_size=20),
    call_id=st.text(max_size=20),
    arguments=st.builds(json.dumps, st.dictionaries(st.sampled_from(("command", "url")), st.text())),
    text=st.text(min_size=1),
    root=st.sampled_from((None, "/r", "/r/results/x/", "C:/r")),
)
def test_every_receipt_is_known_for_one(
    lang: str, tool: str, call_id: str, arguments: str, text: str, root: str | None
) -> None:
    origin = Origin(3, 2, 1, tool, call_id, arguments)
    shown = receipt(origin, text, root=root, lang=lang)  # type: ignore[arg-type]
    assert receipted_name(origin, (Text(shown),)) is not None


def test_a_name_that_is_taken_moves_the_receipt_on(tmp_path: Path) -> None:
    log = Log()
    log.turn()
    log.step(("bash", "{}", ""))
    texts = []
    for text in ("first try " * 300, "second try " * 300):
        result = log.next_result(text, "")
        logged, _ = admitted(Keeper(tmp_path), log.view(), result, log.receipts(Rules()), Rules())
        texts.append(logged.content[0].text.split("\n")[1])  # type: ignore[union-attr]
    assert texts == ["路径：results/t0001-s0001-01-bash-.txt", "路径：results/t0001-s0001-02-bash-.txt"]
    assert Archive(tmp_path).text("results/t0001-s0001-01-bash-.txt") == "first try " * 300


def test_a_session_with_admission_only_ever_grows_its_prompt() -> None:
    """What the log holds is what is sent: no prompt changes what an earlier one had."""
    log = Log()
    reducer = Reducer(presets.none(), Dsh(4))
    sent: list[tuple[object, ...]] = []
    for turn in range(3):
        log.turn()
        for step in range(3):
            log.step(("bash", "{}", f"{turn}{step}"))
            sent.append(reducer.messages(reducer.fold_all(reducer.start(), log.events)))
            result = log.next_result("x" * (400 * step + 900), f"{turn}{step}")
            admission = admit(log.view(), result, log.receipts(Rules()), Rules())
            log.events.append(admission.result if admission else result)
    for shorter, longer in pairwise(sent):
        assert longer[: len(shorter)] == shorter


@pytest.mark.parametrize("field", ["over_bytes", "preview_bytes"])
def test_impossible_rules_are_refused(field: str) -> None:
    with pytest.raises(PolicyError, match=f"{field}: must be at least 0 bytes, got -1"):
        Rules(**{field: -1})
