"""Which file did a result come from? Asked of `read`, whose results of one file a policy may treat as one matter."""

import json
import ntpath
import posixpath
import re
from typing import Any

from refold.reducer._receipt import FOLDER

READ_TOOL = "read"


def read_path(tool: str, arguments: str, cwd: str) -> str | None:
    """The absolute path that a `read` was asked for; None for another tool, or where its arguments name none."""
    if tool != READ_TOOL:
        return None
    try:
        path: Any = json.loads(arguments).get("file_path")
    except (ValueError, AttributeError, RecursionError):
        return None
    if not isinstance(path, str) or not path:
        return None
    if any(re.match(r"[A-Za-z]:[\\/]|\\\\", one) for one in (path, cwd)):
        return ntpath.normpath(ntpath.join(cwd, path))
    return re.sub("^//", "/", posixpath.normpath(posixpath.join(cwd, path)))


def in_archive(path: str) -> bool:
    """Does an absolute path lie inside an archive, whichever session's?"""
    return FOLDER in re.split(r"[/\\]", path)[:-1]
