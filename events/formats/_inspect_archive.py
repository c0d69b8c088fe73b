"""The `.eval` form of an Inspect log: a zip archive with a header and one JSON file a sample."""

from io import BytesIO
from zipfile import ZipFile, ZipInfo

import zstandard

from refold.events._errors import FormatError
from refold.events.formats._tree import natural

ZIP = b"PK\x03\x04"
HEADERS = ("header.json", "_journal/start.json")
SAMPLES = "samples/"
ZSTANDARD = 93
LARGEST = 1 << 30  # bytes of one sample, unpacked: more is taken for a bomb


def members(data: bytes) -> list[str]:
    """The names in the archive, header and samples; nothing where it is no archive of Inspect's."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()
    except Exception:  # zipfile answers foreign bytes with whatever its parts raise
        return []
    return names if any(header in names for header in HEADERS) else []


def samples(data: bytes, where: str) -> list[tuple[str, bytes]]:
    """Name and JSON of each sample, in order. Raises FormatError where one cannot be unpacked."""
    found = []
    try:
        with ZipFile(BytesIO(data)) as archive:
            for info in sorted(archive.infolist(), key=lambda each: natural(each.filename)):
                if info.filename.startswith(SAMPLES) and info.filename.endswith(".json"):
                    found.append((info.filename, _content(archive, info, data)))
    except FormatError as error:
        raise FormatError(f"{where}: {error}") from None
    except Exception as error:
        raise FormatError(f"{where}: the archive cannot be unpacked: {error}") from None
    return found


def _content(archive: ZipFile, info: ZipInfo, data: bytes) -> bytes:
    if info.file_size > LARGEST:
        raise FormatError(f"{info.filename} is {info.file_size} bytes unpacked; at most {LARGEST} are read")
    if info.compress_type != ZSTANDARD:
        return archive.read(info)
    header = data[info.header_offset : info.header_offset + 30]  # its last two fields: lengths of name and extra
    start = info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    packed = data[start : start + info.compress_size]
    return zstandard.ZstdDecompressor().decompress(packed, max_output_size=info.file_size)
