"""The law idempotent, for every policy."""

from refold.laws import Report


def test_after_its_operations_the_plan_is_empty_and_none_can_be_committed_twice(
    report: Report, expected: dict[str, str]
) -> None:
    assert report.laws["idempotent"] == expected["idempotent"]
