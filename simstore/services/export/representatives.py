"""Decide which documents an export leaves out because others of their cluster represent them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from simstore.model import Clustering, ClusterMember
from simstore.model.documents import ExclusionReason
from simstore.search.stars import JOINS_NEAREST, joined_centre
from simstore.services.clusters.reasons import ClusterRule
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import cluster_names, clusters, documents
from simstore.storage.damage import corrupt
from simstore.storage.fingerprints import fingerprints
from simstore.text.decoding import exact_text


class Judge(Protocol):
    """Decides which documents an export leaves out, and why."""

    def judge(self, rows: Sequence[Any]) -> list[ExclusionReason | None]:
        """Return for each row of the table ``document`` why it is left out, or None."""
        ...


class KeepAll:
    """A judge that leaves no document out."""

    def judge(self, rows: Sequence[Any]) -> list[ExclusionReason | None]:
        """Return None for each."""
        return [None] * len(rows)


class StoredClusterJudge:
    """A judge by the stored clusters, in one snapshot; a text that is in none is exported."""

    def __init__(self, snapshot: Snapshot, rule: ClusterRule) -> None:
        """Judge by a rule, that of the clusters.

        Args:
            snapshot: The store in a read transaction.
            rule: By what the documents of a cluster stand together.
        """
        self._snapshot = snapshot
        self._rule = rule
        self._basis: Literal["text", "sketch"] = "text" if snapshot.settings.text_kept else "sketch"

    def judge(self, rows: Sequence[Any]) -> list[ExclusionReason | None]:
        """Return for each row why it is left out; None: it is canonical, or in no cluster."""
        connection = self._snapshot.connection
        texts = clusters.texts(connection, sorted({row.digest for row in rows}))
        led = clusters.spokes(connection, [one.text_id for one in texts.values()])
        held = {one.text_id: one for one in texts.values()}
        far = {centre for of_text in led.values() for centre in of_text} - held.keys()
        held |= clusters.texts_by_number(connection, sorted(far))
        if far - held.keys():
            raise corrupt(connection, "edges of kept clusters lead to texts that are not there")
        kept = clusters.row(connection)
        join_rule = JOINS_NEAREST if kept is None else kept.basis.join_rule
        places = {number: one.place for number, one in held.items()}
        stands: dict[int, tuple[int, float]] = {}
        for row in rows:
            text = texts.get(row.digest)
            if text is not None:
                shares = led.get(text.text_id, {})
                centre = joined_centre(text.text_id, shares, places, join_rule)
                if held[centre].place[2] != row.document_id:
                    stands[row.document_id] = centre, shares.get(centre, 1.0)
        names = cluster_names.names(connection, sorted({centre for centre, _ in stands.values()}))
        canonical_ids = sorted({held[centre].place[2] for centre, _ in stands.values()})
        keys = documents.keys_of(connection, canonical_ids)
        digests = {n: one for n, (one, _) in documents.sizes_of(connection, canonical_ids).items()}
        values = self._fingerprints([*stands, *canonical_ids])
        found: list[ExclusionReason | None] = []
        for row in rows:
            centre, share = stands.get(row.document_id, (0, 0.0))
            canonical = held[centre].place[2] if centre else 0
            # Clusters may be behind: what stands for another has to be there, with its text.
            if not centre or digests.get(canonical) != held[centre].digest:
                found.append(None)
                continue
            one, other = values.get(row.document_id), values.get(canonical)
            member = ClusterMember(
                key=exact_text(row.key),
                document_id=row.document_id,
                resemblance=share,
                distance=None if one is None or other is None else (one ^ other).bit_count(),
                basis="same" if row.digest == held[centre].digest else self._basis,
            )
            stand_in = canonical, exact_text(keys[canonical])
            found.append(_dropping(names.get(centre), stand_in, member, self._rule))
        return found

    def _fingerprints(self, document_ids: Sequence[int]) -> dict[int, int]:
        if self._snapshot.generation is None or not document_ids:
            return {}
        number = self._snapshot.generation.generation_id
        wanted = sorted(set(document_ids))
        return fingerprints.of_documents(
            self._snapshot.connection, self._snapshot.scheme.bits, number, wanted
        )


class ComputedClusterJudge:
    """A judge by clusters computed for this export, which have no names."""

    def __init__(self, found: Clustering, rule: ClusterRule) -> None:
        self._dropped: dict[int, ExclusionReason] = {}
        for cluster in found.clusters:
            canonical = cluster.members[0].document_id, cluster.key
            for member in cluster.members[1:]:
                self._dropped[member.document_id] = _dropping(None, canonical, member, rule)

    def judge(self, rows: Sequence[Any]) -> list[ExclusionReason | None]:
        """Return for each row the reason to leave it out; None: export it."""
        return [self._dropped.get(row.document_id) for row in rows]


def _dropping(
    cluster_id: int | None, canonical: tuple[int, str], member: ClusterMember, rule: ClusterRule
) -> ExclusionReason:
    reason = rule.member_reason(member)
    return ExclusionReason(cluster_id, *canonical, member.distance, member.resemblance, reason)
