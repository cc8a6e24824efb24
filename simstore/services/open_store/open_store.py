"""An open store: starts transactions on its database, and holds its schemes and caches."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore, MissingExtra, SchemeMismatch
from simstore.fingerprint.channels import WORD_SKETCHES, Channels
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.schemes import open_scheme
from simstore.index import tuning
from simstore.index.cache import Cache
from simstore.services.open_store.state import State
from simstore.storage import generations, vocabularies
from simstore.storage.engine import Connection, Database
from simstore.storage.fingerprints import tail
from simstore.storage.generations import GenerationRow
from simstore.storage.vocabularies import Frequencies

if TYPE_CHECKING:
    from simstore.fingerprint.passage_recipe import PassageRecipe
    from simstore.search.sorted_tables import GrowingTables
    from simstore.services.open_store.resident_index import ResidentIndex
import threading
from collections import deque
from types import TracebackType


class FairLock:
    """A fair lock: threads get it in the order in which they asked for it (FIFO).

    A plain one goes to whoever asks at the right moment: a thread that writes transaction after
    transaction would keep all others waiting. Not to be taken by a thread that has it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gates: deque[threading.Lock] = deque()
        self._is_taken = False

    def __enter__(self) -> None:
        gate = threading.Lock()
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return
            gate.acquire()
            self._gates.append(gate)
        try:
            gate.acquire()
        except BaseException:
            # Interrupted: it goes without its turn, or passes it on where it was given meanwhile.
            with self._lock:
                was_given = gate not in self._gates
                if not was_given:
                    self._gates.remove(gate)
            if was_given:
                self._pass_on()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            if self._gates:
                self._gates.popleft().release()
            else:
                self._is_taken = False


class LongTurns:
    """A lock for short work that is done again and again: a thread keeps it for a while.

    Threads that compute in turns of a millisecond lose a tenth of the time or more by waiting for
    each other. Here the thread that has the lock may take it again and again, until another has
    waited for some milliseconds: then that one is next. Not to be taken by a thread that has it.

    Args:
        seconds: How long the first that waits lets others go before it.
    """

    def __init__(self, seconds: float = 0.005) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        # Those that wait, but for the first of them.
        self._line = FairLock()
        self._is_wanted = False

    def __enter__(self) -> None:
        if not self._is_wanted and self._lock.acquire(blocking=False):
            return
        with self._line:
            if self._lock.acquire(timeout=self._seconds):
                return
            self._is_wanted = True
            try:
                self._lock.acquire()
            finally:
                self._is_wanted = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()


# Bytes that the cache may take, without shingle sets and a resident index.
_KEPT_BYTES = 512 << 20
# Bytes of shingle sets of texts that were compared lately: an original is compared again. A store
# with a resident index keeps more.
_SHINGLE_BYTES, _RESIDENT_SHINGLE_BYTES = 64 << 20, 256 << 20
# Terms a writer remembers; beyond, it forgets them all and asks the database again.
_REMEMBERED_TERMS = 1_000_000
_OF_STATE = tuple(field.name for field in fields(State))
_fields_of = attrgetter(*_OF_STATE)
# Texts of more characters are worked on for milliseconds without the interpreter's lock.
SHORT_CHARACTERS = 1 << 16


