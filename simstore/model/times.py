"""Parse dates, times and durations into seconds (times since 1970-01-01 UTC)."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from typing import Any

from simstore.errors import InvalidParameter

_FIRST = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
_LAST = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
_LONGEST = 1_000 * 366 * 86_400
_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
# `90d`, or in words `90 days`. Months and years have no one length.
_DURATION = re.compile(r"([0-9]{1,9})(?:([mhdw])| *(minute|hour|day|week)s?)")
_DURATIONS = "90d, 90 days, 12h or 8w"
_TIMES = "2026-05-01, 2026-05-01T12:00:00Z or seconds since 1970"


def seconds(value: Any) -> int:
    """Return a time in whole seconds since 1970-01-01 UTC.

    Args:
        value: A number of seconds since then, a datetime or a date, or an ISO 8601 date with or
            without a time; without a zone it is UTC, without a time the day's beginning.

    Raises:
        ValueError: It is neither, or not within the years 1 to 9999.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | date):
        raise ValueError(f"a {type(value).__name__} is no time")
    found: int | float
    if isinstance(value, str):
        found = _parsed(value)
    elif isinstance(value, date):
        found = _of_calendar(value)
    else:
        found = value
    if not _FIRST <= found <= _LAST:
        raise ValueError(
            f"{str(value)[:40]} is no time: seconds since 1970, within the years 1 to 9999"
        )
    return int(found // 1)


def time_given(name: str, value: Any) -> int:
    """Convert a time parameter to whole seconds since 1970-01-01 UTC.

    Raises:
        InvalidParameter: It is none.
    """
    try:
        return seconds(value)
    except ValueError as error:
        raise InvalidParameter(f"{name}: {error}") from None


def moment(name: str, value: Any, *, now: int | None = None, ahead: bool = False) -> int:
    """Convert a time, or a duration before now, to whole seconds since 1970-01-01 UTC.

    Every parameter that takes both goes by this, in Python and on the command line.

    >>> moment("since", date(1970, 1, 2)), moment("since", "1970-01-02")
    (86400, 86400)
    >>> moment("since", "1 day", now=100_000), moment("since", timedelta(days=1), now=100_000)
    (13600, 13600)

    Args:
        name: The parameter, for messages.
        value: A time as :func:`seconds` takes it, or a duration as :func:`duration` takes it.
        now: The time that durations are counted from; None: the clock's.
        ahead: Count durations from now on instead.

    Raises:
        InvalidParameter: It is neither.
    """
    is_duration = isinstance(value, str) and _DURATION.fullmatch(value.strip())
    try:
        if isinstance(value, timedelta) or is_duration:
            length = duration(value)
            return (int(time.time()) if now is None else now) + (length if ahead else -length)
        return seconds(value)
    except ValueError as error:
        told = str(error)
    if isinstance(value, str) and not is_duration:
        shown = value if len(value) <= 40 else f"{value[:40]}..."
        told = f"{shown!r} is no time and no duration: write {_DURATIONS}, {_TIMES}"
    raise InvalidParameter(f"{name}: {told}")


def duration(value: str | timedelta) -> int:
    """Return a duration in seconds: a whole number of minutes, hours, days or weeks.

    Args:
        value: It in words, as ``90d`` or ``90 days``, or a timedelta, whose parts of a second are
            dropped.

    Raises:
        ValueError: It is none, is below 0, or longer than a thousand years. A bare number is none:
            it does not say of what.
    """
    if isinstance(value, timedelta):
        whole = value // timedelta(seconds=1)
        if not 0 <= whole <= _LONGEST:
            raise ValueError(f"{value} is no duration from 0 to a thousand years")
        return whole
    if not isinstance(value, str):
        raise ValueError(
            f"{value!r} does not say of what it is a number: write 90d, or a timedelta"
        )
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        raise ValueError(f"{value!r} is no duration: write {_DURATIONS}")
    length = int(found[1]) * _UNITS[(found[2] or found[3])[0]]
    if length > _LONGEST:
        raise ValueError(f"{value!r} is longer than a thousand years: write {_DURATIONS}")
    return length


def _parsed(text: str) -> int:
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise ValueError(f"{shown!r} is no time: write {_TIMES}") from None
    return _of_calendar(parsed)


def _of_calendar(value: date) -> int:
    parsed = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    # A zone may move the first and the last day beyond the calendar.
    return (parsed - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
