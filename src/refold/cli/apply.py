"""`refold apply`: the log with its operations committed, valid for the harness that wrote it."""

from collections.abc import Iterable
from typing import Any

import click

from refold.cli import _options as options
from refold.cli._output import console, number, print_json
from refold.cli._session import about, folded, opened, reducer_for
from refold.commit import Commit
from refold.events import append_replacements
from refold.files import at_rest, save
from refold.transcripts import rewritten


@click.command()
@options.session
@click.option("-o", "--output", required=True, metavar="OUT", help="The file to write.")
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

    A DSH log grows by events; in a list of messages only the contents that are cut differ.
    """
    with at_rest(session) as blocks:
        log = opened(session, max_line, format, blocks=blocks())
        reducer = reducer_for(log, policy, meter, "commit")
        commit = Commit(reducer, folded(reducer, log), log.version)
        notes: list[str] = []
        written: Iterable[bytes]
        if log.format == "dsh":
            written = append_replacements(blocks, commit.replacements, name=session, max_line=max_line, notes=notes)
        else:
            written = [rewritten(b"".join(blocks()), session, log.format, commit.contents)]
        save(output, written, force=force, original=session)
        for note in notes:
            click.echo(f"refold: {session}: {note}", err=True)
    facts = {**about(reducer), "output": output, **report(commit)}
    if as_json:
        print_json(facts)
    elif commit.operations:
        freed = number(facts["tokens_freed"])
        console().print(
            f"{len(commit.operations)} cut, {number(facts['chars_removed'])} chars and {freed} tokens less: {output}"
        )
    else:
        console().print(f"nothing due: {output} is the same log")


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
