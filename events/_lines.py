"""Cutting a stream of bytes at line ends, without holding it."""

from collections.abc import Iterable, Iterator

from refold.events._errors import LogError

BLOCK = 1 << 16


class Lines:
    """The whole lines of a stream, many to a block: every block ends with a line end.

    `pieces` may be cut anywhere. A block is one line, and at most 64 KiB more. After the last block `rest` holds what
    stands behind the last line end. Raises LogError for a line of more than `max_line` bytes, without reading on.
    """

    def __init__(self, pieces: Iterable[bytes], max_line: int) -> None:
        self.rest = b""
        self._pieces, self._max_line = pieces, max_line

    def __iter__(self) -> Iterator[bytes]:
        window = min(BLOCK, self._max_line + 1)
        held: list[bytes | memoryview] = []  # the beginning of a line
        size = 0
        for piece in self._pieces:
            view = memoryview(piece)  # sliced without a copy
            start = 0
            while start < len(piece):
                line_end = piece.find(b"\n", start) + 1
                size += (line_end or len(piece)) - start
                if size > self._max_line + bool(line_end):
                    raise LogError(f"the line is longer than {self._max_line} bytes, the most that is read")
                end = max(line_end, piece.rfind(b"\n", start, start + window) + 1)
                held.append(view[start:end] if end else bytes(view[start:]))
                start = end or len(piece)
                if end:
                    yield b"".join(held)
                    held.clear()
                    size = 0
        self.rest = b"".join(held)
