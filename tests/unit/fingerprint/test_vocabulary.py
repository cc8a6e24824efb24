from __future__ import annotations

from simstore.fingerprint.vocabulary import rank_features


def test_ranks_go_by_count_then_by_bytes() -> None:
    totals = [(b"b", 1, 5), (b"a", 2, 5), (b"\xff", 3, 9), (b"B", 4, 5), (b"ab", 5, 5)]
    assert rank_features(totals, 10) == [(3, 9), (4, 5), (2, 5), (5, 5), (1, 5)]


def test_ranks_stop_at_the_size() -> None:
    totals = [(b"%d" % n, n, n) for n in range(1, 6)]
    assert rank_features(totals, 2) == [(5, 5), (4, 4)]
    assert rank_features(totals, 0) == []


def test_features_that_do_not_occur_have_no_rank() -> None:
    assert rank_features([(b"a", 1, 0), (b"b", 2, -1), (b"c", 3, 1)], 5) == [(3, 1)]
    assert rank_features([], 5) == []
