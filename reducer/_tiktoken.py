"""Counting tokens with OpenAI's o200k_base, offline."""

import re
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import msgspec

from refold.events import Block, PolicyError, Reasoning, SurfaceEvent, Text, ToolUse

if TYPE_CHECKING:
    import tiktoken

VOCABULARY_TOKENS = 199_998

# tiktoken's regex engine gives up on about a million white-space characters in a row. The look-behind lets a run be
# tried once, at its start; without it a run just too short is tried at each of its characters.
LONGEST_BLANK_RUN = 500_000
SLICE = 256_000
_BLANKS = re.compile(rf"(?<!\s)\s{{{LONGEST_BLANK_RUN}}}")


class Tiktoken(msgspec.Struct, frozen=True, tag=True):
    """Tokens by o200k_base, counted per block and added; a message or a tool list has no price for its frame.

    For a model with another vocabulary this is an estimate: within 6 percent for DeepSeek, 15 to 33 percent low for
    Claude, most for its newest models. A count per block exceeds that of the joined text by about a thousandth. A
    call's id and a reasoning block's signature are not counted.

    `opaque_tokens` is the price of an image or unknown block, whose JSON tells nothing of what a model is charged:
    1,600 is where Claude scales an image down (https://docs.claude.com/en/docs/vision), so that a full screenshot is
    priced right and a smaller picture too high, the safe side of a context limit.
    """

    opaque_tokens: int = 1600
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.opaque_tokens < 0:
            raise PolicyError(f"must be at least 0 tokens, got {self.opaque_tokens}", field="opaque_tokens")

    def blocks(self, blocks: tuple[Block, ...]) -> int:
        tokens = 0
        for block in blocks:
            if isinstance(block, Text | Reasoning):
                tokens += count(block.text)
            elif isinstance(block, ToolUse):
                tokens += count(block.name) + count(block.arguments)
            else:
                tokens += self.opaque_tokens
        return tokens

    def message(self, event: SurfaceEvent) -> int:
        return self.blocks(event.content)

    def header(self, system: str | None, tools: str) -> int:
        return count(system or "") + count(tools)


def count(text: str) -> int:
    """The o200k_base tokens of a text, in which special tokens such as `<|endoftext|>` are ordinary characters.

    A lone surrogate counts as U+FFFD, as in tiktoken. A text with half a million blanks in a row, or one that
    tiktoken fails on, is counted in slices of 256,000 code points: too high by a token a slice at most, about.
    """
    if not text:
        return 0
    if len(text) >= LONGEST_BLANK_RUN and _BLANKS.search(text):
        return _count_sliced(text)
    try:
        return len(encoding().encode_ordinary(text))
    except BaseException as error:
        # The engine's panic is no Exception, and its class is reachable by name alone.
        if type(error).__name__ != "PanicException":
            raise
        return _count_sliced(text)


def _count_sliced(text: str) -> int:
    encode = encoding().encode_ordinary
    return sum(len(encode(text[start : start + SLICE])) for start in range(0, len(text), SLICE))


@cache
def encoding() -> "tiktoken.Encoding":
    """o200k_base, built at the first count from the vocabulary that comes with this package.

    This is the one place of the reducer that reads a file: package data, always the same bytes. It touches neither
    tiktoken's registry nor its cache folder nor the network.
    """
    import tiktoken

    # The pattern and the special tokens are tiktoken's (tiktoken_ext/openai_public.py).
    letters = r"\p{Lm}\p{Lo}\p{M}"
    ending = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    pattern = "|".join(
        [
            rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}{letters}]*[\p{{Ll}}{letters}]+{ending}",
            rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}{letters}]+[\p{{Ll}}{letters}]*{ending}",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    )
    return tiktoken.Encoding(
        "o200k_base",
        pat_str=pattern,
        mergeable_ranks={token: rank for rank, token in enumerate(vocabulary())},
        special_tokens={"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018},
    )


def vocabulary() -> list[bytes]:
    """The tokens of o200k_base in the order of their rank (scripts/pack_vocabulary.py describes the file)."""
    import lzma
    from importlib.resources import files
    from itertools import accumulate, pairwise

    data = lzma.decompress(files("refold.reducer").joinpath("o200k_base.xz").read_bytes())
    bounds = accumulate(data[:VOCABULARY_TOKENS], initial=VOCABULARY_TOKENS)
    return [data[start:end] for start, end in pairwise(bounds)]
