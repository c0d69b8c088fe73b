"""What a reader found in a transcript, counted as the manifest counts, and weighed against the usage it reports."""

from collections.abc import Iterable, Iterator
from statistics import median

from tests.conformance.manifest import Counts

from refold.events import (
    AssistantMessage,
    Opaque,
    Reasoning,
    RequestHeader,
    StepStart,
    SurfaceEvent,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    UserMessage,
)
from refold.events.formats._source import Session
from refold.reducer import Counted, Reducer, Reported, presets

LARGE_CHARS = 8192
IMAGE_TOKENS = 1600


def counts(sessions: Iterable[Session]) -> Counts:
    steps = large = errors = thinking = 0
    results = 0
    prompts: list[int] = []
    for event in (event for session in sessions for event in session.events):
        match event:
            case StepStart():
                steps += 1
            case ToolResult(replaces=None):
                results += 1
                errors += event.is_error
                large += sum(len(block.text) for block in event.content if isinstance(block, Text)) > LARGE_CHARS
            case AssistantMessage():
                thinking += sum(isinstance(block, Reasoning) for block in event.content)
                if event.usage is not None:
                    prompts.append(prompt_tokens(event.usage))
    return Counts(steps, results, large, max(prompts, default=None), errors, thinking)


def prompt_tokens(usage: Usage) -> int:
    """The size of a prompt as its provider counted it: fresh, read from the cache and written to it."""
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens


def ratios(session: Session) -> Iterator[float]:
    """For each call with usage: characters / 4 of what the surface shows, over the reported prompt.

    No transcript here tells the system prompt and the tools. What the first call's prompt has beyond its surface is
    taken for them from there on, and again after each compaction, which brings back files that are not told either.
    """
    reducer = Reducer(presets.none(), Reported())
    view = reducer.start()
    head: float | None = None
    tools = 0
    for event in session.events:
        if isinstance(event, AssistantMessage) and event.usage is not None:
            prompt = prompt_tokens(event.usage)
            shown = sum(map(_tokens, reducer.messages(view))) + tools / 4
            head = max(0, prompt - shown) if head is None else head
            yield (shown + head) / prompt
        elif isinstance(event, RequestHeader):
            tools = len(event.tools)
        elif isinstance(event, UserMessage) and event.replaces is not None:
            head = None
        view = reducer.fold(view, event)


def prompts(session: Session) -> dict[int, tuple[int, int]]:
    """For each call with usage, by its answer's seq: the prompt as reported, and the surface before it by tiktoken."""
    reducer = Reducer(presets.none(), Counted())
    view = reducer.start()
    found = {}
    for event in session.events:
        if isinstance(event, AssistantMessage) and event.usage is not None:
            found[event.seq] = prompt_tokens(event.usage), reducer.measure(view).tokens or 0
        view = reducer.fold(view, event)
    return found


def weighed(session: Session) -> tuple[float, float] | None:
    """The median and the greatest of `ratios`, None without usage."""
    found = list(ratios(session))
    return (median(found), max(found)) if found else None


def _tokens(message: SurfaceEvent) -> float:
    total = 0.0
    for block in message.content:
        match block:
            case Text() | Reasoning():
                total += len(block.text) / 4
            case ToolUse():
                total += (len(block.name) + len(block.arguments)) / 4
            case Opaque():
                total += min(len(block.json) / 4, IMAGE_TOKENS)
    return total
