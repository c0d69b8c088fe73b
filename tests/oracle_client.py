"""npm packages installed once into the checkout's cache, and the official ones as a process, asked over JSON lines."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

SCRIPT = Path(__file__).parent / "oracle"
CACHE = Path(__file__).parents[1] / ".cache"


class Refusal(NamedTuple):
    """The official code threw: its message, and the index of the event it refused where it was folding events."""

    message: str
    at: int | None


def install(source: Path = SCRIPT) -> Path:
    """The folder with the packages of the source's lock file, installed if it is not there yet."""
    lock = (source / "package-lock.json").read_bytes()
    cache = CACHE / source.name
    folder = cache / hashlib.sha256(lock).hexdigest()[:16]
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        # Built beside its place and renamed: a broken or a second, parallel install never passes for a whole one.
        building = Path(tempfile.mkdtemp(dir=cache, prefix="installing-"))
        try:
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(source / name, building)
            command = ["npm", "ci", "--ignore-scripts"]
            done = subprocess.run(command, cwd=building, capture_output=True, text=True, timeout=300)
            if done.returncode:
                raise RuntimeError(f"`{' '.join(command)}` for {source.name} failed:\n{done.stderr.strip()}")
            if not folder.exists():
                building.rename(folder)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return folder


class Oracle:
    """Answers of the official packages. `ask` returns one answer per request: a value, or a `Refusal`."""

    def __init__(self, folder: Path) -> None:
        # Modules resolve from the script's own place, so it has to stand beside node_modules; one copy a version of it.
        text = (SCRIPT / "oracle.mjs").read_bytes()
        script = folder / f"oracle-{hashlib.sha256(text).hexdigest()[:16]}.mjs"
        if not script.exists():
            building = folder / f"{script.name}.{os.getpid()}"
            building.write_bytes(text)
            building.replace(script)
        self._node = subprocess.Popen(["node", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, *requests: dict[str, Any]) -> list[Any]:
        # Pure ASCII: node's line reader also breaks at U+2028, and lone surrogates have no UTF-8.
        lines = b"".join(json.dumps(request).encode("ascii") + b"\n" for request in requests)
        # Written from a thread: node stops reading while its own answers wait to be read.
        writer = Thread(target=self._write, args=(lines,))
        writer.start()
        answers = [self._read() for _ in requests]
        writer.join()
        return answers

    def one(self, op: str, **arguments: Any) -> Any:
        return self.ask({"op": op, **arguments})[0]

    def close(self) -> None:
        self._node.communicate(timeout=30)

    def _write(self, lines: bytes) -> None:
        assert self._node.stdin is not None
        self._node.stdin.write(lines)
        self._node.stdin.flush()

    def _read(self) -> Any:
        assert self._node.stdout is not None
        line = self._node.stdout.readline()
        if not line:
            raise RuntimeError(f"node ended with exit status {self._node.wait()}; its reason stands above")
        reply = json.loads(line)
        return Refusal(reply["error"], reply.get("at")) if "error" in reply else reply["ok"]
