"""What is done to one text of the outgoing copy: the operations a chain is made of.

An operation gives the new text, or None to take the block away. In the model's own voice (reasoning, assistant text)
nothing may be put in: a model copies whatever marker it finds in its own words (measured by the authors of
dsh-entry-shaper: 179 of 191 reasoning blocks came in the shape of an earlier `[reasoning extract: N chars omitted]`).
"""

import re
from typing import ClassVar, Literal, Protocol

import msgspec

from refold.events import PolicyError
from refold.events._json import LONE
from refold.reducer._checks import whole_number
from refold.reducer.how import MARKER

Category = Literal["reasoning", "tool_result", "tool_arguments", "assistant_text"]

CATEGORIES: tuple[Category, ...] = ("reasoning", "tool_result", "tool_arguments", "assistant_text")

OWN_VOICE: frozenset[Category] = frozenset(("reasoning", "assistant_text"))


class About(msgspec.Struct, frozen=True):
    """What an operation may know of its text: the category, and the tool's name where it has one.

    Neither seq nor time: equal texts are shaped equally, wherever and whenever they stand.
    """

    category: Category
    tool: str = ""


class Op(Protocol):
    """A host's own operation is a frozen msgspec Struct that answers this, and answers the same each time."""

    def shaped(self, text: str, about: About) -> str | None: ...


class Extract(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Whole lines from both ends, alternately, the head's first, until the next would not fit `max_chars`.

    Where not even the first line fits, that line is cut to its head. Nothing tells of the gap.
    """

    max_chars: int
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number("Extract.max_chars", self.max_chars, 0)

    def shaped(self, text: str, about: About) -> str | None:
        if len(text) <= self.max_chars:
            return text
        lines = re.findall("[^\n]*\n|[^\n]+", text)
        if len(lines[0]) > self.max_chars:
            return text[: self.max_chars]
        head, tail, left = 0, len(lines), self.max_chars
        while head < tail:
            from_head = head <= len(lines) - tail
            line = lines[head if from_head else tail - 1]
            if len(line) > left:
                break
            left -= len(line)
            head, tail = (head + 1, tail) if from_head else (head, tail - 1)
        return "".join(lines[:head] + lines[tail:])


class Truncate(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """The first `max_chars` code points, and nothing that tells of the rest: HeadTail(n, 0) tells it in a result."""

    max_chars: int
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number("Truncate.max_chars", self.max_chars, 0)

    def shaped(self, text: str, about: About) -> str | None:
        return text[: self.max_chars]


class HeadTail(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """The first `head` and the last `tail` code points; in a tool result with DSH's marker between."""

    head: int
    tail: int
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number("HeadTail.head", self.head, 0)
        whole_number("HeadTail.tail", self.tail, 0)

    def shaped(self, text: str, about: About) -> str | None:
        marker = MARKER if about.category == "tool_result" else ""
        if len(text) <= self.head + len(marker) + self.tail:
            return text
        return text[: self.head] + marker + text[len(text) - self.tail :]


class Drop(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """The block goes."""

    revision: ClassVar[int] = 1

    def shaped(self, text: str, about: About) -> str | None:
        return None


class Inline(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Python's regular expression: its first match, or `every` one, is replaced, by default deleted.

    In the model's own voice it may only delete. Raises PolicyError for a pattern or replacement that is none. A pattern
    that can match one text in very many ways, like `(a+)+$`, may take longer than anyone waits: no clock stops it here,
    and possessive repeats, `(?:a++)++$`, do not have that fault.
    """

    pattern: str
    replacement: str = ""
    every: bool = False
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for field, value in (("pattern", self.pattern), ("replacement", self.replacement)):
            if not isinstance(value, str):
                raise PolicyError(f"must be a text, got {value!r}", field=f"Inline.{field}")
        try:
            re.compile(self.pattern).sub(self.replacement, "")
        except (re.error, IndexError, OverflowError, RecursionError) as error:
            raise PolicyError(
                f"{self.pattern[:80]!r} with {self.replacement[:80]!r}: {error}", field="Inline.pattern"
            ) from None

    def shaped(self, text: str, about: About) -> str | None:
        return re.sub(self.pattern, self.replacement, text, count=0 if self.every else 1)


OpRule = Extract | Truncate | HeadTail | Drop | Inline


def run(ops: tuple[Op, ...], text: str, about: About) -> tuple[str | None, list[str]]:
    """The text behind the whole chain, and why each operation that failed did: it is skipped, and the chain goes on."""
    failures: list[str] = []
    for place, op in enumerate(ops):
        try:
            new = op.shaped(text, about)
        except Exception as error:  # a host's own code may raise anything; its text then stays as it was
            failures.append(f"operation {place} ({type(op).__name__}): {_said(error)}")
            continue
        if new is None:
            return None, failures
        wrong = _wrong(new, text, about)
        if wrong:
            failures.append(f"operation {place} ({type(op).__name__}): {wrong}")
        else:
            text = new
    return text, failures


def _wrong(new: object, text: str, about: About) -> str:
    """Why what an operation gave cannot stand there, "" where it can."""
    if type(new) is not str:  # a subclass may read otherwise than it is written
        return f"gave {type(new).__name__}, not a text or None"
    if about.category in OWN_VOICE and not is_subsequence(new, text):
        return "puts text into the model's own voice"
    if not set(LONE.findall(new)) <= set(LONE.findall(text)):
        return "puts in a lone surrogate, which no provider takes"
    return ""


def _said(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # it cannot even be printed
        return type(error).__name__


def is_subsequence(shaped: str, original: str) -> bool:
    """Can `shaped` be made of `original` by deleting code points alone?"""
    at = 0
    for char in shaped:
        at = original.find(char, at) + 1
        if at == 0:
            return False
    return True
