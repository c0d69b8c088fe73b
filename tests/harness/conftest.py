"""The real harness as a fixture: installed from PyPI once, run offline, every run in a home of its own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard

REQUIREMENT = "deepseek-harness-sdk==0.2.1rc2"
CACHE = Path(__file__).parents[2] / ".cache" / "harness"
DRIVE = Path(__file__).parent / "drive.py"
SECONDS = 110  # for one start of the harness and all its turns; it takes about five


class Run(NamedTuple):
    """What a run of the harness left behind."""

    finished: list[str]
    refused: str | None
    requests: list[dict[str, Any]]
    log: Path
    home: Path


class Harness:
    def __init__(self, python: Path, folder: Path) -> None:
        self._python, self._folder = python, folder

    def record(self, *prompts: str, script: list[dict[str, Any]]) -> Run:
        """A new session in an empty folder."""
        return self._run("record", prompts, script)

    def resume(self, log: Path, *prompts: str, script: list[dict[str, Any]] | None = None) -> Run:
        """The session of `log`, copied to where the harness keeps its sessions, then opened and gone on with."""
        header = json.loads(lines(log)[0])
        home = self._folder / "home" / "sessions" / f"--{header['cwd'].strip('/').replace('/', '-')}--" / header["id"]
        home.mkdir(parents=True)
        shutil.copy(log, home / "session.v4.jsonl.zstd")
        return self._run("resume", prompts, script or [], header["id"])

    def _run(self, how: str, prompts: tuple[str, ...], script: list[dict[str, Any]], session: str = "s-new") -> Run:
        work, home = self._folder / "work", self._folder / "home"
        answers, requests = self._folder / "script.json", self._folder / "requests.jsonl"
        work.mkdir()
        answers.write_text(json.dumps(script), "utf-8")
        command = [self._python, DRIVE, how, "--home", home, "--cwd", work, "--session", session]
        command += ["--script", answers, "--requests", requests, *prompts]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "LANG": "C.UTF-8"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr
        (log,) = (home / "sessions").glob("*/*/session.v4.jsonl.zstd")
        sent = [json.loads(line) for line in requests.read_text("utf-8").splitlines()]
        return Run(**json.loads(done.stdout), requests=sent, log=log, home=home)


def lines(log: Path) -> list[str]:
    with zstandard.open(log, "rt", encoding="utf-8", newline="\n") as text:
        return text.read().splitlines()


def install() -> Path:
    """The Python that has the harness, put into a venv under the checkout's cache if it is not there yet."""
    folder = CACHE / REQUIREMENT.replace("==", "-")
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        # Built beside its place and renamed, so that a broken install never passes for a whole one.
        building = Path(tempfile.mkdtemp(dir=CACHE, prefix="installing-"))
        try:
            subprocess.run([sys.executable, "-m", "venv", building], check=True)
            pip = [building / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, REQUIREMENT], check=True, timeout=900)
            building.rename(folder)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def harness_python() -> Path:
    return install()


@pytest.fixture
def harness(harness_python: Path, tmp_path: Path) -> Harness:
    return Harness(harness_python, tmp_path / "harness")
