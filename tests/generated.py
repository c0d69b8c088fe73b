"""Hypothesis strategies for what a message holds: texts, blocks, block lists; and the pruner settings that cut them.

Everything is plain JSON, as a DSH log holds it. Long texts come by repetition, not by drawing characters.
"""

from functools import cache
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

MARKER = "\n\n[... tool result middle pruned ...]\n\n"
UNITS = ("a", "log line\n", "漢字", "😀", "a😀漢", "e\u0301", "\ud83d", "\udc00x", '"\\', "\x00\x7f\u2028", MARKER)


def repeat(unit: str, points: int) -> str:
    return (unit * (points // len(unit) + 1))[:points]


def texts(*sizes: int) -> st.SearchStrategy[str]:
    """Texts of one repeated unit, of one of the sizes (code points, before halves of a surrogate pair join)."""
    return st.sampled_from([repeat(unit, size) for size in sizes for unit in UNITS])


SHORT = texts(0, 1, 3, 4, 5, 8, 17, 40)
LONG = texts(0, 5, 40, 150, 300)
PAYLOADS: tuple[Any, ...] = (
    None,
    [],
    {},
    "漢😀",
    "\ud800\x01",
    [1, 2.5, True, {"": None}],
    {"b": {"1": "x"}, "1": -3},
    [[{"type": "text", "text": "nested"}]],
    9007199254740991,
)


def _image(side: int) -> Json:
    attachment = {"attachmentId": "sha256:" + "0" * 64, "mediaType": "image/png", "bytes": side * 97}
    return {"type": "image", "attachment": {**attachment, "width": side, "height": side}}


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def _annotated(text: str, payload: Any) -> Json:
    return {"annotations": payload, "text": text, "type": "text", "cache": {"ttl": 300}}


def reasoning_block(text: str) -> Json:
    return {"type": "reasoning", "text": text}


def call_block(call_id: str, name: str, arguments: str) -> Json:
    return {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments}


def _nested(content: list[Json]) -> Json:
    return {"type": "tool-result", "toolCallId": "inner", "content": content}


def _unknown(payload: Any) -> Json:
    return {"type": "x-chart", "payload": payload}


images = st.builds(_image, st.integers(1, 2000))
unknown_blocks = st.builds(_unknown, st.sampled_from(PAYLOADS))
tool_calls = st.builds(
    call_block,
    st.sampled_from(("call-1", "call-1", "call-2", "call-3", "", "電話")),
    st.sampled_from(("read", "bash", "mcp__web__search", "道具", "")),
    st.sampled_from(("{}", '{"path":"a.txt"}', "", '{"query":"漢字 😀"}', '{"unfinished', '"\ud83d"')),
)


def weighted(*pairs: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """One of the strategies, drawn as often as its weight says (`one_of` takes each once)."""
    bag = [strategy for weight, strategy in pairs for _ in range(weight)]
    return st.sampled_from(bag).flatmap(lambda strategy: strategy)


def blocks(text: st.SearchStrategy[str], *, max_size: int) -> st.SearchStrategy[list[Json]]:
    """Content lists. Half of their blocks are plain texts; the others are all that a result may hold."""
    plain = text.map(text_block)
    block = weighted(
        (5, plain),
        (1, st.builds(_annotated, text, st.sampled_from(PAYLOADS))),
        (1, images),
        (1, st.builds(reasoning_block, text)),
        (1, tool_calls),
        (1, unknown_blocks),
        (1, st.builds(_nested, st.lists(plain | images, max_size=2))),
    )
    return st.lists(block, max_size=max_size)


def _settings(head: int, tail: int, slack: int) -> Json:
    return {"thresholdChars": head + len(MARKER) + tail + slack, "headChars": head, "tailChars": tail}


PRUNERS: tuple[Json, ...] = (
    *(_settings(head, tail, slack) for head in (0, 1, 4, 33) for tail in (0, 1, 3, 40) for slack in (0, 1, 200)),
    {},
    {"tailChars": 0},
    {"thresholdChars": 5159, "headChars": 4096},
)


@cache
def _contents_for(place: int) -> st.SearchStrategy[tuple[Json, list[Json]]]:
    """Block lists whose texts end at, before and behind every limit that these settings set."""
    config = PRUNERS[place]
    threshold, head, tail = (
        config.get("thresholdChars", 8192),
        config.get("headChars", 4096),
        config.get("tailChars", 1024),
    )
    limits = (threshold, head, tail, head + tail, threshold - head, threshold - tail)
    sizes = sorted({max(0, limit + near) for limit in limits for near in (-1, 0, 1)} | {1, 2, 3 * threshold})
    return st.tuples(st.just(config), blocks(texts(*sizes), max_size=6))


# The defaults, whose texts are long, come up a hundred times in two thousand.
pruner_inputs = weighted(
    (19, st.integers(0, len(PRUNERS) - 4).flatmap(_contents_for)),
    (1, st.integers(len(PRUNERS) - 3, len(PRUNERS) - 1).flatmap(_contents_for)),
)
"""Pruner settings that are valid, with a content list for them."""

SETTINGS = (0, 1, 38, 39, 40, 50, 1024, 4096, 5159, 8191, 8192, -1, 0.5, 1.5, 10**15)
KEYS = ("thresholdChars", "headChars", "tailChars")
pruner_settings = st.dictionaries(st.sampled_from((*KEYS, *KEYS, *KEYS, "maxChars")), st.sampled_from(SETTINGS))
"""Pruner settings as a configuration file may hold them, most of them impossible."""
