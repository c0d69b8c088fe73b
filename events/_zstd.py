"""Zstandard frames: unpacking a stream of many, packing one. The library is loaded at the first use."""

from collections.abc import Iterable, Iterator

from refold.events._errors import LogError

MAGIC = b"\x28\xb5\x2f\xfd"
_SLICE = 1 << 9  # compressed bytes unpacked at a time: four of them may stand for 128 KiB, so one call gives 16 MiB


class Unpacked:
    """The contents of all frames, one after the other.

    `first_frame` is the unpacked size of the first frame, complete when the iteration has ended. Raises LogError for a
    damaged or an unfinished frame.
    """

    def __init__(self, pieces: Iterable[bytes], name: str) -> None:
        self.first_frame = 0
        self._pieces, self._name = pieces, name

    def __iter__(self) -> Iterator[bytes]:
        import zstandard

        frames = zstandard.ZstdDecompressor()
        frame = None
        number = 1
        try:
            for piece in self._pieces:
                for at in range(0, len(piece), _SLICE):
                    data = piece[at : at + _SLICE]
                    while data:
                        frame = frame or frames.decompressobj()
                        out = frame.decompress(data)
                        if number == 1:
                            self.first_frame += len(out)
                        if out:
                            yield out
                        data = frame.unused_data if frame.eof else b""
                        if frame.eof:
                            frame, number = None, number + 1
        except zstandard.ZstdError as error:
            raise LogError(
                f"zstd frame {number} is damaged ({error}); restore the file from a copy", path=self._name
            ) from None
        if frame is not None:
            raise LogError(
                f"zstd frame {number} breaks off: the file was cut or is still being written; "
                "read it again when its writer has stopped",
                path=self._name,
            )


def packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """One frame with a checksum, as DSH writes them."""
    import zstandard

    frame = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    yield from filter(None, map(frame.compress, pieces))
    yield frame.flush()
