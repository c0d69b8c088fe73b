"""The table of docs/hosts.md: python benchmarks/hosts.py

In each framework the same session is run by the framework itself with a scripted model, once with nothing, once with
the framework's own pruning, and with refold. Needs the environments that `make hosts` makes.
"""

import importlib
import json
import statistics
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from frameworks.session import CALLS, held

from refold.prefix import common_text

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "hosts.md"
ENVIRONMENTS = {
    "LangChain": ("langchain_run", "langchain"),
    "pydantic-ai": ("pydantic_ai_run", "pydantic-ai-harness"),
    "OpenAI Agents": ("openai_agents_run", "openai-agents"),
    "OpenHands": ("openhands_run", "openhands"),
}
TURNS = 8
LATE = 38  # turns of 52 messages: the next one passes 2,000


def main() -> None:
    lines = [
        "| framework | pruning | characters sent | of the last prompt kept | new to a cache "
        "| ms a call, 100 messages | 2,000 messages | first call at 2,000 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for framework, (module, environment) in ENVIRONMENTS.items():
        python = ROOT / ".cache" / "hosts" / environment / "bin" / "python"
        if not python.exists():
            raise SystemExit(f"{python} is not there: run `make hosts` first")
        done = subprocess.run([python, __file__, module], stdout=subprocess.PIPE, text=True, check=True)
        for row in json.loads(done.stdout.splitlines()[-1]):
            lines.append(f"| {framework} | {' | '.join(row)} |")
    page = PAGE.read_text("utf-8")
    head, _, rest = page.partition("<!-- table -->\n")
    tail = rest[rest.index("<!-- end -->") :]
    PAGE.write_text("\n".join([f"{head}<!-- table -->", *lines, tail]), "utf-8")


def measured(module: str) -> list[list[str]]:
    """A row for each way of pruning."""
    host = importlib.import_module(f"frameworks.{module}")
    rows = []
    for contender, make in host.CONTENDERS.items():
        sent = host.run(make, 0, TURNS)
        late = host.run(make, LATE, 1)
        total = sum(sum(map(len, call.texts)) for call in sent)
        kept, could = prefixes(sent)
        early = [call.seconds for place, call in enumerate(sent) if 94 <= held(place) <= 106]
        first = LATE * (CALLS + 1)
        warm = [call.seconds for place, call in enumerate(late, first) if 1994 <= held(place) <= 2006]
        times = (statistics.median(early), statistics.median(warm), late[0].seconds)
        sizes = (f"{total:,}", f"{kept / could:.1%}", f"{total - kept:,}")
        rows.append([contender, *sizes, *(f"{1000 * seconds:.2f}" for seconds in times)])
    return rows


def prefixes(sent: list[Any]) -> tuple[int, int]:
    """Characters that prompts have in common with the one before, and those of the ones before."""
    kept = could = 0
    for last, now in pairwise(sent):
        could += sum(map(len, last.texts))
        for one, other in zip(last.texts, now.texts, strict=False):
            if one is other or one == other:
                kept += len(one)
            else:
                kept += common_text(one, other)
                break
    return kept, could


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measured(sys.argv[1])))
    else:
        main()
