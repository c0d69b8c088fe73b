"""Coverage-guided fuzzing of every reader: python tests/fuzz/readers.py [--seconds 60]

Each input is read by every format that takes it for its own, and by one more in turn. It is a damaged excerpt of
tests/data: half of the changes are libFuzzer's own, half know of lines and JSON (tests/formats/damage.py). A reader may
refuse it or read it in good order; any other error, or a reading that takes too long, ends the run with an exit code
that is not 0 and leaves the input in .cache/fuzz-*. The seed is printed: with it a run begins with the same inputs.
"""

import argparse
import io
import os
import platform
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import redirect_stderr
from pathlib import Path
from random import Random

import zstandard

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
CRASHES = ROOT / ".cache"
LARGEST = 1 << 16
# Where atheris has wheels; elsewhere it would have to be built with clang. The same condition stands in pyproject.toml.
HAS_WHEELS = sys.platform == "linux" and platform.machine() == "x86_64" and (3, 11) <= sys.version_info[:2] <= (3, 13)

sys.path.insert(0, str(ROOT))  # for tests.formats
try:
    import atheris
except ImportError:
    print("fuzzing by coverage was NOT run: atheris is not installed in this Python", file=sys.stderr)
    sys.exit(1 if HAS_WHEELS else 0)

with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["refold.events"]):  # it names every module
    from refold.events.formats import FORMATS
from tests.formats.damage import DAMAGES, detected, survives  # noqa: E402


class Run:
    """Gives inputs to readers until the time is over; then says how many were read by whom, and exits."""

    def __init__(self, seconds: int, new: Path, seeds: Path) -> None:
        self.end, self.inputs = time.monotonic() + seconds, 0
        self.new, self.seeds = new, seeds
        self.outcomes: Counter[tuple[str, bool]] = Counter()

    def input(self, data: bytes) -> None:
        if time.monotonic() > self.end:
            self.finish()
        self.inputs += 1
        for form in {*detected(data), FORMATS[self.inputs % len(FORMATS)]}:
            self.outcomes[form.name, bool(survives(form, data))] += 1

    def finish(self) -> None:
        print(f"{self.inputs} inputs, {len(list(self.new.iterdir()))} of them new code or a new way through it")
        for form in FORMATS:
            print(f"{form.name:20}{self.outcomes[form.name, True]:8} read{self.outcomes[form.name, False]:8} refused")
        for folder in (self.new, self.seeds):
            shutil.rmtree(folder)
        unread = [form.name for form in FORMATS if not self.outcomes[form.name, True]]
        if unread:
            print(f"no input was read by {', '.join(unread)}: the run was too short to mean anything")
        sys.stdout.flush()
        os._exit(1 if unread else 0)  # libFuzzer would take an exception for a crash


def mutated(data: bytes, max_size: int, seed: int) -> bytes:
    random = Random(seed)
    if random.random() < 0.5:
        return bytes(atheris.Mutate(data, max_size))
    return random.choice(DAMAGES)(data, random)[:max_size]


def corpus() -> Path:
    """The excerpts, and recorded DSH logs unpacked: in a packed file only the packing would be damaged."""
    folder = Path(tempfile.mkdtemp())
    for path in sorted((DATA / "formats").iterdir()):
        shutil.copy(path, folder)
    for path in sorted((DATA / "logs").glob("*.zst")):
        with path.open("rb") as packed:
            log = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read()
        if len(log) <= LARGEST:
            (folder / path.stem).write_bytes(log)
    return folder


def main() -> None:
    arguments = argparse.ArgumentParser(description="Fuzz every reader, guided by coverage.")
    arguments.add_argument("--seconds", type=int, default=60)
    asked = arguments.parse_args()
    seed = os.environ.get("REFOLD_SEED", "20260821")
    print(f"fuzzing {len(FORMATS)} readers for {asked.seconds} s, seed {seed} (REFOLD_SEED)", flush=True)
    CRASHES.mkdir(exist_ok=True)
    new, seeds = (
        Path(tempfile.mkdtemp()),
        corpus(),
    )  # libFuzzer keeps the inputs that reach new code in its first folder
    run = Run(asked.seconds, new, seeds)
    # Its own clock would stop ours, which `survives` sets.
    flags = [f"-seed={seed}", "-timeout=0", f"-max_len={LARGEST}", f"-artifact_prefix={CRASHES}/fuzz-", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *flags, str(new), str(seeds)], run.input, custom_mutator=mutated)
    try:
        atheris.Fuzz()
    except BaseException:  # a fault of the damage done here: libFuzzer would wait for ever on the way out
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    main()
