"""`refold laws`: check a preset, or a policy of one's own, against every law."""

import sys
import tempfile

import click
import msgspec

from refold.cli._options import as_json
from refold.cli._output import console, print_json, table
from refold.cli._policy import policy_of
from refold.events import PolicyError


@click.command()
@click.argument("policy", metavar="POLICY")
@click.option("--seed", type=int, default=None, help="Repeat the run that printed this seed.")
@as_json
def laws(policy: str, seed: int | None, as_json: bool) -> None:
    """Check POLICY against every law on generated sessions. Exits 1 where it breaks one it does not declare."""
    checked = policy_of(policy)
    try:
        from hypothesis.configuration import set_hypothesis_home_dir

        from refold.laws import check
    except ImportError as error:
        raise PolicyError(f"checking laws needs hypothesis: pip install 'refold[laws]' ({error})") from None
    with tempfile.TemporaryDirectory() as home:  # else hypothesis leaves a folder where the user stands
        set_hypothesis_home_dir(home)
        report = check(checked, seed=seed)
    if as_json:
        print_json(msgspec.to_builtins(report))
    else:
        console().print(f"policy {checked.name}   seed {report.seed}")
        shown = table("law", "answer")
        for law, answer in report.laws.items():
            shown.add_row(law, answer)
        console().print(shown)
        console().print("   ".join(f"{name} {count}" for name, count in report.counts.items()))
    sys.exit(0 if report.ok else 1)
