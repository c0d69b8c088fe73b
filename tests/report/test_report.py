"""The report of `refold compare`, opened in headless Chromium and clicked through, on a light and on a dark screen."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.oracle_client import install
from tests.sessions import Script

from refold.events import Text
from refold.lab.compare import Contender, compare, debt_for
from refold.lab.ledger import Prices
from refold.lab.peers import mask_oldest
from refold.lab.providers import IDEAL
from refold.lab.report import report
from refold.lab.totals import rows
from refold.reducer.presets import none

pytestmark = pytest.mark.report

HERE = Path(__file__).parent
HOSTILE = "</script><img src=http://127.0.0.1/x onerror=alert(1)>"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 23, 28)"


def session(reads: int, again: bool) -> Script:
    """A turn of reads; at last the model speaks of what the first of them said, if `again`."""
    script = Script()
    script.start_turn()
    script.user("Find where the limit is set.")
    for place in range(reads):
        script.tool_step(f"src/limit_{place}.py sets max_limit_{place} = {place * 7_919}\n" + "some words " * 300)
    if again:
        script.start_step()
        script.answer(Text("It is max_limit_0 in src/limit_0.py."))
        script.end_step()
    script.end_turn()
    return script


def page() -> str:
    contenders = (
        Contender("none", lambda prices, rules: none()),
        Contender("debt", debt_for),
        Contender("mask-oldest:keep=3", lambda prices, rules: mask_oldest(3)),
    )
    found = [
        compare(name, script.events, contenders, Prices(100, 1250), IDEAL)
        for name, script in (("long.jsonl", session(30, True)), (HOSTILE, session(6, False)))
    ]
    return report(found, rows(found))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the screenshots lie: REFOLD_PICTURES, to be looked at, or a folder that goes away."""
    kept = os.environ.get("REFOLD_PICTURES")
    return Path(kept) if kept else tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def seen(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the browser saw, by colour scheme."""
    folder = install(HERE)
    script = shutil.copy(HERE / "clicks.mjs", folder)
    told = tmp_path_factory.mktemp("report") / "report.html"
    told.write_text(page(), "utf-8")
    # The package unpacks the browser into TMPDIR, and for a name of this kind the libraries that a bare system lacks.
    unpacked = folder / "browser"
    unpacked.mkdir(exist_ok=True)
    settings = {**os.environ, "TMPDIR": str(unpacked), "AWS_LAMBDA_JS_RUNTIME": "nodejs22.x"}
    done = subprocess.run(
        ["node", script, told, pictures], env=settings, cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.parametrize(("scheme", "paper", "other"), [("light", LIGHT, DARK), ("dark", DARK, LIGHT)])
def test_the_page_follows_the_screen_and_the_button_turns_it_over_and_back(
    seen: dict[str, Any], scheme: str, paper: str, other: str
) -> None:
    facts = seen[scheme]
    assert (facts["paper"], facts["switched"], facts["back"]) == (paper, other, paper)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_policy_has_a_row_and_a_point_with_its_name(seen: dict[str, Any], scheme: str) -> None:
    facts = seen[scheme]
    assert facts["rows"] == ["none", "debt", "mask-oldest:keep=3"]
    assert facts["dots"] == 3
    assert sorted(facts["names"]) == sorted(facts["rows"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_choosing_a_policy_and_a_session_draws_its_calls_and_cuts(seen: dict[str, Any], scheme: str) -> None:
    facts = seen[scheme]
    assert facts["first"]["policy"] == "debt", "the first that cuts"
    assert facts["first"]["calls"] == 31
    # Masking begins at the fifth call and goes on at each: 27 calls, and the last words need the first result again.
    assert (facts["other"]["policy"], facts["other"]["calls"], facts["other"]["cuts"]) == ("mask-oldest:keep=3", 31, 27)
    assert facts["other"]["needs"] == 1
    assert facts["second"]["session"].startswith(HOSTILE)
    assert facts["second"]["policy"] == "mask-oldest:keep=3", "the choice is kept"
    assert (facts["second"]["calls"], facts["second"]["cuts"]) == (6, 2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_call_tells_its_figures_to_the_pointer_and_to_the_keyboard(seen: dict[str, Any], scheme: str) -> None:
    facts = seen[scheme]
    assert facts["hovered"].startswith("Turn 1, step 31: ")
    assert "cut: results" in facts["hovered"]
    assert facts["focused"].startswith("Turn 1, step 2: ")
    assert facts["clicked"].startswith("Turn 1, step 3: ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_asked_of_a_network_and_nothing_goes_wrong(seen: dict[str, Any], scheme: str) -> None:
    assert (seen[scheme]["asked"], seen[scheme]["said"]) == ([], [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_never_wider_than_the_window(seen: dict[str, Any], scheme: str) -> None:
    assert seen[scheme]["wider"] == {"1200": 0, "390": 0}
