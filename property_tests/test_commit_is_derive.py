"""The law commit = derive, for every policy."""

from refold.laws import Report


def test_a_host_that_commits_and_one_that_does_not_send_the_same_bytes(
    report: Report, expected: dict[str, str]
) -> None:
    assert report.laws["commit = derive"] == expected["commit = derive"]
