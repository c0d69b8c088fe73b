"""The session that every framework runs: turns of 25 calls that each read a file, then a word to the user."""

from collections.abc import Iterator
from typing import NamedTuple

from refold.reducer import Policy, presets

CALLS = 25
DONE = "That is all of it."

POLICIES: dict[str, Policy] = {
    "refold keep3": presets.keep3(tools=("*",)),
    "refold debt": presets.debt(idle_seconds=0, tools=("*",)),
}


class Sent(NamedTuple):
    """One model call: the texts of its messages in order, and the seconds that shaping them took."""

    texts: list[str]
    seconds: float


class Said(NamedTuple):
    """A message of the history: a prompt, a call, its result, or the word that ends a turn."""

    kind: str
    number: int


def prompt(turn: int) -> str:
    return f"Read the files of part {turn}."


def content(number: int) -> str:
    """What a file holds: 1,000, 3,000 or 12,000 characters, one after the other."""
    return (f"File {number}, and what is in it. " * 400)[: (1_000, 3_000, 12_000)[number % 3]]


def asked(turn: int) -> Iterator[int]:
    """The files that are read in a turn, counted from 1."""
    return iter(range(turn * CALLS + 1, (turn + 1) * CALLS + 1))


def held(call: int) -> int:
    """How many messages the history holds at a model call, counted from 0 over all turns."""
    turn, step = divmod(call, CALLS + 1)
    return turn * (2 * CALLS + 2) + 1 + 2 * step


def history(turns: int) -> Iterator[Said]:
    """What was said in the turns before."""
    for turn in range(turns):
        yield Said("prompt", turn)
        for number in asked(turn):
            yield Said("call", number)
            yield Said("result", number)
        yield Said("done", turn)
