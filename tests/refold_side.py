"""refold's answers to the questions that the official packages are asked, in their terms. The only place that knows."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from tests.generated import Json

from refold.cli._policy import policy_of
from refold.events import (
    Block,
    Event,
    LogError,
    Opaque,
    PolicyError,
    Reasoning,
    SurfaceError,
    Text,
    ToolResult,
    ToolUse,
    read_dsh,
)
from refold.reducer import Dsh, Reducer, presets, surface_seqs
from refold.reducer._surface import nodes
from refold.reducer._view import Node

HEADER = '{"type":"session","version":0,"id":"session","createdAt":0,"delegationDepth":0}'
PARAMETERS = {"thresholdChars": "threshold", "headChars": "head", "tailChars": "tail"}


def stored(lines: list[str]) -> bytes:
    """A log as the official backend stores it: chunks packed, numbers and escapes as JavaScript writes them."""
    return "\n".join([HEADER, *lines, ""]).encode()


def spelled_out(events: list[Json]) -> bytes:
    """The same log by another writer: one event a line, blanks between, every other character escaped."""
    return "\n".join([HEADER, *map(json.dumps, events), ""]).encode()


class Refused(Exception):
    """refold refused, at the event `at` where it concerns one."""

    def __init__(self, message: str, at: int | None) -> None:
        super().__init__(message)
        self.at = at


class Measured(NamedTuple):
    """Total and surface tokens after so many events, prices per node at the end, the reason if the meter refused."""

    after: dict[int, tuple[int | None, int]]
    nodes: list[tuple[int, int]]
    refusal: str | None


def refold_prune(config: Json, blocks: list[Json]) -> list[Json] | None:
    """What the `pruner` preset puts in the place of a result's content, None where it leaves it. Raises Refused."""
    settings = ",".join(f"{PARAMETERS.get(key, key)}={value}" for key, value in config.items())
    try:
        (part,) = policy_of(f"pruner:{settings}").parts
    except PolicyError as error:
        raise Refused(str(error), None) from error
    (event,) = read(spelled_out([tool_result(blocks)]))
    assert isinstance(event, ToolResult)
    node = Node(event.seq, event, tokens=0, born=event.seq, steps=0)
    content = None if part.which.refuses(node) else part.how.content(node)
    return None if content is None else [as_json(block) for block in content]


def refold_surface(log: bytes) -> tuple[list[int], int]:
    """The seqs on the surface, and how many replacements made it. Raises Refused."""
    reducer = Reducer(presets.none(), Dsh(0))
    try:
        view = reducer.fold_all(reducer.start(), read(log))
    except (LogError, SurfaceError) as error:
        raise Refused(str(error), error.seq) from error
    return list(surface_seqs(view)), view.replace_generation


def refold_measure(log: bytes) -> Measured:
    reducer = Reducer(presets.none(), Dsh(0))
    view = reducer.start()
    after = {}
    for event in read(log):
        view = reducer.fold(view, event)
        measure = reducer.measure(view)
        after[view.position] = (measure.tokens, measure.surface_tokens)
    prices = [(node.seq, node.tokens) for _, node in nodes(view)]
    return Measured(after, prices, reducer.measure(view).refusal)


def read(log: bytes) -> Iterable[Event]:
    return read_dsh([log], name="generated")


def as_json(block: Block) -> Json:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text, **json.loads(block.extra or "{}")}
        case Reasoning(text=text):
            return {"type": "reasoning", "text": text, **json.loads(block.extra or "{}")}
        case ToolUse(id=id_, name=name, arguments=arguments):
            call = {"type": "tool-call", "id": id_, "name": name, "arguments": arguments}
            return {**call, **json.loads(block.extra or "{}")}
        case Opaque(json=text):
            return json.loads(text)


def tool_result(content: list[Json]) -> Json:
    result = {"type": "tool-result", "toolCallId": "call-1", "content": content}
    source = {"kind": "tool", "callId": "call-1"}
    message = {"id": "r", "role": "user", "source": source, "content": [result]}
    data = {"turn": 1, "step": 1, "message": message}
    return {"type": "tool/result", "seq": 0, "time": 0, "data": data, "surfaceOp": "append"}