class OpenStore:
    """The database of a store, with the caches of this process.

    Threads may share it: readers have a snapshot each, writers take turns.
    """

    def __init__(self, database: Database, *, resident: bool = False) -> None:
        self.database = database
        self.is_resident = resident
        # None: each look-up reads what it needs from the file.
        self.resident: ResidentIndex | None = None
        self._turns = FairLock()
        self._short_questions = LongTurns()
        # What stood when it was last asked; it may have changed since.
        self.last_state: State | None = None
        # The key is the number of the scheme, and how often its channels were changed.
        self._schemes: dict[tuple[int, int], tuple[Scheme, Channels]] = {}
        self.cache = Cache(_KEPT_BYTES)
        self._shingles = Cache(_RESIDENT_SHINGLE_BYTES if resident else _SHINGLE_BYTES)
        if resident:
            from simstore.services.open_store.resident_index import ResidentIndex

            self.resident = ResidentIndex()

    def computing(self, characters: int = 0) -> AbstractContextManager[None]:
        """Return a context for answering a query; with a resident index, short ones take turns.

        What a short question needs of a resident index in this process is hardly ever waited for:
        threads that worked on some at once would only wait for the interpreter's lock, some twenty
        times a question.

        Args:
            characters: The length of its texts.
        """
        if not self.is_resident or not self.database.is_file or characters > SHORT_CHARACTERS:
            return nullcontext()
        return self._short_questions

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a writer's connection; commit at the end, roll back on error."""
        with self._turns:
            try:
                with self.database.write() as connection:
                    if self.resident is not None:
                        self.resident.begin(connection)
                    yield connection
                if self.resident is not None:
                    self.resident.end(committed=True)
            except BaseException:
                if self.resident is not None:
                    self.resident.end(committed=False)
                # Terms, fingerprints, sketches and runs that this transaction added are not there.
                self.cache.forget()
                raise

    def state(self, connection: Connection) -> State:
        """Return the state of the store (settings, scheme, generation) in this snapshot.

        Raises:
            SchemeMismatch: This installation computes other fingerprints or sketches than the
                store's scheme.
            MissingExtra: The scheme needs a package that is not installed here.
        """
        settings, scheme_id, generation = generations.standing(connection)
        edition = settings.channels_edition
        known = None if scheme_id is None else self._schemes.get((scheme_id, edition))
        if scheme_id is None or known is None:
            found = generations.scheme_with_status(connection, "standing")
            if found is None:
                raise CorruptStore(self.database.label, "it has no scheme")
            scheme_id, record = found
            try:
                scheme = open_scheme(record)
                channels = Channels.from_record(
                    generations.channels_of(connection, scheme_id),
                    scheme.normalization,
                    record.label,
                )
                known = self._schemes[scheme_id, edition] = scheme, channels
            except MissingExtra:
                raise
            except (ValueError, KeyError, TypeError) as error:
                raise CorruptStore(
                    self.database.label, f"its scheme {record.label} is damaged ({error})"
                ) from error
        recipe = None
        if settings.passage_index_id is not None:
            recipe = self._passage_recipe(connection, settings.passage_index_id)
        scheme, channels = known
        # A scheme that does not depend on the corpus has had one from the start.
        is_lost = (
            generation is None
            and channels.has_fingerprints
            and (not scheme.depends_on_corpus or generations.stood_once(connection, scheme.bits))
        )
        self.last_state = State(
            settings=settings,
            scheme_id=scheme_id,
            scheme=scheme,
            generation=generation,
            channels=channels,
            passages=recipe,
            generation_is_lost=is_lost,
        )
        return self.last_state

    def snapshot(self, connection: Connection, state: State | None = None) -> Snapshot:
        """Return the store as a transaction sees it.

        Args:
            connection: The transaction.
            state: A state to go by, of a scheme under construction; None: the one that stands.

        Raises:
            SimstoreError: What :meth:`state` raises.
        """
        known = self.state(connection) if state is None else state
        return Snapshot(
            store=self,
            connection=connection,
            **dict(zip(_OF_STATE, _fields_of(known), strict=True)),
        )

    def _passage_recipe(self, connection: Connection, index_id: int) -> PassageRecipe:
        known: PassageRecipe | None = self.cache.get("passages", index_id)
        if known is None:
            from simstore.fingerprint.passage_recipe import PassageRecipe
            from simstore.storage import passages

            row = passages.index(connection)
            try:
                known = PassageRecipe.from_record(row.recipe if row else {})
            except (SchemeMismatch, MissingExtra):
                raise
            except (ValueError, KeyError, TypeError) as error:
                raise CorruptStore(
                    self.database.label, f"the recipe of its passages is damaged ({error})"
                ) from error
            self.cache.put("passages", index_id, known)
        return known

    def feature_ids(
        self, connection: Connection, scheme_id: int, terms: Sequence[bytes]
    ) -> NDArray[np.int64]:
        """Return the feature number of each term; new terms are added. For writers only."""
        known: dict[bytes, int] | None = self.cache.get("terms", scheme_id)
        if known is None or len(known) > _REMEMBERED_TERMS:
            known = self.cache.put("terms", scheme_id, {})
        unknown = [term for term in terms if term not in known]
        if unknown:
            known.update(vocabularies.feature_ids(connection, scheme_id, unknown))
            new = [term for term in unknown if term not in known]
            known.update(vocabularies.add_terms(connection, scheme_id, new))
        return np.fromiter((known[term] for term in terms), np.int64, len(terms))

    def shingles(
        self, state: State, digests: Iterable[bytes], name: str = WORD_SKETCHES
    ) -> dict[bytes, NDArray[np.uint64]]:
        """Return the shingle sets of texts that are kept, as a channel of a scheme makes them."""
        key = state.scheme_id, name
        found = {digest: self._shingles.get(digest, key) for digest in digests}
        return {digest: one for digest, one in found.items() if one is not None}

    def keep_shingles(
        self,
        state: State,
        made: Mapping[bytes, NDArray[np.uint64]],
        name: str = WORD_SKETCHES,
    ) -> None:
        """Keep shingle sets of texts by their digests."""
        for digest, one in made.items():
            # A copy: a row would keep all sets alive that were made with it.
            self._shingles.put(digest, (state.scheme_id, name), one.copy())

    def tail_tables(
        self, connection: Connection, bits: int, row: GenerationRow, asked: int
    ) -> GrowingTables | None:
        """Return the tail of a generation in memory; None: look it up in the file.

        Args:
            connection: A snapshot, or a writer.
            bits: Fingerprint length M.
            row: The generation in it.
            asked: How many fingerprints are about to be looked up.
        """
        asked += self.cache.get("asked", row.generation_id) or 0
        held = row.fingerprint_count - row.packed_count
        is_kept = self.cache.get("tail", _tail_key(row)) is not None
        if is_kept or held <= asked * tuning.TAIL_EACH:
            return self.read_tail(connection, bits, row)
        self.cache.put("asked", row.generation_id, asked)
        return None

    def read_tail(self, connection: Connection, bits: int, row: GenerationRow) -> GrowingTables:
        """Return the fingerprints of a generation that are in no run; a run may hold some again."""
        from simstore.search.sorted_tables import GrowingTables

        def read() -> GrowingTables:
            tables = GrowingTables(bits)
            for words in tail.scan(connection, bits, row.generation_id):
                tables = tables.extended(words)
            self.cache.put("asked", row.generation_id, 0)
            return tables

        tables: GrowingTables = self.cache.made("tail", _tail_key(row), read)
        return tables

    def note_added(
        self,
        before: Snapshot,
        words: NDArray[np.uint64],
        counts: generations.FingerprintCounts | None = None,
    ) -> None:
        """Add a transaction's new fingerprints to the caches in memory.

        Args:
            before: The transaction that has added them and no others, as it was before.
            words: The fingerprints, shape (n, ceil(M / 64)).
            counts: What the generation counts after it; None: it is read.
        """
        connection, row = before.connection, before.generation
        if row is None:
            return
        if counts is not None:
            after: GenerationRow | None = replace(row, **counts._asdict())
        else:
            after = generations.standing(connection)[2]
        if after is None:
            return
        if self.resident is not None:
            self.resident.note_added(connection, row, after, words)
        tables: GrowingTables | None = self.cache.get("tail", _tail_key(row))
        if tables is not None:
            self.cache.put("tail", _tail_key(after), tables.extended(words))

    def forget_terms(self) -> None:
        """Drop the cached numbers of terms: some are no longer in the vocabulary."""
        self.cache.put("terms", None, {})

    def rank_of_terms(self, connection: Connection, generation_id: int | None) -> dict[bytes, int]:
        """Return the rank of each ranked term of a generation; read once a generation."""
        if generation_id is None:
            return {}

        def read() -> dict[bytes, int]:
            terms = vocabularies.ranked_terms(connection, generation_id)
            return {term: rank for rank, term in enumerate(terms)}

        ranks: dict[bytes, int] = self.cache.made("ranked terms", generation_id, read)
        return ranks

    def frequencies_of(self, connection: Connection, generation_id: int) -> Frequencies:
        """Return how many documents have each feature in a generation; read once a generation.

        Raises:
            CorruptStore: They are missing or damaged.
        """

        def read() -> Frequencies:
            try:
                return vocabularies.frequencies_of(connection, generation_id)
            except ValueError as error:
                raise CorruptStore(self.database.label, f"document frequencies: {error}") from error

        frequencies: Frequencies = self.cache.made("frequencies", generation_id, read)
        return frequencies

    def ranks_of(
        self, connection: Connection, generation_id: int, feature_ids: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the rank of each feature in a generation, -1 where it has none."""

        def read() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            ranked = vocabularies.ranks(connection, generation_id)
            numbers = np.array([number for number, _ in ranked], np.int64)
            order = np.argsort(numbers)
            return numbers[order], order

        ids, ranks = self.cache.made("ranks", generation_id, read)
        if not len(ids):
            return np.full(len(feature_ids), -1, np.int64)
        places = np.minimum(np.searchsorted(ids, feature_ids), len(ids) - 1)
        return np.where(ids[places] == feature_ids, ranks[places], -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(State):
    """A store as one transaction sees it: its state, its rows, and what is cached of it.

    Attributes:
        store: The open store. Its caches know by themselves for which snapshots they are valid.
        connection: The transaction, of a reader or a writer.
    """

    store: OpenStore
    connection: Connection

    def corrupt(self, reason: object) -> CorruptStore:
        """Return the error that the store is damaged."""
        return CorruptStore(self.store.database.label, str(reason))


def _tail_key(row: GenerationRow) -> tuple[int, int, int]:
    """Return the key of the cached tail of a generation."""
    return row.generation_id, row.edition, row.packed_count


def now() -> int:
    """Return the time in seconds since 1970-01-01 UTC."""
    return int(time.time())
