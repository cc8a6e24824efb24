"""Find the edges of texts to canonical texts, without comparing all pairs of a family.

A text is canonical where it has no edge to an earlier canonical one. Which these are is known only
when edges are: so it is guessed and corrected. Each text is compared with one that leads its
groups. Texts without an edge then are *asked for*: compared with all texts of their groups. By all
edges some of the others are canonical after all; these are asked for next, and so on until no text
is canonical that was not asked for.

That is exact. Every edge of a canonical text is known then, so each other text has one to an
earlier canonical text, no canonical text has one, and only one set of texts is like that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from simstore.search.block_keys import block_keys
from simstore.spark.candidates import (
    NearPrints,
    asked_pairs,
    banded,
    groups,
    keyed,
    leader_pairs,
)
from simstore.spark.clusters import stars
from simstore.spark.folders import Folder
from simstore.spark.options import DedupOptions, Recipe
from simstore.spark.verifying import likely, outlines, verified

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# After so many, all that is left is asked for: texts that are alike in a long row only one by one.
_MOST_ROUNDS = 12
_OF_EDGE = ("first", "second", "resemblance", "distance")


@dataclass(frozen=True, slots=True)
class Found:
    """Edges, stars and counts that a search returns.

    Attributes:
        edges: Verified edges, ``EDGE_COLUMNS``.
        starred: The star of each text that has an edge.
        edge_count: How many edges there are.
        candidate_count: Pairs whose outlines were compared; a pair of two rounds counts twice.
        compared_count: Pairs whose texts were compared, each once.
        keys: How keys were made of fingerprints; None without them.
        rounds: Rounds in which components were found by the cluster; 0: on the driver.
    """

    edges: DataFrame
    starred: DataFrame
    edge_count: int
    candidate_count: int
    compared_count: int
    keys: str | None
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """Texts and documents that a search takes.

    Attributes:
        texts: All texts.
        documents: All documents.
        orders: Places of texts in the policy's order.
    """

    texts: DataFrame
    documents: DataFrame
    orders: DataFrame


def search(searched: Searched, recipe: Recipe, options: DedupOptions, work: Folder) -> Found:
    """Find the edges of all texts to canonical texts before them.

    Args:
        searched: Texts, documents and orders.
        recipe: The rule.
        options: How groups are cut.
        work: Where tables are written, so that no loss of an executor begins them anew.
    """
    return _Search(searched, recipe, options, work).run()


class _Search:
    """The state of one search.

    Args:
        searched: Texts, documents and orders.
        recipe: The rule.
        options: How groups are cut.
        work: Where tables are written.
    """

    def __init__(
        self, searched: Searched, recipe: Recipe, options: DedupOptions, work: Folder
    ) -> None:
        self._searched, self._recipe, self._options, self._work = searched, recipe, options, work
        self._rule = recipe.rule()
        self._outlines = work.write(outlines(searched.texts, recipe), "outlines")
        self._near: NearPrints | None = None
        self._groups = work.write(groups(self._rows()), "groups")
        self._compared: list[DataFrame] = []
        self._edges: list[DataFrame] = []
        self._edge_count = self._candidate_count = self._compared_count = 0

    def run(self) -> Found:
        """Compare texts with their leaders, then those without an edge, until stars are final."""
        from pyspark.sql import functions as f

        rule, near, cell_rows = self._rule, self._near, self._options.cell_rows
        self._compare(leader_pairs(self._groups, rule, near))
        # A text with an edge to its leader waits: it is likely a member.
        waiting, waiting_count = self._work.write_counted(
            self._every().select(f.col("second").alias("text_id")).distinct(), "waiting-0"
        )
        asked = self._groups.join(waiting, "text_id", "left_anti")
        self._compare(asked_pairs(self._groups, asked, rule, near, cell_rows))
        while True:
            number = len(self._edges)
            every = self._every()
            place = Folder(every.sparkSession, self._work.of(f"components-{number}"))
            rounds, found = stars(
                every, self._edge_count, self._searched.orders, place, self._options.few_edges
            )
            starred = self._work.write(found, f"stars-{number}")
            members = starred.where("text_id != centre").select("text_id")
            if number > _MOST_ROUNDS:
                members = members.limit(0)
            asking = waiting.join(members, "text_id", "left_anti")
            still, still_count = self._work.write_counted(
                waiting.join(members, "text_id", "left_semi"), f"waiting-{number}"
            )
            if still_count == waiting_count:
                break
            asked = self._groups.join(asking, "text_id", "left_semi")
            waiting, waiting_count = still, still_count
            if not self._compare(asked_pairs(self._groups, asked, rule, near, cell_rows)):
                break
        return Found(
            edges=reduce(lambda one, other: one.unionByName(other), self._edges),
            starred=starred,
            edge_count=self._edge_count,
            candidate_count=self._candidate_count,
            compared_count=self._compared_count,
            keys=None if near is None else str(near.keys),
            rounds=rounds,
        )

    def _every(self) -> DataFrame:
        """Return all edges so far, each once."""
        held = (edges.select(*_OF_EDGE) for edges in self._edges)
        return reduce(lambda one, other: one.unionByName(other), held)

    def _rows(self) -> DataFrame:
        """Return the rows of all texts and keys."""
        recipe = self._recipe
        scheme, channels = recipe.open()
        # What has no shingle resembles nothing.
        judged = self._searched.texts.where("shingle_count > 0")
        sketches = recipe.sketches()
        parts = [] if sketches is None else [banded(judged, sketches)]
        if channels.has_fingerprints:
            keys = block_keys(scheme.bits, recipe.radius, judged.count())
            self._near = NearPrints(scheme.bits, recipe.radius, keys)
            parts.append(keyed(judged, self._near))
        return reduce(lambda one, other: one.unionByName(other), parts)

    def _compare(self, pairs: DataFrame) -> int:
        """Compare the pairs that were not compared before; return how many were new edges."""
        number = len(self._edges)
        work = self._work
        written, count = work.write_counted(pairs, f"candidates-{number}")
        self._candidate_count += count
        some = likely(written, self._outlines, self._recipe)
        for before in self._compared:
            some = some.join(before.select("first", "second"), ["first", "second"], "left_anti")
        some, count = work.write_counted(some, f"likely-{number}")
        self._compared.append(some)
        self._compared_count += count
        found = verified(some, count, self._searched.documents, self._recipe)
        edges, count = work.write_counted(found, f"edges-{number}")
        self._edges.append(edges)
        self._edge_count += count
        return count
