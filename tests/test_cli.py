"""The command line: stable JSON, one-line errors with exit code 2, and nothing of the user's ever changed."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from refold.cli import main

EXAMPLE = Path(__file__).parents[1] / "examples/session.v4.jsonl.zstd"
GATE = "keep3:gate=20000"


@pytest.fixture
def refold(capfd, monkeypatch):
    """Run the command; gives exit code, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["refold", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return left.value.code, out, err

    return run


def told(run, *arguments):
    code, out, err = run(*arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_policies_lists_the_presets_with_the_laws_each_keeps(refold):
    listed = {each["name"]: each for each in told(refold, "policies")}

    assert {"none", "keep3", "pruner", "round", "overclock", "microcompact", "debt"} <= listed.keys()
    assert set(listed["keep3"]) == {"name", "when", "which", "ripe", "how", "laws"}
    assert set(listed["keep3"]["laws"].values()) == {True}
    assert listed["microcompact-neocode"]["laws"]["shrink"].startswith("broken: ")


def test_view_gives_the_stable_keys_and_the_harness_own_measure(refold):
    facts = told(refold, "view", EXAMPLE, "--policy", GATE)

    assert (facts["policy"], facts["mode"], facts["meter"]) == ("keep3", "commit", "dsh")
    assert (facts["turn"], facts["step"], facts["steps"], facts["events"]) == (5, 8, 40, 345)
    assert facts["latch"] == {"open": True, "seq": 29, "tokens": 22304}
    assert facts["frozen"] == [18, 20, 26, 28]
    assert facts["replace_generation"] == 0
    assert len(facts["results"]) == 50
    first = facts["results"][0]
    assert first == {
        "seq": 18, "call_id": "toolu_0_0", "tool": "bash", "chars": 24250, "views": 39, "state": "frozen",
    }  # fmt: skip
    assert {result["state"] for result in facts["candidates"]} <= {"waiting", "due"}
    assert [node for node in facts["surface"] if node == 18] == [18]


def test_plan_says_what_is_due_and_where_a_cache_mark_belongs(refold):
    facts = told(refold, "plan", EXAMPLE, "--policy", GATE)
    messages = told(refold, "messages", EXAMPLE)

    first = facts["operations"][0]
    assert (first["seq"], first["tool"], first["chars_before"], first["chars_after"]) == (44, "bash", 13930, 5159)
    assert first["cut_at"] == 4096
    assert (first["turn"], first["step"]) == (1, 4)
    place = facts["first_changed"]
    assert (place["seq"], place["block"]) == (44, 0)
    assert messages[place["message"]]["call_id"] == first["call_id"]


def test_a_plan_without_operations_changes_nothing(refold):
    facts = told(refold, "plan", EXAMPLE, "--policy", "none")

    assert (facts["operations"], facts["first_changed"]) == ([], None)


def test_messages_at_a_seq_are_those_just_before_it(refold):
    before = told(refold, "messages", EXAMPLE, "--at", 14)
    after = told(refold, "messages", EXAMPLE, "--at", 15)

    assert [message["role"] for message in before] == ["system", "user", "user"]
    assert after[:3] == before
    assert after[3]["role"] == "assistant"


def test_messages_at_a_seq_behind_the_end_are_refused(refold):
    code, out, err = refold("messages", EXAMPLE, "--at", 9999)

    assert (code, out) == (2, "")
    assert "has no event 9999" in err


def test_replay_has_one_entry_a_step_and_several_policies(refold):
    facts = told(refold, "replay", EXAMPLE, "--policy", "none", "--policy", GATE)

    none, keep3 = facts["policies"]
    assert (facts["session"], facts["events"]) == ("s-one", 345)
    assert len(none["steps"]) == len(keep3["steps"]) == 40
    assert none["totals"]["cuts"] == none["totals"]["breaks"] == 0
    assert keep3["totals"]["cuts"] == sum(len(step["cuts"]) for step in keep3["steps"]) == 25
    for last, step in zip(none["steps"], none["steps"][1:], strict=False):
        assert step["prefix_chars"] == last["prompt_chars"]


def test_apply_writes_a_log_with_nothing_due_and_leaves_the_original_alone(refold, tmp_path):
    original = hashlib.sha256(EXAMPLE.read_bytes()).hexdigest()
    once, twice = tmp_path / "once.zstd", tmp_path / "twice.zstd"

    facts = told(refold, "apply", EXAMPLE, "-o", once, "--policy", GATE)
    code, out, _ = refold("apply", once, "-o", twice, "--policy", GATE)

    assert len(facts["pruned"]) == 25
    assert facts["chars_removed"] == sum(p["chars_before"] - p["chars_after"] for p in facts["pruned"])
    assert code == 0
    assert "nothing due" in out
    assert twice.read_bytes() == once.read_bytes()
    assert once.read_bytes().startswith(EXAMPLE.read_bytes())
    assert hashlib.sha256(EXAMPLE.read_bytes()).hexdigest() == original


def test_apply_does_not_overwrite_without_force(refold, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")

    code, _, err = refold("apply", EXAMPLE, "-o", taken)

    assert code == 2
    assert "--force" in err
    assert taken.read_text() == "mine"
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("view", "no-such-file"), "no-such-file: No such file or directory"),
        (("view",), "Missing argument"),
        (("view", EXAMPLE, "--policy", "keep4"), "there is no preset 'keep4'"),
        (("view", EXAMPLE, "--policy", "keep3:kept=2"), "gate, keep, threshold, head, tail, tools"),
        (("view", EXAMPLE, "--policy", "keep3:keep=0"), "keep: must be a whole number of at least 1, got 0"),
        (("view", EXAMPLE, "--policy", "keep3:threshold=100"), "threshold: must be at least"),
        (("view", EXAMPLE, "--policy", "no.such.module:x"), "cannot load no.such.module:x"),
        (("view", EXAMPLE, "--policy", "missing.json"), "cannot read missing.json"),
        (("view", EXAMPLE, "--meter", "words"), "'words' is not one of"),
        (("view", EXAMPLE, "--max-line", "10"), "longer than 10 bytes"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(refold, arguments, said):
    code, out, err = refold(*arguments)

    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_policy_file_with_a_misspelled_field_is_refused(refold, tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"type":"Policy","name":"p","parts":[],"prats":[]}')

    code, _, err = refold("view", EXAMPLE, "--policy", path)

    assert code == 2
    assert "prats" in err


def test_a_policy_file_does_what_the_preset_does(refold, tmp_path):
    import msgspec

    from refold.reducer import presets

    path = tmp_path / "p.json"
    path.write_bytes(msgspec.json.encode(presets.keep3(gate=20_000)))

    assert told(refold, "plan", EXAMPLE, "--policy", path) == told(refold, "plan", EXAMPLE, "--policy", GATE)
