"""What the tables of forms take for granted of Unicode."""

from __future__ import annotations

import unicodedata

from simstore.text import forms


def test_all_marks_that_may_be_reordered_are_looked_at() -> None:
    marks = {chr(point) for point in range(0x110000) if unicodedata.combining(chr(point))}
    assert marks
    assert marks <= forms._joining()
