"""What the tables of forms take for granted of Unicode."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from simstore.text import forms
from simstore.text.normalization import Normalization


def test_all_marks_that_may_be_reordered_are_looked_at() -> None:
    marks = {chr(point) for point in range(0x110000) if unicodedata.combining(chr(point))}
    assert marks
    assert marks <= forms._joining()


def test_tables_of_ascii_are_the_first_of_all() -> None:
    for width in ("fold", "keep"):
        for case in ("fold", "keep"):
            normalization = Normalization(case=case, width=width)
            few = forms.form_tables(normalization, of_ascii=True)
            every = forms.form_tables(normalization)
            assert few.forms.tolist() == every.forms[:128].tolist(), (width, case)
            assert few.kinds.tolist() == every.kinds[:, :128].tolist(), (width, case)
            assert not len(few.points), (width, case)


@pytest.mark.parametrize(("han", "accents"), [("keep", "keep"), ("characters", "strip")])
def test_forms_of_a_text_are_those_of_the_tables(han: str, accents: str) -> None:
    normalization = Normalization(han=han, accents=accents)
    every, some = forms.form_tables(normalization), forms.FormsOfTexts(normalization)
    chance = np.random.default_rng(3)
    texts = [chance.integers(0, 0x110000, 4_000), chance.integers(0, 0x3400, 4_000)]
    for points in [*texts, np.arange(0x110000)]:
        found, wanted = some.of(points.astype(np.uint32)), every.forms[points]
        expands = wanted < forms.DEPENDS
        assert found[~expands].tolist() == wanted[~expands].tolist()
        for one, other in zip(found[expands].tolist(), wanted[expands].tolist(), strict=True):
            first, end = every.offsets[-3 - other : -1 - other].tolist()
            assert some.expansion(one).tolist() == every.points[first:end].tolist()


def test_points_that_are_no_characters_stay() -> None:
    points = np.array([0x378, 0xFFFE, 0xFFFF, 0x1FFFF], np.uint32)
    assert forms.FormsOfTexts(Normalization()).of(points).tolist() == points.tolist()
