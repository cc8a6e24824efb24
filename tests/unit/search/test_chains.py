import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simstore.search.chains import Hits, regions


def hits(*rows):
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return Hits(columns[0], columns[1], columns[2])


def facts(found):
    return sorted(zip(found.documents.tolist(), found.seeds.tolist(), strict=True))


def test_hits_on_near_diagonals_are_one_region():
    found = regions(hits((7, 0, 100), (7, 10, 112), (7, 20, 119)), drift=5, gap=10)
    assert facts(found) == [(7, 3)]


def test_shuffled_pieces_are_regions_of_their_own():
    found = regions(hits((7, 0, 50), (7, 5, 55), (7, 10, 0), (7, 15, 5)), drift=3, gap=10)
    assert facts(found) == [(7, 2), (7, 2)]
    first, second, third, fourth = found.labels.tolist()
    assert first == second != third == fourth


def test_a_longer_step_than_the_gap_and_another_source_begin_a_region():
    assert len(regions(hits((7, 0, 100), (7, 11, 111)), drift=5, gap=10)) == 2
    assert len(regions(hits((1, 0, 0), (2, 0, 0)), drift=3, gap=10)) == 2


def test_equal_hits_count_once():
    assert facts(regions(hits((1, 0, 0), (1, 0, 0)), drift=3, gap=10)) == [(1, 1)]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 60)), max_size=25),
    st.integers(1, 8),
    st.integers(1, 20),
)
def test_regions_join_what_is_near_and_nothing_that_no_series_joins(rows, drift, gap):
    found = regions(hits(*rows), drift=drift, gap=gap)
    labels = found.labels.tolist()
    for a, (document, paper, source) in enumerate(rows):
        for b, (other_document, other_paper, other_source) in enumerate(rows):
            near = (
                document == other_document
                and abs(paper - other_paper) <= gap
                and abs((source - paper) - (other_source - other_paper)) <= drift
            )
            assert not near or labels[a] == labels[b]
    # Steps of one band are at most two drifts from diagonal to diagonal.
    reachable = plain_groups(rows, 2 * drift, gap)
    for a in range(len(rows)):
        for b in range(len(rows)):
            assert labels[a] != labels[b] or reachable[a] == reachable[b]


def plain_groups(rows, drift, gap):
    group = list(range(len(rows)))
    changed = True
    while changed:
        changed = False
        for a, (document, paper, source) in enumerate(rows):
            for b, (other_document, other_paper, other_source) in enumerate(rows):
                if (
                    group[a] != group[b]
                    and document == other_document
                    and abs(paper - other_paper) <= gap
                    and abs((source - paper) - (other_source - other_paper)) < drift
                ):
                    low = min(group[a], group[b])
                    group[a] = group[b] = low
                    changed = True
    return group
