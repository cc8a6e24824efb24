from __future__ import annotations

import numpy as np

from simstore.search.stars import star_clusters


def stars(
    edges: list[tuple[int, int]], order: list[int], shares: list[float] | None = None
) -> list[int]:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    resemblance = np.array([0.5] * len(edges) if shares is None else shares)
    return star_clusters(ends[:, 0], ends[:, 1], np.array(order, np.int64), resemblance).tolist()


def test_stars_do_not_chain() -> None:
    # 1 is like 0, 2 is like 1 only: 2 does not come to 0 through 1.
    assert stars([(0, 1), (1, 2), (2, 3), (4, 2)], [0, 1, 2, 3, 4]) == [0, 0, 2, 2, 2]


def test_chain_falls_apart_by_the_order() -> None:
    chain = [(0, 1), (1, 2)]
    assert stars(chain, [0, 1, 2]) == [0, 0, 2]
    # From its middle on, all of a chain of three is one star.
    assert stars(chain, [1, 0, 2]) == [1, 1, 1]
    assert stars(chain, [2, 1, 0]) == [0, 2, 2]


def test_member_of_two_stars_joins_the_one_it_resembles_most() -> None:
    assert stars([(0, 2), (1, 2)], [0, 1, 2], [0.6, 0.7]) == [0, 1, 1]
    assert stars([(0, 2), (1, 2)], [1, 0, 2], [0.6, 0.7]) == [0, 1, 1]
    # 3 is like 2 most, but 2 is not canonical.
    assert stars([(0, 2), (1, 3), (2, 3)], [0, 1, 2, 3], [0.6, 0.5, 0.9]) == [0, 1, 0, 1]


def test_member_that_resembles_two_stars_alike_joins_the_earlier_one() -> None:
    assert stars([(0, 2), (1, 2)], [0, 1, 2]) == [0, 1, 0]
    assert stars([(0, 2), (1, 2)], [1, 0, 2]) == [0, 1, 1]
