"""What both generations of OpenHands share: chat content, and forgetting (condensation)."""

from collections.abc import Callable
from typing import Any

from refold.events._blocks import Block, Opaque, Text
from refold.events.formats._fields import blocks, compact
from refold.events.formats._journal import Journal, Node


def with_images(said: Any, urls: Any) -> tuple[Block, ...]:
    images = urls if isinstance(urls, list) else []
    return (*blocks(said), *(Opaque(compact({"type": "image_url", "url": url})) for url in images))


def forget(journal: Journal, time: int, gone: Callable[[Node], bool], summary: str, key: str) -> None:
    """Every node that is `gone` leaves the surface; the summary stands where the first of them stood."""
    journal.settle()
    runs: list[list[int]] = []
    for at, node in enumerate(journal.nodes):
        if gone(node):
            if runs and runs[-1][1] == at - 1:
                runs[-1][1] = at
            else:
                runs.append([at, at])
    told = (Text(summary),) if summary else ()
    if not runs and told:
        journal.user(time, told, "condensation", key)
    for place, (first, last) in reversed(list(enumerate(runs))):
        journal.replace(time, first, last, () if place else told, "condensation", None if place else key)
