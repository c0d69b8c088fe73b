"""The excerpt for memory extraction: NeoCode's N15, and the error in the middle that its own excerpt misses."""

import pytest

from refold.events import PolicyError
from refold.excerpt import CUT, excerpt, memo

MARK = "\n...[truncated]...\n"
FATAL = "ld: error: undefined reference to `refold_start'"


def build_log(lines: int, at: int) -> str:
    told = [f"[{number:4}/{lines}] CC src/error.o build/module_{number}.c -Werror" for number in range(1, lines + 1)]
    told[at - 1] = FATAL
    return "\n".join(told)


def test_n15_exactly_600_code_points_are_untouched_and_601_are_cut() -> None:
    whole = "a" * 300 + "b" * 300

    assert excerpt(whole) == whole
    assert excerpt(whole[:300] + "-" + whole[300:]) == "a" * 300 + MARK + "b" * 300


def test_n15_a_cut_text_stands_in_the_frame_and_a_whole_one_does_not() -> None:
    cut = "a" * 300 + MARK + "b" * 300
    about = "tool result\ntool: bash\nstatus: ok"

    assert memo("x" * 600) == "x" * 600
    framed = "content_excerpt:\n" + cut + "\n[content truncated for memo extraction]"
    assert memo("a" * 300 + "-" + "b" * 300) == framed
    assert memo("a" * 300 + "-" + "b" * 300, about) == f"{about}\n{framed}"
    assert memo("short\n", about) == f"{about}\ncontent_excerpt:\nshort"
    assert memo(" \n", about) == about


def test_length_is_counted_in_code_points() -> None:
    assert excerpt("😀" * 600) == "😀" * 600
    assert excerpt("😀" * 601) == "😀" * 300 + MARK + "😀" * 300


def test_a_fatal_line_at_2800_of_3000_is_in_the_excerpt() -> None:
    log = build_log(3000, 2800)
    shown = excerpt(log)

    assert FATAL in shown
    assert shown == log[:300] + MARK + FATAL + MARK + log[-300:]


def test_file_names_and_flags_are_no_errors() -> None:
    log = build_log(3000, 2800).replace(FATAL, "errors_test.c: ok, error-free, error.c built")

    assert excerpt(log) == log[:300] + MARK + log[-300:]


def test_of_many_failures_the_last_ones_stay_in_order() -> None:
    lines = [f"Error {number:03}: " + "x" * 89 for number in range(100)]
    log = "\n".join(["-" * 400, *lines, "-" * 400])
    kept = excerpt(log).removeprefix("-" * 300 + MARK).removesuffix(MARK + "-" * 300)

    assert kept == "\n".join(lines[98:])


def test_a_single_longer_failure_is_cut_to_its_head() -> None:
    failure = "fatal: " + "y" * 1000
    log = f"{'-' * 400}\n{failure}\n{'-' * 400}"

    assert excerpt(log) == "-" * 300 + MARK + failure[:300] + MARK + "-" * 300


def test_where_the_failures_leave_nothing_to_cut_the_text_stays_whole() -> None:
    log = "-" * 300 + "\nerror: disk full, of all things\n" + "-" * 300

    assert excerpt(log) == log


def test_without_room_for_them_the_excerpt_is_neocodes() -> None:
    log = build_log(3000, 2800)

    assert excerpt(log, telling=0) == log[:300] + CUT + log[-300:]


def test_both_ends_may_be_empty() -> None:
    assert excerpt("abc", head=0, tail=0) == CUT
    assert excerpt("abc", head=1, tail=0) == "a" + CUT
    assert excerpt("abc", head=0, tail=1) == CUT + "c"


@pytest.mark.parametrize("field", ["head", "tail", "telling"])
def test_a_negative_number_is_refused_by_name(field: str) -> None:
    with pytest.raises(PolicyError, match=f"{field}: must be at least 0, got -1"):
        excerpt("text", **{field: -1})
