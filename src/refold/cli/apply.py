"""`refold apply`: the log with its operations committed, valid for the harness that wrote it."""

import os
import sys
from collections.abc import Iterable
from typing import Any

import click

from refold.cli import _options as options
from refold.cli._output import console, number, print_json
from refold.cli._session import about, folded, opened, reducer_for
from refold.commit import Commit
from refold.events import append_replacements
from refold.files import OutputError, as_named, at_rest, is_packed_name, save
from refold.transcripts import rewritten


@click.command()
@options.session
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="The file to write: zstd where its name ends in .zstd or .zst, else plain. - is standard output.",
)
@click.option("--force", is_flag=True, help="Overwrite OUT if it exists.")
@options.transcript_format
@options.policy("keep3")
@options.meter
@options.max_line
@options.as_json
def apply(
    session: str,
    output: str,
    force: bool,
    format: str | None,
    policy: str,
    meter: str | None,
    max_line: int,
    as_json: bool,
) -> None:
    """Write SESSION to OUT with its due operations committed. SESSION itself is never changed.

    A DSH log grows by events; in a list of messages only the contents that are cut differ. On standard output a log has
    the compression of SESSION, and what is told of it goes to standard error.
    """
    piped = output == "-"
    if piped and as_json:
        raise click.UsageError("-o - gives standard output to the log: leave out --json, or name a file")
    if os.path.isdir(session) and (kind := opened(session, max_line, format).format) != "dsh":
        raise OutputError(f"{session} is a folder of the format {kind}, which is only read; only files are written")
    with at_rest(session) as blocks:
        log = opened(session, max_line, format, blocks=blocks())
        reducer = reducer_for(log, policy, meter, "commit")
        commit = Commit(reducer, folded(reducer, log), log.version)
        notes: list[str] = []
        written: Iterable[bytes]
        if log.format == "dsh":
            written = append_replacements(blocks, commit.replacements, name=session, max_line=max_line, notes=notes)
            if not piped:
                written = as_named(output, written, log.version)
        elif is_packed_name(output):
            raise OutputError(f"{output}: a transcript of the format {log.format} is written plain; name it so")
        else:
            written = [rewritten(b"".join(blocks()), session, log.format, commit.contents)]
        if piped:
            for piece in written:
                sys.stdout.buffer.write(piece)
        else:
            save(output, written, force=force, original=session)
        for note in notes if piped or is_packed_name(output) else ():
            click.echo(f"refold: {session}: {note}", err=True)
    facts = {**about(reducer), "output": output, **report(commit)}
    if as_json:
        print_json(facts)
    elif piped:
        click.echo(f"refold: {_told(facts)}", err=True)
    else:
        console().print(_told(facts))


def _told(facts: dict[str, Any]) -> str:
    if not facts["pruned"]:
        return f"nothing due: {facts['output']} is the same log"
    removed, freed = number(facts["chars_removed"]), number(facts["tokens_freed"])
    return f"{len(facts['pruned'])} cut, {removed} chars and {freed} tokens less: {facts['output']}"


def report(commit: Commit) -> dict[str, Any]:
    """What the official pruner reports of a pass, and what it saves by the reducer's meter."""
    pairs = list(zip(commit.operations, commit.written, strict=True))
    return {
        "pruned": [
            {
                "original_seq": operation.seq,
                "replacement_seq": seq,
                "call_id": operation.before.call_id,
                "chars_before": operation.chars_before,
                "chars_after": operation.chars_after,
            }
            for operation, seq in pairs
        ],
        "chars_removed": sum(operation.chars_before - operation.chars_after for operation, _ in pairs),
        "tokens_freed": sum(operation.tokens_before - operation.tokens_after for operation, _ in pairs),
    }
