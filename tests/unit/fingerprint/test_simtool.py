from __future__ import annotations

import numpy as np
import pytest

from simstore.errors import InvalidParameter
from simstore.fingerprint.feature_hash import generated_rows
from simstore.fingerprint.schemes import open_scheme
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.vocabulary import rank_array

ROWS = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]], np.uint8)


def test_ranks_are_needed() -> None:
    scheme = SimtoolScheme(3, 4, hash_rows=ROWS)
    with pytest.raises(InvalidParameter, match="ranks"):
        scheme.fingerprints(scheme.count(["lamp"]))


def test_generated_table_is_the_same_whatever_its_length() -> None:
    assert (generated_rows(5) == generated_rows(300)[:5]).all()
    assert generated_rows(300).shape == (300, 128)
    assert 0.45 < generated_rows(300).mean() < 0.55


def test_more_than_the_table_holds_is_refused() -> None:
    for features, bits in ((0, 16), (-5, 16), (3, 0), (3, 129), (4, 4), (3, 5)):
        with pytest.raises(InvalidParameter):
            SimtoolScheme(features, bits, hash_rows=ROWS)


def test_scheme_comes_back_from_its_record() -> None:
    for bits in (1, 3, 64, 100, 128):
        scheme = SimtoolScheme(20, bits, stopwords=frozenset([b"the", b"\xff"]))
        opened = open_scheme(scheme.record())
        assert opened.record() == scheme.record(), bits
        assert opened.ranked_features == 20, bits
        assert opened.depends_on_corpus, bits


def test_rank_array_has_minus_one_where_there_is_no_rank() -> None:
    assert rank_array([(3, 9), (0, 4)], 5).tolist() == [1, -1, -1, 0, -1]
    assert rank_array([], 2).tolist() == [-1, -1]
