"""Prints docs/transcripts.md: what refold reads in each file of a folder of transcripts.

python benchmarks/transcripts.py DATA > docs/transcripts.md
"""

import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

import msgspec

from refold.events import AssistantMessage, EndSeed, RefoldError, SurfaceEvent, SurfaceRewind, ToolResult
from refold.events.formats import Session
from refold.reducer import Counted, Reducer, presets
from refold.reducer.which import code_points
from refold.transcripts import sessions_of

HEAD = """# What refold reads in public transcripts

Made by `python benchmarks/transcripts.py DATA`; a conformance test compares the counts. Sub-agents are counted with the
session that spawned them. Results over 8,192 are in code points. A reset is a replacement of messages, a rewind, or a
resume. *Prompt ratio*: tiktoken's count of the messages before each answer against the input that the provider reported
for it, the median over the file's calls with usage. It is below 1 where the transcript leaves out the system prompt and
the tools, which most do, and where a provider's tokenizer is finer than o200k_base; readers that would place a message
twice, or miss one, would show here. Claude Code, Kimi, Gemini and OpenCode leave the most out (with the first call's
missing head added back, Claude Code's medians lie between 0.83 and 0.99). DSH's fixtures have usage figures that were
made up for tests (3 to 24 tokens), two hand-made claude-code-log files too. Anthropic's pause_turn counts the server's
inner searches.

Refused: two Codex files hold no message; one DSH fixture has a broken row before the end of a turn, one cites rows that
come later, one has `request/header-delta` and one messages without `surfaceOp`, which DSH itself no longer reads;
Cursor, Droid and Grok are formats that refold does not know.

| file | format | sessions | events | calls | results | over 8,192 | with usage | resets | prompt ratio |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"""


class Row(msgspec.Struct, frozen=True):
    file: str
    format: str
    counts: tuple[int, ...]
    ratios: tuple[float, ...]


def row(path: Path, folder: Path) -> Row | str:
    """A file's counts, or why it is refused."""
    name = path.relative_to(folder).as_posix()
    try:
        known, sessions = sessions_of(str(path))
    except RefoldError as refused:
        return f"| {name} | refused: {str(refused).replace(str(path), 'it')} | | | | | | | | |"
    events = [event for session in sessions for event in session.events]
    answers = [event for event in events if isinstance(event, AssistantMessage)]
    results = [event for event in events if isinstance(event, ToolResult) and event.replaces is None]
    counts = (
        len(sessions),
        sum(event.width for event in events),
        len(answers),
        len(results),
        sum(code_points(result.content) > 8192 for result in results),
        sum(answer.usage is not None for answer in answers),
        sum(map(_is_reset, events)),
    )
    return Row(name, known.name, counts, tuple(ratio for session in sessions for ratio in ratios(session)))


def _is_reset(event: object) -> bool:
    if isinstance(event, SurfaceEvent):
        return getattr(event, "replaces", None) is not None
    return isinstance(event, SurfaceRewind | EndSeed)


def ratios(session: Session) -> list[float]:
    """For each answer with usage: tokens of the prompt before it, by tiktoken, over the input reported."""
    reducer = Reducer(presets.none(), Counted())
    view = reducer.start()
    found = []
    for event in session.events:
        if isinstance(event, AssistantMessage) and event.usage is not None:
            usage = event.usage
            reported = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
            if reported:
                found.append((reducer.measure(view).tokens or 0) / reported)
        view = reducer.fold(view, event)
    return found


def paths(folder: Path) -> list[Path]:
    """Every transcript: files, and the directories that are one (OpenCode's storage, OpenHands V1's events)."""
    trees = [path.parents[1] for path in folder.rglob("session/*") if path.is_dir()]
    trees += [path.parent for path in folder.rglob("event-*.json")]
    whole = sorted({_root(tree, folder) for tree in trees})
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "MANIFEST.md"]
    return sorted([*whole, *(path for path in files if not any(path.is_relative_to(tree) for tree in whole))])


def _root(tree: Path, folder: Path) -> Path:
    """The directory two below the data folder: DATA/format/name."""
    parts = tree.relative_to(folder).parts
    return folder.joinpath(*parts[:2])


def main(folder: Path) -> None:
    by_format: dict[str, list[float]] = defaultdict(list)
    print(HEAD)
    for path in paths(folder):
        made = row(path, folder)
        if isinstance(made, str):
            print(made)
            continue
        by_format[made.format] += made.ratios
        ratio = f"{median(made.ratios):.2f}" if made.ratios else ""
        cells = " | ".join(map(str, made.counts))
        print(f"| {made.file} | {made.format} | {cells} | {ratio} |")
    print("\n| format | calls with usage | median prompt ratio |\n|---|--:|--:|")
    for name in sorted(by_format):
        if by_format[name]:
            print(f"| {name} | {len(by_format[name])} | {median(by_format[name]):.2f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
