"""Where the tokens stand: prefix sums over the surface's slots, and the first slot that holds a ripe candidate.

A Fenwick tree in Rows, kept only for parts whose `when` weighs what stands behind a cut. Each cell holds the slot's
tokens, and above bit 48 the number of ripe candidates in it, so that one tree answers both in O(log n).
"""

from typing import Final

from refold.reducer._rows import Rows

RIPE: Final = 1 << 48
TOKENS: Final = RIPE - 1


def append(tree: Rows[int], value: int) -> None:
    """One more slot, with this value."""
    place = len(tree) + 1
    below, stop = place - 1, place - (place & -place)
    while below > stop:
        value += tree[below - 1]
        below -= below & -below
    tree.append(value)


def add(tree: Rows[int], slot: int, change: int) -> None:
    """Change a slot's value."""
    place = slot + 1
    while place <= len(tree):
        tree.set(place - 1, tree[place - 1] + change)
        place += place & -place


def before(tree: Rows[int], slot: int) -> int:
    """Tokens in all slots before this one."""
    total = 0
    while slot > 0:
        total += tree[slot - 1] & TOKENS
        slot -= slot & -slot
    return total


def first_ripe(tree: Rows[int]) -> int:
    """The least slot with a ripe candidate; the number of slots where there is none."""
    place, step = 0, 1
    while step * 2 <= len(tree):
        step *= 2
    while step:
        if place + step <= len(tree) and tree[place + step - 1] < RIPE:
            place += step
        step //= 2
    return place
