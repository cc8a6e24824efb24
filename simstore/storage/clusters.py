"""Read, write and check the tables of stored clusters: texts, similar pairs, pending changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from simstore.search.stars import joined_centre
from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import corrupt
from simstore.storage.rows import delete_in, execute, fetch, insert_rows, select_in

# Major, time of first sight, document: the smaller comes first.
Place = tuple[int, int, int]
_TEXTS = "SELECT text_id, digest, major, first_seen, document_id FROM cluster_text"


@dataclass(frozen=True, slots=True)
class Basis:
    """The settings by which edges are found; when they change, clusters are made anew.

    Attributes:
        scheme_id: The scheme.
        generation_id: The generation, where fingerprints depend on the corpus.
        radius: Bits; None: not by fingerprints.
        bands: Bands of a sketch; None: not by sketches.
        band_rows: Values of a band.
    """

    scheme_id: int
    generation_id: int | None
    radius: int | None
    bands: int | None
    band_rows: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringRow:
    """The rule by which a store's clusters are made.

    Attributes:
        preferred: A regular expression for keys, with the policy ``prefer``.
        state: ``building`` or ``standing``.
        attempt: How often they were begun to be made.
        updated_at: When they were last brought up to date.
    """

    min_resemblance: float
    policy: str
    preferred: str | None
    basis: Basis
    state: str
    attempt: int
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class TextRow:
    """A text, and its place: that of the first of its documents."""

    text_id: int
    digest: bytes
    place: Place


@dataclass(frozen=True, slots=True)
class HolderRow:
    """The attributes of a document by which the policies order it."""

    document_id: int
    key: bytes
    byte_count: int
    first_seen: int


def row(connection: Connection) -> ClusteringRow | None:
    """Return the rule; None where the store has no clusters."""
    found = connection.execute(sql.select(tables.clustering)).mappings().one_or_none()
    if found is None:
        return None
    values = {name: value for name, value in found.items() if name != "clustering_id"}
    basis = Basis(**{one.name: values.pop(one.name) for one in fields(Basis)})
    return ClusteringRow(basis=basis, **values)


def put_row(connection: Connection, made: ClusteringRow) -> None:
    """Write the rule in the place of any other."""
    connection.execute(sql.delete(tables.clustering))
    values = asdict(made)
    connection.execute(
        sql.insert(tables.clustering), {"clustering_id": 1, **values.pop("basis"), **values}
    )


def set_updated(connection: Connection, updated_at: int) -> None:
    """Record the time at which clusters were brought up to date."""
    connection.execute(sql.update(tables.clustering).values(updated_at=updated_at))


def are_kept(connection: Connection) -> bool:
    """Return whether the store keeps clusters."""
    return bool(fetch(connection, "SELECT 1 FROM clustering"))


def state(connection: Connection) -> str | None:
    """Return the state of clusters, ``building`` or ``standing``; None where there are none."""
    found = fetch(connection, "SELECT state FROM clustering")
    return found[0][0] if found else None


def add_changes(connection: Connection, digests: Iterable[bytes]) -> None:
    """Note texts whose documents are others than before; one that is noted already stays so."""
    rows = [(digest,) for digest in sorted(set(digests))]
    insert_rows(connection, tables.cluster_change, ("digest",), rows, "ON CONFLICT DO NOTHING")


def changes(connection: Connection, limit: int) -> list[bytes]:
    """Return noted texts, at most so many: those without documents, then by their first one."""
    statement = (
        "SELECT digest FROM (SELECT c.digest AS digest, min(d.document_id) AS document_id "
        "FROM (SELECT digest FROM cluster_change ORDER BY digest LIMIT ?) c "
        "LEFT JOIN document d ON d.digest = c.digest GROUP BY c.digest) found "
        "ORDER BY coalesce(document_id, 0), digest"
    )
    return [bytes(digest) for (digest,) in fetch(connection, statement, limit)]


def count_changes(connection: Connection) -> int:
    """Return how many texts are noted."""
    return int(fetch(connection, "SELECT count(*) FROM cluster_change")[0][0])


def drop_changes(connection: Connection, digests: Sequence[bytes]) -> None:
    """Forget noted texts: they are dealt with."""
    delete_in(connection, tables.cluster_change.c.digest, digests)


def drop_all(connection: Connection) -> None:
    """Delete the rule, all clusters and their numbers, and the pending changes."""
    connection.execute(sql.update(tables.cluster).values(merged_into=None))
    for table in (tables.cluster, tables.clustering):
        connection.execute(sql.delete(table))
    drop_all_changes(connection)
    drop_texts_and_spokes(connection)


def drop_all_changes(connection: Connection) -> None:
    """Forget all noted texts."""
    connection.execute(sql.delete(tables.cluster_change))


def drop_texts_and_spokes(connection: Connection) -> None:
    """Delete all texts and their edges."""
    connection.execute(sql.delete(tables.cluster_spoke))
    connection.execute(sql.delete(tables.cluster_text))


def holders(connection: Connection, digests: Sequence[bytes]) -> dict[bytes, list[HolderRow]]:
    """Return the documents with each of these texts, in order of ingest."""
    statement = (
        "SELECT digest, document_id, key, byte_count, first_seen FROM document WHERE digest IN ({})"
    )
    found: dict[bytes, list[HolderRow]] = {}
    for digest, *facts in select_in(connection, statement, digests):
        found.setdefault(bytes(digest), []).append(
            HolderRow(facts[0], bytes(facts[1]), facts[2], facts[3])
        )
    for rows in found.values():
        rows.sort(key=lambda one: one.document_id)
    return found


def texts(connection: Connection, digests: Sequence[bytes]) -> dict[bytes, TextRow]:
    """Return the rows of texts, by their digests."""
    rows = map(_text_row, select_in(connection, f"{_TEXTS} WHERE digest IN ({{}})", digests))
    return {row.digest: row for row in rows}


def texts_by_number(connection: Connection, numbers: Sequence[int]) -> dict[int, TextRow]:
    """Return the rows of texts, by their numbers."""
    rows = map(_text_row, select_in(connection, f"{_TEXTS} WHERE text_id IN ({{}})", numbers))
    return {row.text_id: row for row in rows}


def _text_row(row: tuple[Any, ...]) -> TextRow:
    return TextRow(row[0], bytes(row[1]), (row[2], row[3], row[4]))


def texts_of(
    connection: Connection, document_ids: Sequence[int]
) -> dict[int, tuple[bytes, int | None, bool]]:
    """Return for documents the digest, the text's number if known, whether it is canonical."""
    statement = (
        "SELECT d.document_id, d.digest, t.text_id, c.cluster_id FROM document d "
        "LEFT JOIN cluster_text t ON t.digest = d.digest "
        "LEFT JOIN cluster c ON c.centre_id = t.text_id WHERE d.document_id IN ({})"
    )
    return {
        number: (bytes(digest), text, name is not None)
        for number, digest, text, name in select_in(connection, statement, document_ids)
    }


