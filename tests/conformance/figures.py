"""What the data folder's own MANIFEST.md counts, and what a reader gives of the same file, in the same terms."""

import os
from pathlib import Path
from statistics import median

from tests.formats.checked import check
from tests.formats.reading import results, said

from refold.events import AssistantMessage, RequestHeader, StepStart, SurfaceEvent, SurfaceRewind, ToolUse
from refold.events.formats._source import Format, Session, Source
from refold.events.formats._tree import pack_tree

LARGE = 8192


def folder() -> Path:
    return Path(os.environ["REFOLD_DATA"])


def counted(name: str) -> tuple[int, int, int]:
    """Model calls, tool results and those over 8192 code points, as the manifest counts them; blanks are 0."""
    rows = (line.split(" | ") for line in (folder() / "MANIFEST.md").read_text("utf-8").splitlines())
    row = next(row for row in rows if row[0].removeprefix("| ").split(" ")[0] == name)
    calls, found, large = (int(cell.replace(",", "")) if cell.strip() else 0 for cell in row[5:8])
    return calls, found, large


def told(sessions: tuple[Session, ...]) -> tuple[int, int, int]:
    """The same three figures from what was read."""
    calls = sum(isinstance(event, StepStart) for session in sessions for event in session.events)
    every = [len(said(result)) for session in sessions for result in results(session)]
    return calls, len(every), sum(length > LARGE for length in every)


def source(name: str) -> Source:
    """A file, or a directory as one packed document."""
    path = folder() / name
    if not path.is_dir():
        return Source(path.read_bytes(), path.name)
    files = {each.relative_to(path).as_posix(): each.read_bytes() for each in path.rglob("*") if each.is_file()}
    return pack_tree(files, path.name)


def read(form: Format, name: str) -> tuple[Session, ...]:
    """The sessions of a file or directory that the format recognises, each of them checked and whole."""
    assert form.detect(source(name))
    sessions = form.read(source(name))
    for session in sessions:
        check(session)
        assert not session.partial
    return sessions


def share(session: Session) -> float:
    """Median over the calls of what a quarter of the prompt's characters is of the prompt tokens reported."""
    surface: list[SurfaceEvent] = []
    header, shares = 0, []
    for event in session.events:
        if isinstance(event, RequestHeader):
            header = len(event.system or "") + len(event.tools)
        elif isinstance(event, SurfaceRewind):
            keep = [node.seq for node in surface].index(event.to_seq) + 1 if event.to_seq >= 0 else 0
            del surface[keep:]
        elif isinstance(event, SurfaceEvent):
            if isinstance(event, AssistantMessage) and event.usage:
                prompt = event.usage.total - event.usage.output_tokens
                shares.append((header + sum(map(size, surface))) / 4 / prompt)
            replaced = getattr(event, "replaces", None)
            if replaced is None:
                surface.append(event)
            else:
                first, last = ([node.seq for node in surface].index(seq) for seq in replaced)
                surface[first : last + 1] = [event]
    return median(shares)


def size(event: SurfaceEvent) -> int:
    return sum(
        len(block.arguments) + len(block.name) if isinstance(block, ToolUse) else len(getattr(block, "text", ""))
        for block in event.content
    )
