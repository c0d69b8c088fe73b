"""Prints docs/transcripts.md: what refold reads in each file of a folder of transcripts.

python benchmarks/transcripts.py DATA > docs/transcripts.md
"""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

import msgspec

from refold.events import (
    AssistantMessage,
    EndSeed,
    LogError,
    RefoldError,
    SurfaceEvent,
    SurfaceRewind,
    ToolResult,
    UserMessage,
)
from refold.events.formats import Session
from refold.reducer import Counted, Reducer, presets
from refold.reducer.which import code_points
from refold.transcripts import sessions_of

HEAD = """# What refold reads in public transcripts

Made by `python benchmarks/transcripts.py DATA`; a conformance test compares the counts. Sub-agents are counted with the
session that spawned them. Results over 8,192 are in code points. A reset is a replacement of messages, a rewind, or a
resume. *Prompt ratio*: tiktoken's count of the messages before each answer against the input that the provider reported
for it, the median over the file's calls with usage. It is below 1 because tools are not counted, where the transcript
leaves out the system prompt, which most do, and where a provider's tokenizer is finer than o200k_base; readers that
would place a message twice, or miss one, would show here. What is off by more than 3 times stands below with its cause.

Refused: two Codex files hold no message; one DSH fixture has a broken row before the end of a turn, one cites rows that
come later, one has `request/header-delta` and one messages without `surfaceOp`, which DSH itself no longer reads;
Cursor, Droid and Grok are formats that refold does not know.

| file | format | sessions | events | calls | results | over 8,192 | with usage | resets | prompt ratio |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"""

OFF = """
## Calls off by more than 3 times

How many of a file's calls have a prompt ratio below 1/3 or above 3, and how many still do when what the first prompt
has beyond its messages is added to all (anew after a compaction): the system prompt, the tools and what stands before
the file's first line. Where none are left, that missing head is the cause.

| file | calls | below 1/3 | above 3 | with the head | cause |
|---|--:|--:|--:|--:|---|"""

MANIFEST = """
## Where the collection's manifest counts otherwise

The collection that these files come from has a manifest, which counts calls, results and results over 8,192 characters
too. Where its figures are others than those of the first table, this is why.

- **A step without an answer** is none of the calls above, which are answers. `kimi_cli/kimi-code_large-100msgs_wire`
  has one, `kimi_cli/agent-sessions_wire_assistant_tools` one that the manifest counts (and a summary's call that it
  does not).
- **anthropic_messages**, `..._compaction_usage_with_cache`: a compaction on the server is a call with usage of its own.
- **claude_code**: the manifest counts the main session alone, the table its sub-agents, too
  (`kimi-cli_28-db10720a96-0`, `kimi-cli_90-e87d8e1a99-1`, `kimi-cli_f5-98a8c28cfd-2`). An answer that Claude Code wrote
  itself (model `<synthetic>`) is no call (`entire-cli_5a-c45bc32212-0`, `entire-cli_a6-e4c2a0fbd1-0`). A text and a
  tool use on one line are one call, and not two (both `agent-sessions_subagent...`).
- **codex**: the manifest counts usage reports, the table answers (`agent-sessions_codex_large`, `..._small`); a
  `tool_search_output` is a result, too (`..._small`); items in the old form, without a payload around them, are read as
  well (`..._schema_drift`). A result is measured as the model is sent it, with the JSON around its output
  (`moonmind_rollout-2025-11-13T16-00-16...`).
- **copilot_cli**: the manifest counts no calls.
- **gemini_cli**, `agent-sessions_large`: the manifest counts messages of type `gemini`, not the two of type `model`.
- **langchain** (`langfuse_langgraph-python-2025-08-22`) and **otel_genai** (`langfuse_koog-2025-08-26`): results that
  have no id in the prompt are results all the same.
- **openai_chat**: of a logged request the manifest counts the answers in its list; the response is one more (all files
  but `openhands-sdk_fncall-llm-message`).
- **opencode**, `agent-sessions_storage_v2`: the manifest counts no calls, and no results in parts.
- **openhands**: the errors of two calls whose answers are not in the log are no results (V0); an answer that asks for
  no tool is a call, too (V1).
- **pi**, `agent-sessions_small`: an answer that a compaction kept and put back behind its summary stands in the log,
  and in the table, twice; its usage is counted once.
- **qwen_code**, `..._000000000004`: the manifest counts lines; two of them have one uuid and are one answer.
- **Refused** files (two of codex, four of dsh, four of other harnesses) are counted there as far as lines can be."""

MEMORY = """
## Long transcripts

`python benchmarks/long_transcripts.py DATA 60`: the turns of one real file, repeated under fresh ids. Peak memory is
that of a process beyond what `import refold` takes. Of JSON lines a reader holds the events and never the text, so a
session of many small messages costs more than one of long results. Claude Code and Codex transcripts are read so, twice
over; the other formats of lines hold their records while they are read. A JSON document is decoded whole: there the
memory is several times the file, the more the smaller its messages are. Counting tokens needs 77 MB more for the
vocabulary, whatever the file.

"""

