from __future__ import annotations

from simstore.reports.evaluation import COLUMNS, records, tables
from simstore.search.agreement import Agreement
from simstore.search.evaluation import CurvePoint, Evaluation

EVALUATION = Evaluation(
    7,
    3,
    (),
    ("simhash", "verified"),
    (
        CurvePoint("simhash", 3, 1 / 2, 1 / 3, 2 / 5, Agreement(1, 2, 3), is_default=True),
        CurvePoint("simhash", 4, 1, 1, 1, Agreement(3, 3, 3), is_default=False),
        CurvePoint("verified", 0.5, 2 / 4, 2 / 3, 4 / 7, Agreement(2, 4, 3), is_default=True),
    ),
)


def test_tables_show_thresholds_and_defaults() -> None:
    (curve,) = list(tables(EVALUATION))
    assert curve[2] == [
        ("simhash", "3", "0.500", "0.333", "0.400", "default"),
        ("simhash", "4", "1.000", "1.000", "1.000", "best"),
        ("verified", "0.50", "0.500", "0.667", "0.571", "default, best"),
    ]
    defaults, of_method = list(tables(EVALUATION, "simhash"))
    assert defaults[2] == [
        ("simhash", "3", "0.500", "0.333", "0.400", "4", "1.000"),
        ("verified", "0.50", "0.500", "0.667", "0.571", "0.50", "0.571"),
    ]
    assert of_method[2] == curve[2][:2]


def test_records_have_a_value_for_each_column() -> None:
    first = dict(zip(COLUMNS, next(records(EVALUATION)), strict=True))
    assert first == {
        "method": "simhash",
        "threshold": 3,
        "precision": 0.5,
        "recall": 0.3333,
        "f1": 0.4,
        "common": 1,
        "found": 2,
        "labelled": 3,
        "default": True,
    }
