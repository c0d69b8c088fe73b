"""Lines and pages of a text. Pages of one text, put one behind the other, are that text."""

import msgspec

LONGEST = 8_000
"""A line of more UTF-8 bytes counts as several of at most so many."""


class Page(msgspec.Struct, frozen=True):
    """The lines `first` to `last` (from 1, both included) of the `total` of a text, as they stand in it, with the line
    ends between them and after the last, where it has one. `last` is less than `first` where the text ends before."""

    text: str
    first: int
    last: int
    total: int


def lines_of(text: str) -> list[str]:
    """The text's lines, each with its "\\n"; a long one in pieces, never cut inside a code point."""
    whole = text.split("\n")
    lines: list[str] = []
    for line in whole[:-1]:
        lines += _pieces(line)
        lines[-1] += "\n"
    return lines + _pieces(whole[-1])


def page(lines: list[str], offset: int = 1, limit: int | None = None) -> Page:
    """At most `limit` lines from line `offset` on; both at least 1."""
    last = len(lines) if limit is None else min(offset + limit - 1, len(lines))
    return Page("".join(lines[offset - 1 : last]), offset, last, len(lines))


def _pieces(line: str) -> list[str]:
    if len(line) <= LONGEST // 4:
        return [line]
    data = line.encode("utf-8", "surrogatepass")
    pieces, start = [], 0
    while len(data) - start > LONGEST:
        end = start + LONGEST
        while data[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(data[start:end].decode("utf-8", "surrogatepass"))
        start = end
    return [*pieces, data[start:].decode("utf-8", "surrogatepass")]
