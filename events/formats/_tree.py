"""A session that is a directory of small JSON files, handed over as one document: each file under its path."""

import re
from collections.abc import Mapping

import msgspec

from refold.events._errors import FormatError
from refold.events.formats._source import Source, decode_json


def pack_tree(files: Mapping[str, bytes], name: str) -> Source:
    """One JSON object from path (relative to the session's root, with `/`) to the file's content, sorted by path.

    A file's text goes in as it stands. What is no JSON value goes in as a text, so that the reader can name it.
    """
    rows = []
    for path in sorted(files):
        try:
            decode_json(files[path], path)
            value = files[path].strip()
        except FormatError:
            value = msgspec.json.encode(files[path].decode("utf-8", "replace"))
        rows.append(msgspec.json.encode(path) + b":" + value)
    return Source(b"{" + b",".join(rows) + b"}", name)


def natural(path: str) -> tuple[tuple[int, str], ...]:
    """Sorts `event-2` before `event-10`: texts and numbers alternate, and a longer number is a greater one."""
    pieces = enumerate(re.split(r"(\d+)", path))
    return tuple((len(piece.lstrip("0")) if place % 2 else 0, piece) for place, piece in pieces)
