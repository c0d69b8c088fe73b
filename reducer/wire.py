"""Shaping by category: the outgoing copy of the messages, and nothing else, decided by the folded view.

A surface policy may cut tool results; on the wire reasoning, arguments and the model's own text can go too. Nothing of
it is committed: `shape` is asked at each request. An entry is whole until a request whose number follows from the view
(see `_wire_times`), and shaped, to the same bytes, in that one and in all that follow.
"""

from collections.abc import Callable, MutableMapping
from typing import Any

import msgspec
from msgspec.structs import replace
from pyrsistent import PMap, pmap

from refold.events import Block, PolicyError, SystemMessage, ToolResult
from refold.reducer._reducer import Reducer
from refold.reducer._view import Message, Node, View
from refold.reducer._wire_blocks import STUB, category_of, is_bound, is_signed, shaped
from refold.reducer._wire_bound import WHOLE, Edit, Settled, settle
from refold.reducer._wire_ops import (
    CATEGORIES,
    About,
    Category,
    Drop,
    Extract,
    HeadTail,
    Inline,
    Op,
    OpRule,
    Truncate,
    is_subsequence,
)
from refold.reducer._wire_profiles import (
    ANTHROPIC,
    ANTHROPIC_BOUND,
    DEEPSEEK,
    NONE,
    OPENAI,
    PROFILES,
    Profile,
    profile_for,
)
from refold.reducer._wire_shaping import NEOCODE_TRIM, Chain, Shaping
from refold.reducer._wire_times import NEVER, Times, span_starts

__all__ = [
    "ANTHROPIC",
    "ANTHROPIC_BOUND",
    "CATEGORIES",
    "DEEPSEEK",
    "NEOCODE_TRIM",
    "NONE",
    "OPENAI",
    "PROFILES",
    "STUB",
    "About",
    "Category",
    "Chain",
    "Change",
    "Drop",
    "Extract",
    "Failure",
    "HeadTail",
    "Inline",
    "Op",
    "Originals",
    "Profile",
    "Report",
    "Shaped",
    "Shaping",
    "Truncate",
    "category_of",
    "is_bound",
    "is_signed",
    "is_subsequence",
    "profile_for",
    "shape",
]


class Change(msgspec.Struct, frozen=True):
    """One shaped entry: block `index` of the content of message `seq`, and what stands for it (None: nothing)."""

    seq: int
    index: int
    category: Category
    original: Block
    shaped: Block | None


class Failure(msgspec.Struct, frozen=True):
    """An operation that failed on a block, and was skipped; or arguments that are no JSON, and stayed whole."""

    seq: int
    index: int
    category: Category
    reason: str


class Report(msgspec.Struct, frozen=True):
    """What shaping did to one request.

    `changes` traces each shaped entry to its original; `trimmed` are the seqs of the messages taken away whole. `lost`
    is how many bound blocks went because something before them had changed, `put_off` how many edits wait for such
    blocks to go.
    """

    changes: tuple[Change, ...] = ()
    failures: tuple[Failure, ...] = ()
    trimmed: tuple[int, ...] = ()
    lost: int = 0
    put_off: int = 0


class Shaped(msgspec.Struct, frozen=True):
    """The messages to send. One that shaping did not touch is the same object as in `reducer.messages(view)`."""

    messages: tuple[Message, ...]
    report: Report


def shape(
    reducer: Reducer,
    view: View,
    shaping: Shaping,
    profile: Profile = NONE,
    known: MutableMapping[Any, Any] | None = None,
) -> Shaped:
    """The messages of the view's request as they are to be sent, and what was done to them.

    Ask when the request is made, the plan being in force: the decisions are those of the open step's request, or of the
    next step's while none is open. Pure; O(messages alive, and the texts that are shaped). `known` is a dict, empty at
    first, that the host keeps from one request to the next: a text is then worked on once, and the answer is the same
    (operations have to be hashable for it).
    Raises PolicyError where the profile refuses.
    """
    messages = reducer.messages(view)
    if profile.bound in ("move", "refuse") and reducer.policy.parts:
        raise PolicyError(
            f"profile {profile.name} binds reasoning to its prefix, and policy {reducer.policy.name} cuts there; pair "
            "them with bound='drop', or use the policy none",
            field="profile",
        )
    times = Times(view)
    edits, failures = _edits(times, shaping, profile, known)
    settled = settle(view, times.nodes, edits, profile, derived=reducer.mode != "commit")
    return _made(messages, times, settled, failures)


