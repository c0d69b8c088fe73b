"""The law once, for every policy."""

from refold.laws import Report


def test_a_version_of_a_node_is_targeted_once_and_a_cut_never(report: Report, expected: dict[str, str]) -> None:
    assert report.laws["once"] == expected["once"]
