from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from simstore import InvalidParameter, QueryOptions
from simstore.model.times import duration, moment, moment_given, seconds


def of(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp())  # type: ignore[misc,arg-type]


def test_time_is_read() -> None:
    for value, expected in (
        (0, 0),
        (-1.5, -2),
        (1_700_000_000, 1_700_000_000),
        (1_700_000_000.9, 1_700_000_000),
        ("2026-05-01", of(2026, 5, 1)),
        ("2026-05-01T12:30:15Z", of(2026, 5, 1, 12, 30, 15)),
        ("2026-05-01 12:30", of(2026, 5, 1, 12, 30)),
        ("2026-05-01T12:30:15.9+02:00", of(2026, 5, 1, 10, 30, 15)),
        (" 20260501 ", of(2026, 5, 1)),
        ("1960-01-01", of(1960, 1, 1)),
    ):
        assert seconds(value) == expected, value


def test_what_is_no_time_is_refused_in_one_line() -> None:
    for value in (
        "",
        "yesterday",
        "2026-13-01",
        "1700000000",
        True,
        None,
        [1],
        {"t": 1},
        1_700_000_000_000,
        float("nan"),
        float("inf"),
        -(10**15),
        10**400,
        "0001-01-01T00:00:00+10:00",
        "9999-12-31T23:59:59-23:59",
    ):
        with pytest.raises(ValueError, match="no time") as raised:
            seconds(value)
        assert "\n" not in str(raised.value), value


def test_duration_is_read() -> None:
    for text, expected in (
        ("30m", 1_800),
        ("30 min", 1_800),
        ("1 minute", 60),
        ("12h", 43_200),
        ("12 Hours", 43_200),
        ("90d", 7_776_000),
        ("90 days", 7_776_000),
        ("1 day", 86_400),
        (" 90D ", 7_776_000),
        ("8w", 4_838_400),
        ("8 weeks", 4_838_400),
    ):
        assert duration(text) == expected, text


def test_what_is_no_duration_is_refused() -> None:
    for text in ("", "90", "d", "1.5d", "-3d", "3y", "6 months", "3 dayss", "٣d"):
        with pytest.raises(ValueError, match="no duration"):
            duration(text)


def test_what_no_calendar_has_is_no_duration() -> None:
    assert duration("52000w") == 52_000 * 604_800
    with pytest.raises(ValueError, match="longer than a thousand years"):
        duration("99999999w")


def test_what_is_neither_date_nor_duration_is_refused_with_examples() -> None:
    for text in ("may", "30", "6 months", "-3d", "x" * 99, ""):
        with pytest.raises(
            ValueError, match=r"write 2026-05-01, .*Z, 12h, 30 days or 2w$"
        ) as raised:
            moment(text, 0)
        assert len(str(raised.value)) < 200, text


DAY = 86_400


def test_a_parameter_takes_times_and_durations_alike() -> None:
    for value, expected in (
        ("30d", 70 * DAY),
        (timedelta(days=30), 70 * DAY),
        (date(1970, 3, 12), 70 * DAY),
        (datetime(1970, 3, 12), 70 * DAY),
        (datetime(1970, 3, 12, tzinfo=UTC), 70 * DAY),
        ("1970-03-12", 70 * DAY),
        (70 * DAY, 70 * DAY),
    ):
        assert moment_given("since", value, now=100 * DAY) == expected, value
        forth = {True: 130 * DAY, False: expected}[value in ("30d", timedelta(days=30))]
        assert moment_given("expires_at", value, now=100 * DAY, ahead=True) == forth, value


def test_what_is_neither_is_refused_by_the_name_of_the_parameter() -> None:
    for value in ("3 months", "soon", True, None, timedelta(-1), 10**40):
        with pytest.raises(InvalidParameter, match=r"^since: "):
            moment_given("since", value)


def test_options_of_a_query_hold_since_in_seconds() -> None:
    assert QueryOptions(since="1970-01-02").since == DAY
    options = QueryOptions(since=timedelta(days=1))
    assert options.first_seen_from is not None
    assert abs(options.first_seen_from - (datetime.now(UTC).timestamp() - DAY)) < 60
