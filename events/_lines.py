"""Cutting a stream of bytes at line ends, without holding it."""

from collections.abc import Iterable, Iterator

from refold.events._errors import LogError

BLOCK = 1 << 16


class Lines:
    """The whole lines of a stream, many to a block: every block ends with a line end.

    `pieces` may be cut anywhere. A block is at most 64 KiB, or one longer line. After the last block `rest` holds what
    stands behind the last line end. Raises LogError for a line of more than `max_line` bytes, without reading on.
    """

    def __init__(self, pieces: Iterable[bytes], max_line: int) -> None:
        self.rest = b""
        self._pieces, self._max_line = pieces, max_line

    def __iter__(self) -> Iterator[bytes]:
        window = min(BLOCK, self._max_line + 1)
        held: list[bytes] = []
        size = 0
        for piece in self._pieces:
            start = 0
            while start < len(piece):
                # A held beginning makes a block of its own with the rest of its line.
                end = 0 if held else piece.rfind(b"\n", start, start + window) + 1
                end = end or piece.find(b"\n", start) + 1
                part = piece[start : end or None]
                size += len(part)
                if size > max(window, self._max_line + bool(end)):
                    raise LogError(f"the line is longer than {self._max_line} bytes, the most that is read")
                held.append(part)
                start += len(part)
                if end:
                    yield b"".join(held)
                    held.clear()
                    size = 0
        self.rest = b"".join(held)
