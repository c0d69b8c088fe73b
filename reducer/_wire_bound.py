"""Blocks that are valid only behind the prefix they were written behind: which edits may be made, which blocks go.

A block written for request n saw what was shaped by then. It is stale when anything before it came to its present
bytes later: an event logged behind it, a cut derived since, or an edit whose first request is later than n. An edit
among the wire's own can wait; one of the surface has been made.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from refold.events import Block, PolicyError
from refold.reducer._view import Node, View
from refold.reducer._wire_blocks import is_bound
from refold.reducer._wire_ops import Category
from refold.reducer._wire_profiles import Profile
from refold.reducer._wire_times import NEVER

WHOLE: Final = -1


class Edit(msgspec.Struct, frozen=True):
    """What is to stand for a block (`index` in its message's content, WHOLE for the message) from request `when` on."""

    index: int
    when: int
    category: Category | None = None
    original: Block | None = None
    shaped: Block | None = None


class Settled(msgspec.Struct, frozen=True):
    """By place: the edits to make, and which blocks go because of edits before them; how many edits have to wait."""

    edits: Mapping[int, tuple[Edit, ...]]
    lost: Mapping[int, tuple[int, ...]] = {}
    put_off: int = 0


def settle(
    view: View, nodes: tuple[Node, ...], edits: Mapping[int, tuple[Edit, ...]], profile: Profile, derived: bool
) -> Settled:
    """The edits that the profile's rule for bound blocks leaves. Raises PolicyError where it is to refuse."""
    if profile.bound == "no" or not any(map(is_bound, _blocks(nodes))):
        return Settled(edits)
    stale = _stale_by_the_surface(view, nodes, derived)
    if profile.bound == "move":
        return _move(nodes, edits, stale)
    return _drop(nodes, edits, stale, profile)


def _blocks(nodes: tuple[Node, ...]) -> Iterator[Block]:
    for node in nodes:
        yield from node.content


def _stale_by_the_surface(view: View, nodes: tuple[Node, ...], derived: bool) -> list[bool]:
    """For each node: did anything before it change after it was written?"""
    logged, cut, stale = view.system.seq if view.system else -1, -1, []
    for node in nodes:
        # Whether a derived cut was made for a step's retry or for the next step cannot be told: taken for the next.
        stale.append(logged > node.seq or cut >= node.steps)
        logged = max(logged, node.seq)
        if derived and node.cut_by >= 0:
            cut = max(cut, node.steps)
    return stale


def _drop(
    nodes: tuple[Node, ...], edits: Mapping[int, tuple[Edit, ...]], stale: list[bool], profile: Profile
) -> Settled:
    """Make every edit; what it leaves stale behind it goes, or is the reason to refuse."""
    lost: dict[int, tuple[int, ...]] = {}
    latest = -1
    for place, node in enumerate(nodes):
        due = {edit.index: edit for edit in edits.get(place, ())}
        if WHOLE in due:
            latest = max(latest, due[WHOLE].when)
            continue
        gone = []
        for index, block in enumerate(node.content):
            if index in due:
                latest = max(latest, due[index].when)
            elif is_bound(block) and (stale[place] or latest > node.steps):
                gone.append(index)
        if gone and profile.bound == "refuse":
            raise PolicyError(
                f"profile {profile.name}: the reasoning in message {node.seq} is bound to what stood before it, and "
                "that has changed; let the profile drop such blocks (bound='drop'), or shape and cut nothing here",
                field="bound",
            )
        if gone:
            lost[place] = tuple(gone)
    return Settled(edits, lost)


def _move(nodes: tuple[Node, ...], edits: Mapping[int, tuple[Edit, ...]], stale: list[bool]) -> Settled:
    """Make the edits that leave no block stale; the others wait until such blocks are gone.

    An edit that had to wait is made when the last block it waited for goes; who wrote before that saw it unmade.
    """
    made: dict[int, tuple[Edit, ...]] = {}
    lost: dict[int, tuple[int, ...]] = {}
    put_off, oldest = 0, NEVER
    gone: list[tuple[int, int]] = []  # of the bound blocks behind that are edited away: when written, when gone

    def moment(edit: Edit) -> int:
        when = edit.when
        while (later := max((left for written, left in gone if written < when), default=when)) > when:
            when = later
        return when

    for place in reversed(range(len(nodes))):
        node, due = nodes[place], {edit.index: edit for edit in edits.get(place, ())}
        if WHOLE in due:
            if (when := moment(due[WHOLE])) <= oldest:
                made[place] = (due[WHOLE],)
                gone += ((node.steps, when) for block in node.content if is_bound(block))
                continue
            put_off += 1
        for index in reversed(range(len(node.content))):
            bound = is_bound(node.content[index])
            if bound and stale[place]:
                lost[place] = (index, *lost.get(place, ()))
            elif index in due and (when := moment(due[index])) <= oldest:
                made[place] = (due[index], *made.get(place, ()))
                gone += [(node.steps, when)] * bound
            else:
                put_off += index in due
                oldest = min(oldest, node.steps) if bound else oldest
    return Settled(made, lost, put_off)
