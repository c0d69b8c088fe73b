"""An excerpt of a tool result for memory extraction: both ends, and the lines between them that tell of a failure.

Numbers and frame are NeoCode's (a5b9f731): 300 code points of each end of what is longer than both. Its excerpt ends
there, and so misses an error in the middle of a long build log; here the last such lines stand between the ends.
"""

import re

from refold.events import PolicyError

CUT = "\n...[truncated]...\n"
_TELLS = re.compile(r"(?<![\w-])(?:error|fatal|failed|failure|panic|exception|traceback)(?![\w./-])", re.IGNORECASE)


def excerpt(text: str, head: int = 300, tail: int = 300, telling: int = 300) -> str:
    """The first `head` and the last `tail` code points; a text that is not longer than both is left alone.

    Of the lines in between that name an error or a failure the last ones stay, whole, in order, up to `telling` code
    points in all (a single longer one is cut to its head); where that is no shorter the whole text stays. 0 keeps none,
    as NeoCode does. Raises PolicyError.
    """
    for name, value in (("head", head), ("tail", tail), ("telling", telling)):
        if value < 0:
            raise PolicyError(f"must be at least 0, got {value}", field=name)
    if len(text) <= head + tail:
        return text
    end = len(text) - tail
    kept = _telling(text[head:end], telling)
    shown = text[:head] + CUT + (kept + CUT if kept else "") + text[end:]
    return text if kept and len(shown) >= len(text) else shown


def memo(text: str, about: str = "", head: int = 300, tail: int = 300, telling: int = 300) -> str:
    """The excerpt of a trimmed text in NeoCode's frame, behind the lines in `about` that say what ran.

    A cut text is introduced and marked as cut; a whole one is introduced only where something stands before it.
    """
    body = text.strip()
    shown = excerpt(body, head, tail, telling)
    if not body or (not about and shown == body):
        return about or body
    lines = [about] * bool(about) + ["content_excerpt:", shown]
    if shown != body:
        lines.append("[content truncated for memo extraction]")
    return "\n".join(lines)


def _telling(text: str, most: int) -> str:
    kept: list[str] = []
    left = most
    for line in reversed(text.split("\n")):
        if not _TELLS.search(line):
            continue
        if len(line) > left:
            if not kept:
                kept.append(line[:left])
            break
        kept.append(line)
        left -= len(line) + 1
    return "\n".join(reversed(kept))