def without_documents(connection: Connection, numbers: Sequence[int]) -> set[int]:
    """Return those of the texts that no document has."""
    statement = (
        "SELECT t.text_id FROM cluster_text t WHERE NOT EXISTS "
        "(SELECT 1 FROM document d WHERE d.digest = t.digest) AND t.text_id IN ({})"
    )
    return {number for (number,) in select_in(connection, statement, numbers)}


def spokes(connection: Connection, numbers: Sequence[int]) -> dict[int, dict[int, float]]:
    """Return the spokes of texts that have some: canonical texts and resemblances."""
    statement = "SELECT text_id, centre_id, resemblance FROM cluster_spoke WHERE text_id IN ({})"
    found: dict[int, dict[int, float]] = {}
    for text, centre, share in select_in(connection, statement, numbers):
        found.setdefault(text, {})[centre] = share
    return found


def followers(connection: Connection, centres: Sequence[int]) -> dict[int, list[int]]:
    """Return the texts with a spoke to each text."""
    statement = "SELECT centre_id, text_id FROM cluster_spoke WHERE centre_id IN ({})"
    found: dict[int, list[int]] = {}
    for centre, text in select_in(connection, statement, centres):
        found.setdefault(centre, []).append(text)
    return found


def members(connection: Connection, centres: Sequence[int]) -> dict[int, list[int]]:
    """Return the texts of the cluster of each canonical text, itself left out."""
    joined = {text for of_centre in followers(connection, centres).values() for text in of_centre}
    led = spokes(connection, list(joined))
    met = {centre for of_text in led.values() for centre in of_text}
    places = {number: row.place for number, row in texts_by_number(connection, list(met)).items()}
    if met - places.keys():
        raise corrupt(connection, "edges of kept clusters lead to texts that are not there")
    wanted = set(centres)
    found: dict[int, list[int]] = {}
    for text, of_text in led.items():
        centre = joined_centre(text, of_text, places)
        if centre in wanted:
            found.setdefault(centre, []).append(text)
    return found


def add_texts(connection: Connection, made: Iterable[TextRow]) -> None:
    """Write new texts."""
    columns = ("text_id", "digest", "major", "first_seen", "document_id")
    rows = [(one.text_id, one.digest, *one.place) for one in made]
    insert_rows(connection, tables.cluster_text, columns, rows)


def move_texts(connection: Connection, places: Mapping[int, Place]) -> None:
    """Give texts another place."""
    statement = (
        "UPDATE cluster_text SET major = ?, first_seen = ?, document_id = ? WHERE text_id = ?"
    )
    for number, place in places.items():
        execute(connection, statement, *place, number)


