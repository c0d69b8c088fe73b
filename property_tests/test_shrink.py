"""The law shrink, for every policy."""

from refold.laws import Report


def test_an_operation_lowers_price_and_length(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["shrink"] == expected["shrink"]
