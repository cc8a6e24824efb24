"""What the tables of forms take for granted of Unicode."""

from __future__ import annotations

import unicodedata

import pytest

from simstore.text import forms
from simstore.text.normalization import Normalization


def test_all_marks_that_may_be_reordered_are_looked_at() -> None:
    marks = {chr(point) for point in range(0x110000) if unicodedata.combining(chr(point))}
    assert marks
    assert marks <= forms._joining()


@pytest.mark.parametrize("case", ["fold", "keep"])
@pytest.mark.parametrize("width", ["fold", "keep"])
def test_tables_of_ascii_are_the_first_of_all(case: str, width: str) -> None:
    normalization = Normalization(case=case, width=width)
    few = forms.form_tables(normalization, of_ascii=True)
    every = forms.form_tables(normalization)
    assert few.forms.tolist() == every.forms[:128].tolist()
    assert few.kinds.tolist() == every.kinds[:, :128].tolist()
    assert not len(few.points)
