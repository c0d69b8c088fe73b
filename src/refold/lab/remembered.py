"""Counting each message once: comparing policies counts the same text a dozen times."""

from functools import lru_cache

from refold.events import Block
from refold.reducer import Counted, Tiktoken


class Remembered(Tiktoken, frozen=True):
    """Tiktoken's count, kept for the contents counted last."""

    def blocks(self, blocks: tuple[Block, ...]) -> int:
        return _blocks(self.opaque_tokens, blocks)


@lru_cache(1 << 14)
def _blocks(opaque_tokens: int, blocks: tuple[Block, ...]) -> int:
    return Tiktoken(opaque_tokens).blocks(blocks)


METER = Counted(Remembered())
