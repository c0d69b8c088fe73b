"""Echoes: text in the model's own voice that looks like a marker some shaper left.

A model copies what it finds in its own words, and sometimes what it finds in a result: the authors of dsh-entry-shaper
saw 179 of 191 reasoning blocks arrive in the shape of an earlier `[reasoning extract: N chars omitted]`. What was
logged as the original was then the imitation. The audit reads answers as the log has them: reasoning, text, arguments.
"""

import re
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Literal

import msgspec

from refold.events import AssistantMessage, Block, Event, Reasoning, SurfaceEvent, Text, ToolUse

Voice = Literal["reasoning", "assistant_text", "tool_arguments"]

SHOWN_CHARS = 120
_VERB = r"(?:omitted|truncated|pruned|elided|cleared|shortened|archived|trimmed|compacted)"
_WHAT = r"(?:[0-9]|\.\.\.|…|chars?|characters|lines|tokens|bytes|tool|results?|output|content|reasoning|history)"
MARKERS = MappingProxyType(
    {
        "omission": re.compile(
            rf"\[(?=[^\[\]\n]{{0,120}}\b{_VERB}\b)(?=[^\[\]\n]{{0,120}}{_WHAT})[^\[\]\n]{{1,120}}\]"
            rf"|(?:\.\.\.|…) ?\[{_VERB}\]|<{_VERB}>",
            re.IGNORECASE,
        ),
        "summary": re.compile(r"\[summary\] \S[^\n]{0,80}|\[exit=(?:non-zero|[0-9]+)\][^\n]{0,80}"),
        "clearing": re.compile(
            r"\[旧工具结果已清|\[(?:第 ?[0-9]+ 轮[^\]\n]{0,20})?工具结果已清除|全文已落盘|（中间省略 ?[0-9]+ ?行"
        ),
        "excerpt": re.compile(r"^content_excerpt:$|\[content truncated for memo extraction\]", re.MULTILINE),
        "omitted_chars": re.compile(r'\{\s*"omitted_chars"\s*:\s*[0-9]+\s*\}'),
        "stub": re.compile(r"\A\.\Z"),
    }
)
"""What each kind of marker looks like. A stub is a whole reasoning block."""


class Echo(msgspec.Struct, frozen=True):
    """One marker in block `index` of answer `seq`, at code point `at`; `leads` where the block begins with it.

    `seen_at` is the seq of the first message before it in which a marker of this kind stood, None where none did: then
    the model did not find it in this log, and something between model and log may have written it.
    """

    seq: int
    turn: int
    step: int
    index: int
    voice: Voice
    marker: str
    at: int
    leads: bool
    text: str
    seen_at: int | None


class Echoes(msgspec.Struct, frozen=True):
    """What was found, and in how many of the log's blocks in each voice: `{voice: (with a marker, all)}`."""

    found: tuple[Echo, ...]
    blocks: dict[Voice, tuple[int, int]]


def echoes(events: Iterable[Event]) -> Echoes:
    """Every marker in the answers of a log."""
    found: list[Echo] = []
    blocks: dict[Voice, tuple[int, int]] = {"reasoning": (0, 0), "assistant_text": (0, 0), "tool_arguments": (0, 0)}
    first: dict[str, int] = {}
    for event in events:
        if not isinstance(event, SurfaceEvent):
            continue
        if isinstance(event, AssistantMessage) and event.replaces is None:
            for index, block in enumerate(event.content):
                voice, _ = _spoken(block)
                if voice is not None:
                    said = _echoes(event, index, block, first)
                    found += said
                    marked, every = blocks[voice]
                    blocks[voice] = (marked + bool(said), every + 1)
        for block in event.content:
            for marker, _ in _markers(*_spoken(block)):
                first.setdefault(marker, event.seq)
    return Echoes(tuple(found), blocks)


def _echoes(event: AssistantMessage, index: int, block: Block, first: dict[str, int]) -> list[Echo]:
    voice, text = _spoken(block)
    assert voice is not None
    said = [
        Echo(
            event.seq,
            event.turn,
            event.step,
            index,
            voice,
            marker,
            place.start(),
            not text[: place.start()].strip(),
            place[0][:SHOWN_CHARS],
            first.get(marker),
        )
        for marker, place in _markers(voice, text)
    ]
    return sorted(said, key=lambda echo: echo.at)


def _spoken(block: Block) -> tuple[Voice | None, str]:
    if isinstance(block, Reasoning):
        return "reasoning", block.text
    if isinstance(block, Text):
        return "assistant_text", block.text
    if isinstance(block, ToolUse):
        return "tool_arguments", block.arguments
    return None, ""


def _markers(voice: Voice | None, text: str) -> Iterator[tuple[str, re.Match[str]]]:
    for marker, pattern in MARKERS.items():
        if marker != "stub" or voice == "reasoning":
            for place in pattern.finditer(text):
                yield marker, place
