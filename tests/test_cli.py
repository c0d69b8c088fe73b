"""The command line: stable JSON, one-line errors with exit code 2, and nothing of the user's ever changed."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from refold.cli import main
from refold.reducer import presets

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/session.v4.jsonl.zstd"
GATE = "keep3:gate=20000"
PROCESS = [sys.executable, "-c", "from refold.cli import main; main()"]


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


def test_without_a_command_the_help_is_shown_as_it_is_written(refold):
    code, out, err = refold()

    assert (code, out) == (2, "")
    assert "\nCommands:\n  apply " in err


def test_a_policy_file_with_a_misspelled_field_is_refused(refold, tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"type":"Policy","name":"p","parts":[],"prats":[]}')

    code, _, err = refold("view", EXAMPLE, "--policy", path)

    assert code == 2
    assert "prats" in err


def test_a_policy_file_does_what_the_preset_does(refold, tmp_path):
    path = tmp_path / "p.json"
    path.write_bytes(msgspec.json.encode(presets.keep3(gate=20_000)))

    assert told(refold, "plan", EXAMPLE, "--policy", path) == told(refold, "plan", EXAMPLE, "--policy", GATE)


LATCH, TOOLS, RIPE = (("parts", 0, name) for name in ("when", "which", "ripe"))


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ((*LATCH, "tokens"), -1, "Latch.tokens: must be a whole number of at least 0, got -1"),
        ((*LATCH, "tokens"), 10**23, "Latch.tokens: must be a whole number from 0 to 9007199254740991, got 1000"),
        ((*RIPE, "n"), 0, "Views.n: must be a whole number of at least 1, got 0"),
        ((*RIPE, "n"), 1.5, "Expected `int`, got `float` - at `$.parts[0].ripe.n`"),
        (RIPE, {"type": "AnyRipe", "parts": []}, "AnyRipe.parts: is empty: name at least one member"),
        (LATCH, {"type": "Least", "parts": [{"type": "Most", "parts": []}]}, "Most.parts: is empty"),
        ((*TOOLS, "tools"), [], 'Which.tools: is empty: name the tools whose results may be cut; "*" is any'),
    ],
)
def test_a_policy_file_that_cannot_be_is_refused_by_file_and_field(refold, tmp_path, where, value, said):
    policy = msgspec.to_builtins(presets.keep3())
    place = policy
    for step in where[:-1]:
        place = place[step]
    place[where[-1]] = value
    path = tmp_path / "p.json"
    path.write_text(json.dumps(policy))

    code, out, err = refold("view", EXAMPLE, "--policy", path)

    assert (code, out) == (2, "")
    assert err.startswith(f"refold: policy: {path}: {said}")


@pytest.mark.parametrize("depth", [400, 100_000])
def test_a_policy_file_nested_without_end_is_refused(refold, tmp_path, depth):
    policy = msgspec.to_builtins(presets.keep3())
    policy["parts"][0]["when"] = "WHEN"
    when = '{"type":"Least","parts":[' * depth + '{"type":"Always"}' + "]}" * depth
    path = tmp_path / "p.json"
    path.write_text(json.dumps(policy).replace('"WHEN"', when))

    assert refold("view", EXAMPLE, "--policy", path) == (2, "", f"refold: policy: {path}: is nested too deeply\n")


def test_the_policy_without_parts_can_stand_in_a_file(refold, tmp_path):
    path = tmp_path / "none.json"
    path.write_bytes(msgspec.json.encode(presets.none()))

    assert told(refold, "plan", EXAMPLE, "--policy", path)["operations"] == []


@pytest.mark.parametrize("command", ["view", "plan", "messages", "replay", "recall", "audit"])
def test_every_command_that_reads_one_session_lets_its_format_and_its_id_be_said(refold, command):
    code, out, err = refold(command, EXAMPLE, "--format", "codex")
    assert (code, out) == (2, "")
    assert "it looks like dsh" in err

    code, out, err = refold(command, EXAMPLE, "--session", "nobody")
    assert (code, out) == (2, "")
    assert "has no session 'nobody'; it is s-one" in err


# standard output


def shell(line):
    command = " ".join(f"'{word}'" for word in PROCESS)
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line.replace('refold', command, 1)}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize("command", [f"view {EXAMPLE}", f"messages {EXAMPLE} --json", f"recall {EXAMPLE}", "--help"])
def test_a_reader_that_leaves_early_ends_the_command_without_a_word(command):
    assert shell(f"refold {command} | true") == (0, "", "")


def test_a_reader_that_leaves_early_does_not_turn_a_no_into_a_yes():
    log = ROOT / "tests/data/formats/claude_code_microcompaction.jsonl"
    code, _, err = shell(f"refold audit {log} --fail-on 'rewritten>0' | true")

    assert code == 1
    assert err.endswith(f"refold: {log}: beyond rewritten>0\n")


@pytest.mark.parametrize("command", [f"view {EXAMPLE}", f"view {EXAMPLE} --json", f"apply {EXAMPLE} -o -", "--version"])
def test_standard_output_that_takes_no_more_is_named(command):
    code, _, err = shell(f"refold {command} > /dev/full")

    assert code == 2
    assert err.endswith("refold: standard output: No space left on device\n")
    assert "Traceback" not in err


def test_closed_standard_streams_are_named():
    assert shell(f"refold view {EXAMPLE} >&-") == (
        2,
        "",
        "refold: standard output: closed, and the answer is printed there\n",
    )
    assert shell("refold serve <&-") == (2, "", "refold: standard input is closed, and requests come from there\n")
    assert shell("refold view - <&-") == (2, "", "refold: -: standard input is closed\n")


# docs/json.md


def keys(value):
    """Of all objects within; but laws and voices are named elsewhere, and blocks are those of `messages`."""
    if isinstance(value, list):
        return {key for item in value for key in keys(item)}
    if not isinstance(value, dict):
        return set()
    within = (inner for key, inner in value.items() if key not in ("content", "laws", "blocks"))
    return value.keys() | {key for inner in within for key in keys(inner)}


@pytest.mark.parametrize(
    "command",
    [
        ("policies",),
        ("view", EXAMPLE),
        ("view", ROOT / "tests/data/formats/claude_code_microcompaction.jsonl", "--echoes"),
        ("plan", EXAMPLE, "--policy", GATE),
        ("messages", EXAMPLE),
        ("apply", EXAMPLE, "-o", "OUT", "--policy", GATE),
        ("replay", EXAMPLE),
        ("recall", EXAMPLE),
        ("recall", EXAMPLE, "--turn", "1"),
        ("compare", EXAMPLE, "--policy", "overclock"),
        ("audit", ROOT / "tests/data/formats/claude_code_microcompaction.jsonl"),
        ("formats",),
    ],
    ids=lambda command: " ".join(map(str, command[::2])),
)
def test_every_key_of_the_json_is_documented(refold, tmp_path, command):
    text = (ROOT / "docs/json.md").read_text()
    about, section = text.partition("\n## ")[0], text.partition(f"\n## {command[0]}\n")[2].partition("\n## ")[0]
    code, out, _ = refold(*[tmp_path / "out.zstd" if word == "OUT" else word for word in command], "--json")
    printed = json.loads(out)
    assert code == 0
    known = set(re.findall(r'"(\w+)"', section)) | set(re.findall(r"`(\w+)`", about))
    assert keys(printed) - known == set()
