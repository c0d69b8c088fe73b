"""The law text, for every policy."""

from refold.laws import Report


def test_no_lone_surrogate_appears_that_was_not_there(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["text"] == expected["text"]
