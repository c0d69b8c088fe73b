"""How much memory and time a long transcript takes: python benchmarks/long_transcripts.py DATA [MEGABYTES]

The turns of a real file are repeated under fresh ids until it is as long as asked for. Each figure is of a process of
its own: the most memory it had, less what `import refold` takes. Then the time that joining results to calls takes.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any

HERE = Path(__file__).parent
NAMES = re.compile(rb'("(?:uuid|parentUuid|messageId)":"|toolu_|msg_|req_|call_)([0-9A-Za-z]{8})')


def fresh(line: bytes, number: int) -> bytes:
    """The line with the first eight characters of every id replaced: within a repetition ids still differ and agree."""
    return NAMES.sub(lambda found: found[1] + b"%08x" % number, line)


def json_lines(original: Path, size: int) -> Iterator[bytes]:
    """The first line, then all others again and again."""
    first, *rest = original.read_bytes().splitlines()
    yield first + b"\n"
    written = 0
    for number in count():
        for line in rest:
            made = fresh(line, number) + b"\n"
            written += len(made)
            yield made
        if written >= size:
            return


def one_request(original: Path, size: int) -> Iterator[bytes]:
    """A request whose list has the messages behind the first two again and again."""
    request = json.loads(original.read_bytes())
    head, turns = request["messages"][:2], request["messages"][2:]
    rows = b", ".join(json.dumps(row).encode() for row in turns)
    beside = {key: value for key, value in request.items() if key in ("model", "tools")}
    yield json.dumps({**beside, "messages": head}).encode().removesuffix(b"]}")
    for number in range(size // len(rows) + 1):
        yield b", " + fresh(rows, number)
    yield b"]}"


FILES: dict[str, tuple[str, Callable[[Path, int], Iterator[bytes]]]] = {
    "claude_code": ("claude_code/entire-cli_57-f1f346970c-1.jsonl", json_lines),
    "codex": ("codex/moonmind_rollout-2025-11-13T16-00-16-019a7fa9-a846-7393-8d7a-9997d08b0096.jsonl", json_lines),
    "openai_chat": (
        "openai_chat/openhands-sdk_llm-logs__litellm_proxy__anthropic__claude-sonnet-4-20250514-1757015046.707.json",
        one_request,
    ),
}


def read(path: str) -> None:
    """In a process of its own: what it takes to read the session, event by event."""
    import refold  # noqa: F401

    sys.path.insert(0, str(HERE))
    from timed import peak_memory

    start, facts = process_time(), {}
    if path:
        from refold.transcripts import open_session

        log = open_session(path)
        facts = {"format": log.format, "events": sum(1 for _ in log), "seconds": process_time() - start}
    print(json.dumps({"peak": peak_memory(), **facts}))


def joined(results: int, *, empty: bool) -> float:
    """CPU seconds for a session of so many steps, a call and its result in each; `empty`: none of them has an id."""
    from refold.events import Text, ToolUse
    from refold.events.formats._journal import Journal

    journal, start = Journal(), process_time()
    for number in range(results):
        id_ = "" if empty else str(number)
        asked = (ToolUse(id_, "read", "{}"),)
        journal.request(0)
        journal.answer(0, asked)
        journal.calls(0, asked)
        journal.result(0, id_, (Text("x"),))
    journal.session("s")
    return process_time() - start


def measured(path: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, "--read", path], stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))


def main(data: Path, size: int) -> None:
    print("| format | file, MB | events | peak memory, MB | of the file | CPU, s |\n|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        nothing = measured("")["peak"]
        for name, (original, repeated) in FILES.items():
            path = Path(folder, name)
            with path.open("wb") as file:
                file.writelines(repeated(data / original, size))
            whole, found = path.stat().st_size, measured(str(path))
            assert found["format"] == name
            peak = found["peak"] - nothing
            cells = (f"{whole / 1e6:.1f}", f"{found['events']:,}", f"{peak / 1e6:.1f}", f"{peak / whole:.2f}")
            print(f"| {name} | {' | '.join(cells)} | {found['seconds']:.1f} |", flush=True)
    print("\n| results joined to their calls | an id each, CPU s | all ids empty, CPU s |\n|--:|--:|--:|")
    for results in (1_000, 10_000, 100_000):
        print(f"| {results:,} | {joined(results, empty=False):.2f} | {joined(results, empty=True):.2f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--read":
        read(sys.argv[2])
    else:
        main(Path(sys.argv[1]), int(sys.argv[2] if len(sys.argv) > 2 else "60") * 1_000_000)