MISSING = "the transcript leaves out system prompt and tools"
SANITISED = "a sanitised fixture: texts shortened or left out, usage as it was"
INVENTED = "a hand-made fixture: its usage was made up"
SCRIPTED = "a scripted model: its usage was made up (3 to 24 tokens)"
PLACEHOLDER = "a fixture with placeholders for system prompt and tools"
ANTHROPIC = "Anthropic puts instructions of its own before tools and thinking; the prompts are short"
CAUSES = {
    "anthropic_messages/pydantic-ai_test_pause": "web search on the server: each inner search sends its prompt again",
    "anthropic_messages/": ANTHROPIC,
    "claude_code/agent-sessions_": SANITISED,
    "claude_code/claude-code-log_": INVENTED,
    "claude_code/entire-cli_a6": "the file begins in mid-session, at a prompt of 152,294 tokens",
    "claude_code/": MISSING,
    "codex/": SANITISED,
    "dsh/dsh_approval": PLACEHOLDER,
    "dsh/dsh_fs-edit": PLACEHOLDER,
    "dsh/dsh_subagent": PLACEHOLDER,
    "dsh/": SCRIPTED,
    "gemini_cli/agent-sessions_": SANITISED,
    "gemini_cli/": MISSING,
    "inspect_ai/": "an image: tiktoken counts its base64 text, the provider 85 tokens and more for the tiles",
    "kimi_cli/kimi-code_large-100msgs_context": "a sanitised fixture: results cut to about 600 characters "
    "(the same calls have up to 16,743 in its wire log), usage as it was",
    "kimi_cli/agent-sessions_": SANITISED,
    "kimi_cli/": MISSING,
    "opencode/": SANITISED,
    "otel_genai/langfuse_claude-agent": "the spans report the input without what was read from the cache, and not that",
    "pi/": MISSING,
}


class Row(msgspec.Struct, frozen=True):
    file: str
    format: str
    counts: tuple[int, ...]
    ratios: tuple[float, ...]
    headed: tuple[float, ...]

    @property
    def low(self) -> int:
        return sum(ratio < 1 / 3 for ratio in self.ratios)

    @property
    def high(self) -> int:
        return sum(ratio > 3 for ratio in self.ratios)


def row(path: Path, folder: Path) -> Row | str:
    """A file's counts, or why it is refused."""
    name = path.relative_to(folder).as_posix()
    try:
        known, sessions = sessions_of(str(path))
    except RefoldError as refused:
        return f"| {name} | refused: {_why(refused, path)} | | | | | | | | |"
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
    found = [pair for session in sessions for pair in ratios(session)]
    return Row(name, known.name, counts, tuple(bare for bare, _ in found), tuple(headed for _, headed in found))


def _why(refused: RefoldError, path: Path) -> str:
    if isinstance(refused, LogError):
        places = (("line", refused.line), ("seq", refused.seq))
        where = ", ".join(f"{name} {place}" for name, place in places if place is not None)
        return f"{where}: {refused.rule}" if where else refused.rule
    return str(refused).removeprefix(f"{path}: ")


def _is_reset(event: object) -> bool:
    if isinstance(event, SurfaceEvent):
        return getattr(event, "replaces", None) is not None
    return isinstance(event, SurfaceRewind | EndSeed)


def ratios(session: Session) -> list[tuple[float, float]]:
    """For each answer with usage: tokens of the prompt before it, by tiktoken, over the input reported; and the same
    with what the first prompt (the first after a compaction) has beyond them."""
    reducer = Reducer(presets.none(), Counted())
    view = reducer.start()
    found = []
    head: int | None = None
    for event in session.events:
        if isinstance(event, UserMessage) and event.replaces is not None:
            head = None
        if isinstance(event, AssistantMessage) and event.usage is not None:
            usage = event.usage
            reported = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
            if reported:
                shown = reducer.measure(view).tokens or 0
                head = max(0, reported - shown) if head is None else head
                found.append((shown / reported, (shown + head) / reported))
        view = reducer.fold(view, event)
    return found


def off(made: Row) -> str | None:
    """The row of a file with calls that are off by more than 3 times. Raises KeyError where no cause is known."""
    if not made.low + made.high:
        return None
    cause = next((cause for start, cause in CAUSES.items() if made.file.startswith(start)), None)
    if cause is None:
        raise KeyError(f"{made.file}: {made.low + made.high} calls are off by more than 3 times; look for the cause")
    left = sum(not 1 / 3 <= ratio <= 3 for ratio in made.headed)
    return f"| {made.file} | {len(made.ratios)} | {made.low} | {made.high} | {left} | {cause} |"


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
    made = [row(path, folder) for path in paths(folder)]
    read = [each for each in made if isinstance(each, Row)]
    print(HEAD)
    for each in made:
        print(each if isinstance(each, str) else _line(each))
    by_format: dict[str, list[float]] = defaultdict(list)
    for each in read:
        by_format[each.format] += each.ratios
    print("\n| format | calls with usage | median prompt ratio |\n|---|--:|--:|")
    for name in sorted(by_format):
        if by_format[name]:
            print(f"| {name} | {len(by_format[name])} | {median(by_format[name]):.2f} |")
    print(OFF)
    print("\n".join(line for each in read if (line := off(each))))
    print(MANIFEST)
    print(MEMORY, end="", flush=True)
    subprocess.run([sys.executable, Path(__file__).with_name("long_transcripts.py"), folder], check=True)


def _line(made: Row) -> str:
    ratio = f"{median(made.ratios):.2f}" if made.ratios else ""
    return f"| {made.file} | {made.format} | {' | '.join(map(str, made.counts))} | {ratio} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
