"""The real harness as a fixture: installed from PyPI once, run offline, every run in a home of its own."""

import itertools
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
    """What a run of the harness left behind. In `requests` its folder is called WORK: nothing else tells runs apart."""

    finished: list[str]
    refused: str | None
    requests: list[dict[str, Any]]
    log: Path
    home: Path
    work: Path


class Harness:
    """Each run has a new folder: `home` the harness's, `work` where it works."""

    def __init__(self, python: Path, folders: pytest.TempPathFactory) -> None:
        self._python, self._folders, self._numbers = python, folders, itertools.count()

    def record(self, *prompts: str, script: list[dict[str, Any]]) -> Run:
        """A new session in an empty folder."""
        return self._run(self._new_folder(), "record", "s-new", prompts, script)

    def resume(self, log: Path, *prompts: str, script: list[dict[str, Any]] | None = None) -> Run:
        """The session of `log`, copied to where the harness keeps its sessions, then opened and gone on with."""
        folder = self._new_folder()
        header = json.loads(lines(log)[0])
        project = "--" + header["cwd"].strip("/").replace("/", "-") + "--"
        place = folder / "home" / "sessions" / project / header["id"]
        place.mkdir(parents=True)
        shutil.copy(log, place / "session.v4.jsonl.zstd")
        return self._run(folder, "resume", header["id"], prompts, script or [])

    def _new_folder(self) -> Path:
        # The harness tells the model where it works: names of one length keep the prompts of two runs comparable.
        return self._folders.mktemp(f"harness-{next(self._numbers):03}", numbered=False)

    def _run(self, folder: Path, how: str, session: str, prompts: tuple[str, ...], script: list[dict[str, Any]]) -> Run:
        work, home = folder / "work", folder / "home"
        answers, requests = folder / "script.json", folder / "requests.jsonl"
        work.mkdir()
        answers.write_text(json.dumps(script), "utf-8")
        command = [self._python, "-B", DRIVE, how, "--home", home, "--cwd", work, "--session", session]
        command += ["--script", answers, "--requests", requests, *prompts]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr
        (log,) = (home / "sessions").glob("*/*/session.v4.jsonl.zstd")
        sent = [json.loads(line) for line in requests.read_text("utf-8").replace(str(work), "WORK").splitlines()]
        return Run(**json.loads(done.stdout), requests=sent, log=log, home=home, work=work)


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
            if not folder.exists():
                building.rename(folder)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def harness_python() -> Path:
    return install()


@pytest.fixture(scope="session")
def harness(harness_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Harness:
    return Harness(harness_python, tmp_path_factory)
