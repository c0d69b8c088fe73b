"""The law frozen, for every policy."""

from refold.laws import Report


def test_what_was_there_when_the_latch_opened_is_never_cut(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["frozen"] == expected["frozen"]