def put_digests(connection: Connection, digests: Mapping[int, bytes]) -> None:
    """Give texts, by their numbers, other digests."""
    statement = (
        sql.update(tables.cluster_text)
        .where(tables.cluster_text.c.text_id == sql.bindparam("_text_id"))
        .values(digest=sql.bindparam("_digest"))
    )
    if digests:
        rows = [{"_text_id": number, "_digest": one} for number, one in digests.items()]
        connection.execute(statement, rows)


def drop_texts(connection: Connection, numbers: Sequence[int]) -> None:
    """Delete texts with their edges."""
    delete_in(connection, tables.cluster_text.c.text_id, numbers)


def put_spokes(connection: Connection, rows: Sequence[tuple[int, int, float]]) -> None:
    """Write spokes: text, canonical text, resemblance; one that is there gets the new one."""
    conflict = "ON CONFLICT (text_id, centre_id) DO UPDATE SET resemblance = excluded.resemblance"
    insert_rows(
        connection, tables.cluster_spoke, ("text_id", "centre_id", "resemblance"), rows, conflict
    )


def drop_spokes(connection: Connection, rows: Iterable[tuple[int, int]]) -> None:
    """Delete spokes: text, canonical text."""
    for text, centre in rows:
        execute(
            connection,
            "DELETE FROM cluster_spoke WHERE text_id = ? AND centre_id = ?",
            text,
            centre,
        )


def waiting(connection: Connection, digests: Sequence[bytes]) -> set[bytes]:
    """Return those of the texts that are noted."""
    statement = "SELECT digest FROM cluster_change WHERE digest IN ({})"
    return {bytes(digest) for (digest,) in select_in(connection, statement, digests)}


def count_missing(connection: Connection) -> int:
    """Return how many texts of documents are neither of the clusters nor noted."""
    statement = (
        "SELECT count(DISTINCT d.digest) FROM document d "
        "WHERE NOT EXISTS (SELECT 1 FROM cluster_text t WHERE t.digest = d.digest) "
        "AND NOT EXISTS (SELECT 1 FROM cluster_change c WHERE c.digest = d.digest)"
    )
    return int(fetch(connection, statement)[0][0])


def leftovers(connection: Connection) -> list[str]:
    """Return which tables of clusters hold something, to be asked where none are kept."""
    names = ("cluster", "cluster_text", "cluster_spoke")
    return [
        name
        for name in names
        if fetch(connection, f"SELECT count(*) FROM {name}")[0][0]  # noqa: S608 - our own names
    ]


def broken_names(connection: Connection) -> Iterator[str]:
    """Yield in words the errors in the numbers of clusters and in their canonical texts."""
    spokes_of = "EXISTS (SELECT 1 FROM cluster_spoke o WHERE o.text_id = {})"
    has_spokes = spokes_of.format("t.text_id")
    has_name = "EXISTS (SELECT 1 FROM cluster c WHERE c.centre_id = t.text_id)"
    texts = "SELECT count(*) FROM cluster_text t WHERE"
    spoke = (
        "SELECT count(*) FROM cluster_spoke s JOIN cluster_text t ON t.text_id = s.text_id "
        "JOIN cluster_text c ON c.text_id = s.centre_id WHERE"
    )
    later = (
        "c.major > t.major OR c.major = t.major AND (c.first_seen > t.first_seen OR "
        "c.first_seen = t.first_seen AND c.document_id >= t.document_id)"
    )
    for problem, statement in (
        (
            "canonical texts are without a name",
            f"{texts} NOT {has_spokes} AND NOT {has_name}",
        ),
        (
            "members have a name of their own",
            f"{texts} {has_spokes} AND {has_name}",
        ),
        (
            "names are of texts that are not there",
            "SELECT count(*) FROM cluster c WHERE c.centre_id IS NOT NULL AND NOT EXISTS "
            "(SELECT 1 FROM cluster_text t WHERE t.text_id = c.centre_id)",
        ),
        (
            "names have ended and not ended",
            "SELECT count(*) FROM cluster WHERE (centre_id IS NULL) <> (ended_at IS NOT NULL)",
        ),
        (
            "edges lead to members",
            f"{spoke} {spokes_of.format('s.centre_id')}",
        ),
        ("edges lead to later texts", f"{spoke} {later}"),
    ):
        count = int(fetch(connection, statement)[0][0])
        if count:
            yield f"{count} {problem}"


def text_pages(connection: Connection, limit: int) -> Iterator[list[TextRow]]:
    """Yield all texts, ascending by number, in batches."""
    statement = f"{_TEXTS} WHERE text_id > ? ORDER BY text_id LIMIT ?"
    after = 0
    while rows := fetch(connection, statement, after, limit):
        yield list(map(_text_row, rows))
        after = rows[-1][0]
