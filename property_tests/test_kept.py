"""The law kept, for every policy."""

from refold.laws import Report


def test_the_log_holds_the_original_of_every_operation(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["kept"] == expected["kept"]
