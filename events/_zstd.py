"""Zstandard frames: unpacking a stream of many, packing one. The library is loaded at the first use."""

from collections.abc import Iterable, Iterator

from refold.events._errors import LogError

MAGIC = b"\x28\xb5\x2f\xfd"
_SLICE = 1 << 14  # compressed bytes unpacked at a time: what one call gives stays small, whatever they hold


def unpacked(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The contents of all frames, one after the other. Raises LogError for a damaged or an unfinished frame."""
    import zstandard

    frames = zstandard.ZstdDecompressor()
    frame = None
    number = 1
    try:
        for piece in pieces:
            for at in range(0, len(piece), _SLICE):
                data = piece[at : at + _SLICE]
                while data:
                    frame = frame or frames.decompressobj()
                    if out := frame.decompress(data):
                        yield out
                    data = frame.unused_data if frame.eof else b""
                    if frame.eof:
                        frame, number = None, number + 1
    except zstandard.ZstdError as error:
        raise LogError(f"zstd frame {number} is damaged ({error}); restore the file from a copy", path=name) from None
    if frame is not None:
        raise LogError(
            f"zstd frame {number} breaks off: the file was cut or is still being written; "
            "read it again when its writer has stopped",
            path=name,
        )


def packed(data: bytes) -> bytes:
    """One frame with a checksum, as DSH writes them."""
    import zstandard

    return zstandard.ZstdCompressor(write_checksum=True).compress(data)
