"""Transcripts of other harnesses, providers and frameworks, read as sessions of events."""

from refold.events._errors import FormatError
from refold.events.formats import (
    anthropic_messages,
    claude_code,
    codex,
    copilot_cli,
    dsh,
    gemini_cli,
    inspect_ai,
    kimi_cli,
    langchain,
    mini_swe_agent,
    openai_chat,
    openai_responses,
    opencode,
    openhands,
    otel_genai,
    pi,
    pydantic_ai,
    qwen_code,
    swe_agent,
)
from refold.events.formats._source import Format, Session, Source

__all__ = ["FORMATS", "Format", "Session", "Source", "detect", "named", "read"]

FORMATS: tuple[Format, ...] = (
    dsh.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    gemini_cli.FORMAT,
    qwen_code.FORMAT,
    copilot_cli.FORMAT,
    opencode.FORMAT,
    pi.FORMAT,
    kimi_cli.FORMAT,
    openhands.FORMAT,
    swe_agent.FORMAT,
    mini_swe_agent.FORMAT,
    inspect_ai.FORMAT,
    pydantic_ai.FORMAT,
    langchain.FORMAT,
    otel_genai.FORMAT,
    openai_responses.FORMAT,
    anthropic_messages.FORMAT,
    openai_chat.FORMAT,
)
"""Every format, in the order in which `detect` asks them: what has a sign of its own stands before plain lists."""


def named(name: str) -> Format:
    """The format of this name. Raises FormatError, which lists them all."""
    found = next((known for known in FORMATS if known.name == name), None)
    if found is None:
        raise FormatError(f"no format is called {name!r}; there are {', '.join(known.name for known in FORMATS)}")
    return found


def detect(source: Source) -> Format:
    """The format of a source, by its content alone. Raises FormatError, which says what was tried."""
    for known in FORMATS:
        try:
            if known.detect(source):
                return known
        except RecursionError:
            continue
    tried = ", ".join(known.name for known in FORMATS)
    if not source.data.strip():
        raise FormatError(f"{source.name}: is empty")
    raise FormatError(f"{source.name}: is in no format that refold reads; tried {tried}")


def read(source: Source, format: Format | str | None = None) -> tuple[Session, ...]:
    """The sessions in a source, the main one first. `format` is one of FORMATS or its name, None to tell by content.

    Raises FormatError (or LogError) where there is nothing to be read.
    """
    known = detect(source) if format is None else named(format) if isinstance(format, str) else format
    try:
        return known.read(source)
    except RecursionError:
        raise FormatError(f"{source.name}: is nested too deeply to be read as {known.name}") from None
