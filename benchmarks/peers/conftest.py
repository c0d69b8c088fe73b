"""The benchmarks' modules, for the tests here: each file runs where its peer is installed (make peers)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
