"""Standard output as a command sees it: who reads it may leave early, and what cannot be written is named."""

import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any


@contextmanager
def standard_output() -> Iterator[None]:
    """Print through it. Raises OSError, named "standard output", where it is closed or takes no more.

    When its reader has left, as `head` does, what else is printed goes nowhere: the command ends as it would have, with
    its own exit code.
    """
    if sys.stdout is None:
        raise OSError(errno.EBADF, "closed, and the answer is printed there", _NAME)
    if not isinstance(sys.stdout, io.TextIOWrapper):
        yield
        return
    # A locale without the characters, or a lone surrogate of a log: both leave as escapes.
    buffer = io.BufferedWriter(_Raw(sys.stdout.buffer))
    stream = io.TextIOWrapper(buffer, sys.stdout.encoding, "backslashreplace", line_buffering=sys.stdout.line_buffering)
    with redirect_stdout(stream):
        try:
            yield
        finally:
            if not stream.closed:
                stream.flush()


_NAME = "standard output"


class _Raw(io.RawIOBase):
    def __init__(self, stream: Any) -> None:
        self._stream = getattr(stream, "raw", stream)  # a second buffer would keep what could not be written
        self._left = False

    def write(self, data: Any) -> int | None:
        if self._left:
            return len(data)
        try:
            return self._stream.write(data)  # type: ignore[no-any-return]
        except BrokenPipeError:
            self._left = True
            return len(data)
        except OSError as error:
            self._left = True
            raise OSError(error.errno, error.strerror, _NAME) from None

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return bool(self._stream.isatty())

    def fileno(self) -> int:
        return int(self._stream.fileno())
