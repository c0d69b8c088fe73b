"""The law pure, for every policy."""

from refold.laws import Report


def test_fold_and_plan_change_no_argument_and_depend_on_nothing_else(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["pure"] == expected["pure"]
