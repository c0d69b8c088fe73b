"""`refold compare` and `refold audit`, from the command line to what scripts and people read."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from refold.cli._policy import policy_of
from refold.cli.audit import audit
from refold.cli.compare import compare
from refold.cli.policies import policies
from refold.cli.view import view
from refold.events import LogError, PolicyError
from refold.files import OutputError
from refold.lab.peers import qwen_watermark, swe_agent
from refold.reducer.presets import keep3

FORMATS = Path(__file__).parents[1] / "data" / "formats"
CLAUDE = str(FORMATS / "claude_code_microcompaction.jsonl")
PI = str(FORMATS / "pi_compaction.jsonl")
PRICED = ("--read-price", "0.1", "--write-price", "1.25")


def run(command: object, *words: str) -> Result:
    return CliRunner().invoke(command, words, catch_exceptions=False)  # type: ignore[arg-type]


def test_the_json_has_the_keys_that_scripts_rely_on() -> None:
    told = json.loads(run(compare, CLAUDE, PI, "--policy", "none", "--policy", "debt", *PRICED, "--json").stdout)
    assert [session["session"] for session in told["sessions"]] == [Path(CLAUDE).name, Path(PI).name]
    keys = {
        "policy",
        "cost_ratio",
        "worst_ratio",
        "best_ratio",
        "hindsight_ratio",
        "rewritten_tokens",
        "cuts",
        "regret",
    }
    assert [row["policy"] for row in told["policies"]] == ["none", "debt"]
    assert all(keys <= row.keys() for row in told["policies"])
    assert told["policies"][0] | {"cost_ratio": 1.0, "cuts": 0, "regret": 0} == told["policies"][0]


def test_a_model_without_a_price_is_refused_before_anything_is_printed() -> None:
    with pytest.raises(PolicyError, match="--read-price and --write-price"):
        run(compare, CLAUDE, "--model", "unheard-of")


def test_one_price_alone_is_refused() -> None:
    answer = run(compare, CLAUDE, "--read-price", "0.1")
    assert answer.exit_code == 2
    assert "given together" in answer.stderr


def test_of_many_sessions_one_that_cannot_be_read_is_named_and_left_out(tmp_path: Path) -> None:
    broken = tmp_path / "notes.txt"
    broken.write_text("no session at all")
    ended = run(compare, str(broken), CLAUDE, str(tmp_path / "gone"), "--policy", "none", *PRICED, "--json")
    assert [session["session"] for session in json.loads(ended.stdout)["sessions"]] == [Path(CLAUDE).name]
    assert ended.exit_code == 2
    named = [line for line in ended.stderr.splitlines() if line.endswith("; left out")]
    assert [line.split(": ")[1] for line in named] == [str(broken), str(tmp_path / "gone")]


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(PolicyError, match="there is no preset 'nonsense'"):
        run(compare, CLAUDE, "--policy", "nonsense", *PRICED)


def test_a_peer_is_named_like_a_preset_in_every_command() -> None:
    assert policy_of("swe-agent:polling=25") == swe_agent(polling=25)
    assert policy_of("keep3+qwen-watermark:keep=2") == keep3() + qwen_watermark(keep=2)
    shown = json.loads(run(view, CLAUDE, "--policy", "mask-oldest:keep=1", "--json").stdout)
    assert shown["policy"] == "mask-oldest"
    assert json.loads(run(policies, "--json").stdout)[-1]["laws"]["shrink"].startswith("broken: ")


def test_the_report_needs_no_network_and_is_not_overwritten(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    run(compare, CLAUDE, "--policy", "debt", *PRICED, "--html", str(page))
    text = page.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert "default-src 'none'" in text
    assert not any(sign in text for sign in ("http://", "https://", "src=", "@import", "@DATA@"))
    with pytest.raises(OutputError, match="--force"):
        run(compare, CLAUDE, "--policy", "debt", *PRICED, "--html", str(page))


def test_text_of_a_session_cannot_leave_the_report_s_data(tmp_path: Path) -> None:
    name = tmp_path / "a<script>x.jsonl"
    name.write_bytes(Path(CLAUDE).read_bytes())
    page = tmp_path / "report.html"
    run(compare, str(name), "--policy", "debt", *PRICED, "--html", str(page))
    assert "a<script>" not in page.read_text("utf-8")


def test_an_audit_fails_beyond_the_limit_and_only_then() -> None:
    told = json.loads(run(audit, CLAUDE, "--json").stdout)
    share = 100 * told["rewritten_tokens"] / told["prompt_tokens"]
    assert told["rewritten_tokens"] == sum(loss["rewritten"] for loss in told["losses"])
    assert run(audit, CLAUDE, "--fail-on", f"rewritten>{share + 1:.2f}%").exit_code == 0
    if told["rewritten_tokens"]:
        assert run(audit, CLAUDE, "--fail-on", f"rewritten>{told['rewritten_tokens'] - 1}").exit_code == 1


def test_a_limit_that_says_nothing_is_refused() -> None:
    answer = run(audit, CLAUDE, "--fail-on", "hits<3")
    assert answer.exit_code == 2
    assert "rewritten>20%" in answer.stderr


def test_a_session_that_reports_no_cache_cannot_be_audited() -> None:
    with pytest.raises(LogError, match="nothing to audit"):
        run(audit, str(FORMATS / "swe_agent_calls.traj"))