def _edits(
    times: Times, shaping: Shaping, profile: Profile, known: MutableMapping[Any, Any] | None
) -> tuple[dict[int, tuple[Edit, ...]], list[Failure]]:
    """By place, what the shaping asks for by the request at hand."""
    edits: dict[int, tuple[Edit, ...]] = {}
    failures: list[Failure] = []
    trims = _trims(times, shaping.keep_spans, profile)
    due = {category: _due(times, shaping.chain(category), category, profile) for category in CATEGORIES}
    for place, node in enumerate(times.nodes):
        found = [Edit(WHOLE, trims[place])] if place in trims else []
        # Under a profile that puts edits off a message may stay for which its blocks' own edits then count.
        content = () if found and profile.bound != "move" else node.content
        for index, block in enumerate(content):
            category = category_of(node, block)
            if category is None or (when := due[category](place)) > times.now:
                continue
            about = About(category, node.tool or getattr(block, "name", ""))
            ops = shaping.chain(category).ops
            new, failed = _worked_on(block, ops, about, profile, known)
            failures += (Failure(node.seq, index, category, reason) for reason in failed)
            if new != block:  # what is known may be of an equal block
                found.append(Edit(index, when, category, block, new))
        if found:
            edits[place] = tuple(found)
    return edits, failures


def _worked_on(
    block: Block, ops: tuple[OpRule, ...], about: About, profile: Profile, known: MutableMapping[Any, Any] | None
) -> tuple[Block | None, list[str]]:
    if known is None:
        return shaped(block, ops, about, profile)
    key = block, ops, about, profile.stub
    if key not in known:
        known[key] = shaped(block, ops, about, profile)
    done: tuple[Block | None, list[str]] = known[key]
    return done


def _due(times: Times, chain: Chain, category: Category, profile: Profile) -> Callable[[int], int]:
    """A function of place: the first request that shows the entry there shaped."""
    if not chain.ops:
        return lambda place: NEVER
    later = times.later([_is_entry(node, category) for node in times.nodes])

    def due(place: int) -> int:
        when = times.births[place] + chain.after_views + 1
        if chain.keep_last:
            when = max(when, later(place, chain.keep_last))
        return times.at_a_loop(place, when) if profile.loop else when

    return due


def _is_entry(node: Node, category: Category) -> bool:
    """A result is one whatever it holds, for others may rewrite it."""
    if category == "tool_result":
        return isinstance(node.message, ToolResult)
    return any(category_of(node, block) == category for block in node.content)


def _trims(times: Times, keep: int, profile: Profile) -> dict[int, int]:
    """By place, the first request without the message, for those that go whole, each with the others of its span."""
    if not keep:
        return {}
    starts = span_starts(times.nodes)
    system = [isinstance(node.message, SystemMessage) for node in times.nodes]
    later = times.later([start == place and not system[place] for place, start in enumerate(starts)])
    found = {}
    for place, start in enumerate(starts):
        when = later(start, keep)
        when = times.at_a_loop(start, when) if profile.loop else max(when, times.at_a_loop(start, 0))
        if when <= times.now and not system[place]:
            found[place] = when
    return found


def _made(messages: tuple[Message, ...], times: Times, settled: Settled, failures: list[Failure]) -> Shaped:
    changes: list[Change] = []
    trimmed: list[int] = []
    new: dict[int, Message | None] = {}
    for place in sorted({*settled.edits, *settled.lost}):
        node, edits, lost = times.nodes[place], settled.edits.get(place, ()), settled.lost.get(place, ())
        if edits and edits[0].index == WHOLE:
            trimmed.append(node.seq)
            new[node.seq] = None
            continue
        stands: dict[int, Block | None] = {edit.index: edit.shaped for edit in edits} | dict.fromkeys(lost)
        changes += (
            Change(node.seq, index, category, node.content[index], stands[index])
            for index in sorted(stands)
            if (category := category_of(node, node.content[index]))
        )
        new[node.seq] = _with(node, stands)
    kept = (new.get(message.seq, message) for message in messages)
    report = Report(
        tuple(changes), tuple(failures), tuple(trimmed), sum(map(len, settled.lost.values())), settled.put_off
    )
    return Shaped(tuple(message for message in kept if message is not None), report)


def _with(node: Node, stands: dict[int, Block | None]) -> Message | None:
    """The message with other blocks; None for an answer of which nothing is left."""
    content = tuple(block for index, old in enumerate(node.content) if (block := stands.get(index, old)) is not None)
    if not content and not isinstance(node.message, ToolResult):
        return None
    return replace(node.message, content=content)


class Originals(msgspec.Struct, frozen=True):
    """What shaped entries stand for, gathered over the requests of a session: each pair once.

    A block taken away leaves nothing to look up: `Report.changes` names its message.
    """

    pairs: PMap[Block, tuple[Block, ...]] = pmap()

    def noted(self, report: Report) -> "Originals":
        """The table with the report's pairs."""
        found: dict[Block, dict[Block, None]] = {}
        for change in report.changes:
            if change.shaped is None:
                continue
            if change.shaped not in found:
                found[change.shaped] = dict.fromkeys(self.of(change.shaped))
            found[change.shaped][change.original] = None
        return Originals(self.pairs.update({shaped: tuple(originals) for shaped, originals in found.items()}))

    def of(self, shaped: Block) -> tuple[Block, ...]:
        """The originals that became this block, in the order in which they came up."""
        found: tuple[Block, ...] = self.pairs.get(shaped, ())
        return found

    def __len__(self) -> int:
        return sum(map(len, self.pairs.values()))
