"""docs/policies.md and docs/embedding.md: every Python block prints what the page shows, and no member is missing."""

import inspect
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from refold.lab.peers import PEERS
from refold.laws import check
from refold.reducer import Part, Policy, how, presets, ripe, when, which

ROOT = Path(__file__).parents[1]
POLICIES = (ROOT / "docs/policies.md").read_text()
SNIPPET = re.compile(r"^```python\n(.*?)^```\n(?:\n((?:    [^\n]*\n)+))?", re.S | re.M)
MEMBERS = [*get_args(when.WhenRule), *get_args(which.WhichRule), *get_args(ripe.RipeRule), *get_args(how.HowRule)]
MAKERS = {**presets.PRESETS, **PEERS}


def run(page: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The names that a page's blocks leave behind, and of each what it prints beside what the page shows."""
    names: dict[str, Any] = {"__name__": "page"}
    prints = []
    for code, shown in SNIPPET.findall((ROOT / "docs" / page).read_text()):
        out = StringIO()
        with redirect_stdout(out):
            exec(compile(code, page, "exec"), names)
        prints.append((out.getvalue(), re.sub("^    ", "", shown, flags=re.M)))
    return names, prints


def row(name: str) -> str:
    """The row of the page's tables for a member, or for a preset or peer, and those that go on with it."""
    found = re.search(rf"^\| `{re.escape(name)}` \|.*\n(?:\| \|.*\n)*", POLICIES, re.M)
    assert found is not None, f"{name} has no row"
    return found[0]


@pytest.mark.parametrize("page", ["policies.md", "embedding.md"])
def test_every_block_prints_what_the_page_shows(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    _, prints = run(page)
    assert len(prints) >= 3
    for printed, shown in prints:
        assert printed == shown


def test_the_policies_of_the_page_keep_the_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (text,) = re.findall(r"^```json\n(.*?)^```", POLICIES, re.S | re.M)
    for policy in (msgspec.json.decode(text, type=Policy), run("policies.md")[0]["first_lines"]):
        report = check(policy, sessions=15, seed=1)
        assert report.ok, report.laws


@pytest.mark.parametrize("member", [*MEMBERS, Part], ids=lambda member: member.__name__)
def test_every_field_of_every_member_is_named(member: type[msgspec.Struct]) -> None:
    shown = POLICIES if member is Part else row(member.__name__)
    assert [name for name in member.__struct_fields__ if f"`{name}`" not in shown] == []


@pytest.mark.parametrize("name", MAKERS)
def test_every_parameter_of_a_preset_or_peer_stands_with_its_default(name: str) -> None:
    shown = row(name)
    for parameter in inspect.signature(MAKERS[name]).parameters.values():
        assert f"`{parameter.name}` = {_spelled(parameter.default)}" in shown


def _spelled(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, int):
        return str(default)
    text = default if isinstance(default, str) else " ".join(default)
    return f"`{text}`" if text else "nothing"
