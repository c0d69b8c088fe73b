"""Tokens by category, before and after shaping, at every step of recorded sessions that reason.

python benchmarks/shaping.py DATA               the table of docs/shaping.md
python benchmarks/shaping.py DATA --steps FILE  one line of JSON a step besides, for every session and profile
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from refold.events import AssistantMessage, Block, Event, Reasoning, RefoldError
from refold.reducer import Counted, Message, Reducer, Tiktoken, presets
from refold.reducer import _surface as surface
from refold.reducer.wire import (
    ANTHROPIC,
    CATEGORIES,
    DEEPSEEK,
    NONE,
    OPENAI,
    Chain,
    Drop,
    HeadTail,
    Profile,
    Shaping,
    Truncate,
    category_of,
    shape,
)
from refold.transcripts import open_session

FOLDERS: dict[str, Profile] = {"claude_code": ANTHROPIC, "dsh": DEEPSEEK, "codex": OPENAI}
SHAPING = Shaping(
    reasoning=Chain((Drop(),), after_views=3, keep_last=3),
    tool_result=Chain((HeadTail(2000, 500),), after_views=3),
    tool_arguments=Chain((Truncate(400),), after_views=3),
)
LEAST_REQUESTS = 5  # the shaping takes effect from the fourth sending on
NAMES = {"reasoning": "reasoning", "tool_result": "results", "tool_arguments": "arguments", "assistant_text": "text"}


class Step(msgspec.Struct):
    """One request: tokens of each category as it was sent and as it would have been.

    `breaks` says that shaping changed something that the request before it held, where the log itself changed nothing.
    """

    file: str
    profile: str
    request: int
    before: dict[str, int]
    after: dict[str, int]
    breaks: bool


class Prices:
    """Each block's tokens, counted once."""

    def __init__(self) -> None:
        self._known: dict[Block, int] = {}
        self._estimator = Tiktoken()

    def by_category(self, nodes: dict[int, object], messages: tuple[Message, ...]) -> dict[str, int]:
        found: Counter[str] = Counter(dict.fromkeys(CATEGORIES, 0))
        for message in messages:
            node = nodes.get(message.seq)
            for block in message.content if node is not None else ():
                category = category_of(node, block)  # type: ignore[arg-type]
                if category is not None:
                    found[category] += self._price(block)
        return dict(found)

    def _price(self, block: Block) -> int:
        if block not in self._known:
            self._known[block] = self._estimator.blocks((block,))
        return self._known[block]


def steps(name: str, events: tuple[Event, ...], profile: Profile, prices: Prices) -> Iterator[Step]:
    reducer = Reducer(presets.none(), Counted())
    view, number = reducer.start(), 0
    plain_before: tuple[Message, ...] = ()
    sent_before: tuple[Message, ...] = ()
    for event in events:
        if isinstance(event, AssistantMessage) and event.replaces is None:
            number += 1
            nodes: dict[int, object] = {node.seq: node for _, node in surface.nodes(view)}
            plain, sent = reducer.messages(view), shape(reducer, view, SHAPING, profile).messages
            before, after = prices.by_category(nodes, plain), prices.by_category(nodes, sent)
            grew = plain[: len(plain_before)] == plain_before
            breaks = grew and sent[: len(sent_before)] != sent_before
            yield Step(name, profile.name, number, before, after, breaks)
            plain_before, sent_before = plain, sent
        view = reducer.fold(view, event)


def reasons(events: tuple[Event, ...]) -> bool:
    return any(
        isinstance(block, Reasoning)
        for event in events
        if isinstance(event, AssistantMessage)
        for block in event.content
    )


def sessions(folder: Path) -> Iterator[tuple[str, tuple[Event, ...], Profile]]:
    for part, profile in FOLDERS.items():
        for path in sorted((folder / part).glob("*.jsonl")):
            try:
                events = tuple(open_session(str(path)))
            except RefoldError:
                continue  # docs/transcripts.md says which, and why
            if reasons(events):
                yield f"{part}/{path.name}", events, profile


def row(made: list[Step]) -> str:
    """Sums over the requests, in thousands of tokens."""
    cells = []
    for category in CATEGORIES:
        before, after = (sum(getattr(step, side)[category] for step in made) for side in ("before", "after"))
        cells.append(f"{before / 1000:,.1f}" + f" → {after / 1000:,.1f}" * (before != after))
    before, after = (sum(sum(getattr(step, side).values()) for step in made) for side in ("before", "after"))
    cells.append(f"{100 * after / before:.0f} %" if before else "-")
    cells.append(str(sum(step.breaks for step in made)))
    return f"| {made[0].file} | {made[0].profile} | {len(made)} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--steps", type=Path)
    given = parser.parse_args()
    prices, lines = Prices(), []
    heads = " | ".join(NAMES.values())
    print(f"| session | profile | requests | {heads} | left | breaks |\n|---|---|--:|" + "--:|" * (len(NAMES) + 2))
    for name, events, profile in sessions(given.data):
        for rules in (profile, NONE):
            made = list(steps(name, events, rules, prices))
            lines += made
            if len(made) >= LEAST_REQUESTS:
                print(row(made))
    if given.steps:
        given.steps.write_text("".join(json.dumps(msgspec.to_builtins(step)) + "\n" for step in lines))


if __name__ == "__main__":
    main()
