"""The first line of DSH's session log: what session this is, and in which format version."""

from typing import Any

from refold.events import _json as js
from refold.events._dsh_wire import SAFE

NEWEST = 5


def parse_header(line: bytes) -> dict[str, Any]:
    """The header; its version is one that is known.

    Raises ValueError, also for what the official reader refuses. A header without `delegationDepth`, which that reader
    refuses too, is read: the first harnesses, and DSH's own fixtures, left it out.
    """
    try:
        header = js.parse(line)
    except (js.NotJson, js.NotUtf8) as error:
        raise ValueError(f"the header is {error}") from None
    except ValueError as error:
        raise ValueError(f"the header cannot be read: {error}") from None
    if not isinstance(header, dict) or header.get("type") != "session":
        raise ValueError('the first line is no session header: {"type":"session","version":...} is wanted')
    version: Any = header.get("version")
    if not _is_count(version):
        raise ValueError(f"the header's version is {version!r}, a whole number from 0 on is wanted")
    if version > NEWEST:
        raise ValueError(f"the log has format version {version}, and {NEWEST} is the newest known: upgrade refold")
    for retired in ("sandboxMode", "approvalPolicy"):
        if retired in header:
            raise ValueError(f"the header holds {retired}, which DSH has retired and refuses")
    if not isinstance(header.get("id"), str) or not header["id"]:
        raise ValueError(f"the header's id is {header.get('id')!r}, the session's name is wanted")
    if not _is_count(header.get("createdAt")):
        raise ValueError(f"the header's createdAt is {header.get('createdAt')!r}, whole milliseconds are wanted")
    if not _is_count(header.get("delegationDepth", 0)):
        raise ValueError(f"the header's delegationDepth is {header['delegationDepth']!r}, a whole number is wanted")
    return header


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= SAFE
