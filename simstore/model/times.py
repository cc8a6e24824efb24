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
_DURATION = re.compile(
    r"([0-9]{1,9})\s*(m|min|minutes?|h|hours?|d|days?|w|weeks?)", re.IGNORECASE | re.ASCII
)
# Months and years are of different lengths.
DURATIONS = "12h, 30 days or 2w"


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


def moment(value: Any, now: int, *, ahead: bool = False) -> int:
    """Return the time of a date, or of a duration before now, in seconds since 1970-01-01 UTC.

    >>> moment("2 weeks", 2_000_000), moment("2 weeks", 0, ahead=True), moment("1970-01-02", 0)
    (790400, 1209600, 86400)

    Args:
        value: What :func:`seconds` takes, or a duration: in words, as ``30 days``, or a timedelta.
        now: The present time.
        ahead: A duration is one after now.

    Raises:
        ValueError: It is neither; the message has examples.
    """
    if isinstance(value, timedelta) or (
        isinstance(value, str) and _DURATION.fullmatch(value.strip())
    ):
        return now + duration(value) if ahead else now - duration(value)
    if isinstance(value, str):
        try:
            return seconds(value)
        except ValueError:
            raise ValueError(
                f"{_shown(value)} is neither a date nor a duration: write 2026-05-01, "
                f"2026-05-01T12:00:00Z, {DURATIONS}"
            ) from None
    return seconds(value)


def moment_given(name: str, value: Any, *, now: int | None = None, ahead: bool = False) -> int:
    """Convert a parameter that is a time or a duration, as :func:`moment` takes it.

    Args:
        name: The parameter, for messages.
        value: Its value.
        now: The present time; None: the clock's.
        ahead: A duration is one after now.

    Raises:
        InvalidParameter: It is neither.
    """
    try:
        return moment(value, int(time.time()) if now is None else now, ahead=ahead)
    except ValueError as error:
        raise InvalidParameter(f"{name}: {error}") from None


def duration(value: str | timedelta) -> int:
    """Return a duration in seconds: a whole number and minutes, hours, days or weeks.

    >>> duration("2w") == duration("14 days") == duration(timedelta(days=14))
    True

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
    return _of_words(value)


def _of_words(text: str) -> int:
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{_shown(text)} is no duration: write {DURATIONS}")
    length = int(found[1]) * _UNITS[found[2][0].lower()]
    if length > _LONGEST:
        raise ValueError(f"{text!r} is longer than a thousand years: write {DURATIONS}")
    return length


def _parsed(text: str) -> int:
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"{_shown(text)} is no time: write 2026-05-01, 2026-05-01T12:00:00Z or "
            "seconds since 1970"
        ) from None
    return _of_calendar(parsed)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def _of_calendar(value: date) -> int:
    parsed = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    # A zone may move the first and the last day beyond the calendar.
    return (parsed - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
