"""Times as people read them."""

from __future__ import annotations

from simstore.reports.lines import time_text


def test_time_is_shown() -> None:
    for seconds, expected in [
        (0, "1970-01-01 00:00:00 UTC"),
        (1_777_636_800, "2026-05-01 12:00:00 UTC"),
        (-62_135_596_800, "0001-01-01 00:00:00 UTC"),
        (-62_135_632_800, "-62135632800 s after 1970"),
        (10**18, "1000000000000000000 s after 1970"),
    ]:
        assert time_text(seconds) == expected
