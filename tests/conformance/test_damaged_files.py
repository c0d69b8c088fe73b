"""Every reader on damaged files of the folder: a refusal, or sessions in good order."""

import os
from random import Random

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.manifest import ROOT, everything
from tests.conftest import SEED
from tests.formats.damage import DAMAGES, damaged, detected, survives

from refold.events import FormatError
from refold.events.formats import Format, Source, detect

pytestmark = pytest.mark.conformance

LARGEST = 200_000  # bytes: a larger file takes long and has nothing in it that a smaller one has not


def files() -> list[tuple[Format, str]]:
    found = []
    for folder, name in everything():
        path = ROOT / folder / name
        if path.stat().st_size <= LARGEST:
            try:
                found.append((detect(Source(path.read_bytes(), name)), os.path.join(folder, name)))
            except FormatError:
                continue
    return found


FILES = files()


@pytest.mark.parametrize(("form", "name"), FILES, ids=[name for _, name in FILES])
@hypothesis.seed(SEED)
@settings(max_examples=20, deadline=None, database=None)
@given(st.lists(st.sampled_from(DAMAGES), min_size=1, max_size=2), st.randoms(use_true_random=True))
def test_a_damaged_file_is_refused_or_read_in_good_order(form: Format, name: str, how: list, random: Random) -> None:
    data = damaged((ROOT / name).read_bytes(), how, random)
    detected(data)
    survives(form, data)
