"""Lines and pages: what is read page by page is the text."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refold.archive.pages import lines_of, page
from refold.reducer._receipt import size_of

UNITS = ("a", "é", "汉", "😀", "\ud800", "\r")
LONG = st.builds(str.__mul__, st.sampled_from(UNITS), st.sampled_from((1999, 2001, 9000)))
TEXTS = st.lists(st.text(max_size=5) | LONG, max_size=4).map("\n".join)


def pages(text: str, limit: int) -> list[str]:
    lines = lines_of(text)
    return [page(lines, first, limit).text for first in range(1, len(lines) + 1, limit)]


@given(TEXTS, st.integers(1, 4))
@example("", 1)
@example("\n\n", 1)
@example("a\n" * 9, 4)
def test_pages_one_behind_the_other_are_the_text(text: str, limit: int) -> None:
    assert "".join(pages(text, limit)) == text


@given(TEXTS)
def test_no_line_is_longer_than_8000_bytes_without_its_end(text: str) -> None:
    assert max(size_of(line.removesuffix("\n")) for line in lines_of(text)) <= 8000


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("a" * 8000, [8000]),
        ("a" * 8001, [8000, 1]),
        ("a" * 8000 + "\n", [8001, 0]),
        ("汉" * 2667, [7998, 3]),  # 8,001 bytes: the code point at the border goes to the second line
        ("a" + "😀" * 2000, [7997, 4]),
        ("x\n" + "a" * 16_001 + "\ny", [2, 8000, 8000, 2, 1]),
    ],
)
def test_a_long_line_counts_as_several(text: str, sizes: list[int]) -> None:
    assert [size_of(line) for line in lines_of(text)] == sizes


def test_short_lines_are_those_between_line_feeds() -> None:
    assert lines_of("a\r\nb\u2028c\n") == ["a\r\n", "b\u2028c\n", ""]


def test_a_page_beyond_the_end_is_empty() -> None:
    beyond = page(lines_of("a\nb"), 5, 2)
    assert (beyond.text, beyond.first, beyond.last, beyond.total) == ("", 5, 2, 2)
