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
from refold.events.formats._source import Format, Session, Source, TooDeep, decode_json

__all__ = ["FORMATS", "Format", "Session", "Source", "detect", "named", "read", "refuse_other"]

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
    _refuse_coded(source)
    for known in FORMATS:
        if _is(known, source):
            return known
    if not source.start:
        raise FormatError(f"{source.name}: is empty")
    _explain(source)
    tried = ", ".join(known.name for known in FORMATS)
    raise FormatError(f"{source.name}: is in no format that refold reads; tried {tried}")


def _refuse_coded(source: Source) -> None:
    """Raises FormatError for bytes that are a text only when they have been decoded."""
    if source.start.startswith(b"\x1f\x8b"):
        raise FormatError(f"{source.name}: is gzip-compressed: unpack it first (gunzip)")
    if source.start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(f"{source.name}: is UTF-16 text: convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)")


def _explain(source: Source) -> None:
    """Raises FormatError where there is a better reason than that no format is known: a long line, or broken JSON."""
    for _ in source.lines():
        pass
    if source.start.startswith((b"{", b"[")):
        try:
            decode_json(next(line for _, line in source.lines()), source.name)
        except TooDeep:
            raise
        except FormatError:
            source.document()


def refuse_other(source: Source, wanted: Format) -> None:
    """Raises FormatError where the content has no sign of the wanted format, and those of another one."""
    if _is(wanted, source):
        return
    other = next((known for known in FORMATS if _is(known, source)), None)
    if other is not None:
        raise FormatError(f"{source.name}: is no {wanted.title} ({wanted.name}): it looks like {other.name}")


def _is(known: Format, source: Source) -> bool:
    try:
        return known.detect(source)
    except RecursionError:
        return False


def read(source: Source, format: Format | str | None = None) -> tuple[Session, ...]:
    """The sessions in a source, the main one first. `format` is one of FORMATS or its name, None to tell by content.

    Raises FormatError (or LogError) where there is nothing to be read, and for what is plainly of another format.
    """
    known = detect(source) if format is None else named(format) if isinstance(format, str) else format
    if format is not None:
        _refuse_coded(source)
        refuse_other(source, known)
    try:
        return known.read(source)
    except RecursionError:
        raise FormatError(f"{source.name}: is nested too deeply to be read as {known.name}") from None
