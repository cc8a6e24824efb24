"""A Scrapy item pipeline that stores the text of items and drops or flags duplicates.

``ITEM_PIPELINES = {"simstore.integrations.scrapy.DedupPipeline": 300}`` and ``SIMSTORE_DB`` turn it
on; :func:`read_settings` reads the other settings.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from simstore.errors import InvalidParameter, MissingExtra, counted, printable
from simstore.model import Document, Duplicate, IngestSummary, OnDuplicate, Outcome
from simstore.model.channels import DROP_RESEMBLANCE
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.sources.fields import RecordFields, of_table, too_long
from simstore.sources.reader import HistoryFields, ReadOptions
from simstore.sources.source import MAX_DOCUMENT_BYTES
from simstore.store import Store
from simstore.store.changes import outcome_of
from simstore.text.decoding import well_formed

PREFIX = "SIMSTORE_"
NAMES = (
    "SIMSTORE_DB",
    "SIMSTORE_ACTION",
    "SIMSTORE_MIN_RESEMBLANCE",
    "SIMSTORE_RADIUS",
    "SIMSTORE_DROP_UNCHANGED",
    "SIMSTORE_KEY_FIELD",
    "SIMSTORE_TEXT_FIELD",
    "SIMSTORE_TITLE_FIELD",
    "SIMSTORE_SEEN_FIELD",
    "SIMSTORE_PUBLISHED_FIELD",
    "SIMSTORE_LINKS_FIELD",
    "SIMSTORE_METADATA_FIELDS",
    "SIMSTORE_COLLECTION",
)
# Actions on a duplicate, each with its name in a check before the insert.
ACTIONS: Mapping[str, OnDuplicate] = {"drop": "skip", "flag": "flag", "keep": "keep"}
_WORDS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class DedupSettings:
    """Settings for checking and storing the items of a crawl.

    Attributes:
        db: Path of the store, or an SQLAlchemy URL.
        action: ``drop``: a duplicate is dropped, and the store keeps what it duplicates; ``flag``:
            it is stored as one and passed on marked; ``keep``: nothing is looked for.
        min_resemblance: Least resemblance of a duplicate to its original, above 0, at most 1; None:
            the distance decides.
        drop_unchanged: Drop items that are stored under their key with this text already.
        key_field: Field with the key; a dotted path leads into objects.
        text_field: Field with the text.
        title_field: Field with the title, which items may lack.
        history_fields: Fields with times and links, which items may lack.
        metadata_fields: Fields that are stored as metadata.
        collection: Collection of the documents; None: none.
        radius: Largest distance of a duplicate's fingerprint to its original's, bits, inclusive;
            None: it does not count. Where there is a resemblance too, both have to hold.
    """

    db: str
    action: str = "drop"
    min_resemblance: float | None = DROP_RESEMBLANCE
    drop_unchanged: bool = False
    key_field: str = "url"
    text_field: str = "text"
    title_field: str | None = "title"
    history_fields: HistoryFields = field(default_factory=HistoryFields)
    metadata_fields: tuple[str, ...] = ()
    collection: str | None = None
    radius: int | None = None

    @property
    def on_duplicate(self) -> OnDuplicate:
        """Action of the check before the insert on a duplicate."""
        return ACTIONS[self.action]

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the fields that are read, without what a dotted path leads to."""
        history = self.history_fields
        named = (
            self.key_field, self.text_field, self.title_field,
            history.seen, history.published, history.links, *self.metadata_fields,
        )  # fmt: skip
        paths = [name for name in named if name]
        return tuple(dict.fromkeys([*paths, *(path.partition(".")[0] for path in paths)]))


def read_settings(settings: Mapping[str, Any]) -> DedupSettings | None:
    """Return what the settings of a crawl say; None where they name no store.

    Args:
        settings: Names to values. Values from a command line or the environment are strings.

    Raises:
        InvalidParameter: A value cannot be used, or a name begins with ``SIMSTORE_`` and is none.
    """
    _refuse_unknown(settings)
    if not settings.get("SIMSTORE_DB"):
        return None
    action = _text(settings, "SIMSTORE_ACTION") or "drop"
    if action not in ACTIONS:
        raise InvalidParameter(f"SIMSTORE_ACTION {action!r}: choose one of {', '.join(ACTIONS)}")
    radius = _bits(settings, "SIMSTORE_RADIUS")
    found = DedupSettings(
        db=str(settings["SIMSTORE_DB"]),
        action=action,
        min_resemblance=_share(
            settings, "SIMSTORE_MIN_RESEMBLANCE", DROP_RESEMBLANCE if radius is None else None
        ),
        drop_unchanged=_flag(settings, "SIMSTORE_DROP_UNCHANGED"),
        key_field=_text(settings, "SIMSTORE_KEY_FIELD") or "url",
        text_field=_text(settings, "SIMSTORE_TEXT_FIELD") or "text",
        title_field=_text(settings, "SIMSTORE_TITLE_FIELD", "title"),
        history_fields=HistoryFields(
            _text(settings, "SIMSTORE_SEEN_FIELD"),
            _text(settings, "SIMSTORE_PUBLISHED_FIELD"),
            _text(settings, "SIMSTORE_LINKS_FIELD"),
        ),
        metadata_fields=_list(settings, "SIMSTORE_METADATA_FIELDS"),
        collection=_text(settings, "SIMSTORE_COLLECTION"),
        radius=radius,
    )
    for name, least, within in (
        ("SIMSTORE_MIN_RESEMBLANCE", found.min_resemblance, None),
        ("SIMSTORE_RADIUS", None, found.radius),
    ):
        try:
            IngestOptions(min_resemblance=least, radius=within)
        except InvalidParameter as error:
            raise InvalidParameter(f"{name}: {error}") from None
    return found


def _refuse_unknown(names: Iterable[str]) -> None:
    for name in names:
        if name.startswith(PREFIX) and name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, 1) or [", ".join(NAMES)]
            raise InvalidParameter(f"there is no setting {name}; there is {near[0]}")


def _text(settings: Mapping[str, Any], name: str, usual: str | None = None) -> str | None:
    """Return a string; None where it is empty or None."""
    value = settings.get(name, usual)
    if value is not None and not isinstance(value, str):
        raise InvalidParameter(f"{name} {value!r}: it must be a string")
    return value or None


def _bits(settings: Mapping[str, Any], name: str) -> int | None:
    """Return a number of bits; None where it is empty or None."""
    value = settings.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    raise InvalidParameter(f"{name} {value!r}: it must be a whole number of bits, like 3")


def _share(settings: Mapping[str, Any], name: str, usual: float | None) -> float | None:
    value = settings.get(name)
    if value is None:
        return usual
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{name} {value!r}: it must be a number, like 0.8") from None


def _flag(settings: Mapping[str, Any], name: str) -> bool:
    value = settings.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    found = _WORDS.get(str(value).strip().lower())
    if found is None:
        raise InvalidParameter(f"{name} {value!r}: it must be True or False")
    return found


def _list(settings: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return names, given as a list or separated by commas."""
    value = settings.get(name)
    if value is None:
        return ()
    found = value.split(",") if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(isinstance(one, str) for one in found):
        raise InvalidParameter(f"{name} {value!r}: it must be a list of names of fields")
    return tuple(one.strip() for one in found if one.strip())


try:
    from itemadapter import ItemAdapter
    from scrapy.exceptions import DropItem, NotConfigured
    from twisted.internet.defer import Deferred
except ImportError as error:
    raise MissingExtra("the pipeline for Scrapy", "scrapy") from error

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

__all__ = ["DedupPipeline", "DuplicateItem"]

log = logging.getLogger(__name__)

ORIGINAL_FIELD = "simstore_duplicate_of"
RESEMBLANCE_FIELD = "simstore_resemblance"
_BASES = {
    "same": "the same text",
    "text": "by the texts",
    "sketch": "estimated by the sketches",
    "distance": "by the fingerprints",
}
_Value = TypeVar("_Value")


class DuplicateItem(DropItem):
    """Raised for a dropped item, which duplicates a stored document.

    Attributes:
        duplicate: What was found: the key, the original's key, the resemblance.
    """

    def __init__(self, duplicate: Duplicate) -> None:
        self.duplicate = duplicate
        if duplicate.resemblance is None:
            how = f"distance {duplicate.distance}"
        else:
            how = f"resemblance {duplicate.resemblance:.3f}"
        super().__init__(
            f"{printable(duplicate.key)} is a duplicate of {printable(duplicate.original)} "
            f"({how}, {_BASES[duplicate.basis]})"
        )


class DedupPipeline:
    """Stores the text of each item, and drops or flags what duplicates a stored one.

    Items are dealt with in the order in which they come, each in a transaction of its own, on a
    thread beside the reactor: a store that another process is writing to does not hold up the
    downloads. Duplicates are those of :meth:`Store.add` with ``on_duplicate``.

    What becomes of items is counted in the stats of the crawl: ``simstore/added``, ``/updated``,
    ``/unchanged`` (stored before with this text), ``/flagged`` (those that were flagged before are
    unchanged, too), ``/dropped``, ``/rejected`` (passed on without a look, as key or text is
    missing or cannot be used) and ``/uncovered`` (keys that were dropped as duplicates of documents
    whose texts have changed and no longer say all of it: to be crawled again).
    ``/displaced`` counts stored documents of which an earlier original came later.
    """

    def __init__(self, settings: DedupSettings, crawler: Crawler) -> None:
        """Use :meth:`from_crawler`."""
        self._settings = settings
        self._crawler = crawler
        self._fields = RecordFields(
            "items",
            ReadOptions(
                key_field=settings.key_field,
                text_field=settings.text_field,
                history_fields=settings.history_fields,
            ),
            key_required=True,
        )
        self._warned: set[str] = set()
        self._leaving = ExitStack()
        self._store: Store
        self._worker: ThreadPoolExecutor

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline that the settings of a crawl ask for.

        Raises:
            NotConfigured: They name no store; then Scrapy goes on without the pipeline.
            InvalidParameter: A setting cannot be used; then the crawl does not begin.
        """
        settings = read_settings(crawler.settings)
        if settings is None:
            raise NotConfigured(
                'SIMSTORE_DB names no store; set it to the path of a file, like "crawl.db"'
            )
        return cls(settings, crawler)

    def open_spider(self, spider: Any = None) -> None:  # noqa: ARG002 - older Scrapy gives it
        """Open the store; where there is none, make one.

        Raises:
            StorageError: It cannot be opened.
            NotFound: It keeps nothing to verify duplicates by.
        """
        with ExitStack() as leaving:
            store = leaving.enter_context(Store.open(self._settings.db, create=True))
            # What cannot work at all is refused here, not at each item.
            store.add_many(
                [],
                on_duplicate=self._settings.on_duplicate,
                min_resemblance=self._settings.min_resemblance,
                radius=self._settings.radius,
                refresh=False,
            )
            # As at the end of every ingest.
            leaving.callback(store.add_many, [])
            self._worker = leaving.enter_context(ThreadPoolExecutor(1, "simstore"))
            self._store = store
            self._leaving = leaving.pop_all()
            log.info(
                "%r holds %s; duplicates: %s",
                store,
                counted(len(store), "document"),
                self._settings.action,
                extra={"spider": self._crawler.spider},
            )

    def close_spider(self, spider: Any = None) -> None:  # noqa: ARG002
        """Refresh a live store of a corpus-dependent scheme, and close the store."""
        self._leaving.close()

    async def process_item(self, item: Any, spider: Any = None) -> Any:  # noqa: ARG002
        """Check and store an item.

        Returns:
            The item; with the action ``flag`` a duplicate has the fields ``simstore_duplicate_of``
            and ``simstore_resemblance``, where its type has room for them.

        Raises:
            DropItem: It is a duplicate (:class:`DuplicateItem`), or unchanged and to be dropped.
            SimstoreError: It cannot be stored.
        """
        adapter = ItemAdapter(item)
        document = self._document(adapter)
        if isinstance(document, str):
            self._reject(document)
            return item
        outcome, duplicate, summary = await self._in_worker(lambda: self._add(document))
        for name in ("orphaned", "uncovered", "displaced"):
            if count := getattr(summary, name):
                self._count(name, count)
        if outcome == "skipped" and duplicate is not None:
            self._count("dropped")
            raise DuplicateItem(duplicate)
        self._count(outcome)
        if duplicate is not None:
            if outcome == "unchanged":
                self._count("flagged")
            self._mark(adapter, duplicate)
        if outcome == "unchanged" and self._settings.drop_unchanged:
            self._count("dropped")
            raise DropItem(f"{printable(document.key)} is stored with this text already")
        return item

    def _document(self, adapter: ItemAdapter) -> Document | str:
        """Return what is to be stored of an item, or why nothing can be."""
        wanted = self._settings
        # A copy: what is taken out of it stays in the item.
        record = of_table(
            (name, adapter[name])
            for name in wanted.fields
            if name in adapter and adapter[name] is not None
        )
        title = record.pop(wanted.title_field or "", None)
        made = self._fields.document(record, 0, 0, 0)
        if isinstance(made, str):
            return made
        if not made.text or made.text.isspace():
            return f"no text: the field {wanted.text_field} is empty"
        reason = too_long(made.text, MAX_DOCUMENT_BYTES)
        if reason is not None:
            return reason
        return replace(
            made,
            title=well_formed(title) if isinstance(title, str) else None,
            collection=wanted.collection,
            metadata={
                name: made.metadata[name]
                for name in wanted.metadata_fields
                if name in made.metadata
            },
        )

    def _add(self, document: Document) -> tuple[Outcome, Duplicate | None, IngestSummary]:
        """Store a document; return its outcome, the document it duplicates, and side effects.

        Runs on the worker's thread.
        """
        found: list[Duplicate] = []
        summary = self._store.add_many(
            [document],
            refresh=False,
            on_duplicate=self._settings.on_duplicate,
            min_resemblance=self._settings.min_resemblance,
            radius=self._settings.radius,
            observer=Observer(on_found=found.append),
        )
        outcome = outcome_of(summary)
        if outcome == "unchanged" and self._settings.action == "flag":
            known = self._store.duplicates.of(document.key)
            found = [known] if known is not None else []
        return outcome, found[0] if found else None, summary

    def _mark(self, adapter: ItemAdapter, duplicate: Duplicate) -> None:
        """Tell a duplicate in its item, where the item's type has room for that."""
        values = {ORIGINAL_FIELD: duplicate.original, RESEMBLANCE_FIELD: duplicate.resemblance}
        for name, value in values.items():
            try:
                adapter[name] = value
            except KeyError:
                self._warn_once(
                    f"{type(adapter.item).__name__} has no field {name}: its duplicates are only "
                    "counted; add the field"
                )

    def _reject(self, reason: str) -> None:
        self._count("rejected")
        self._warn_once(
            f"an item is passed on without a look: {reason} (SIMSTORE_KEY_FIELD is "
            f"{self._settings.key_field!r}, SIMSTORE_TEXT_FIELD is {self._settings.text_field!r})"
        )

    def _warn_once(self, message: str) -> None:
        level = logging.DEBUG if message in self._warned else logging.WARNING
        self._warned.add(message)
        log.log(level, "%s", message, extra={"spider": self._crawler.spider})

    def _count(self, name: str, count: int = 1) -> None:
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value(f"simstore/{name}", count)

    async def _in_worker(self, function: Callable[[], _Value]) -> _Value:
        """Return what a function returns on the worker's thread, under any reactor or none."""
        future = self._worker.submit(function)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return await _deferred(future)
        return await asyncio.wrap_future(future)


def _deferred(future: Future[_Value]) -> Deferred[_Value]:
    """Return what a reactor without asyncio waits for."""
    # Importing it installs one; here it runs.
    from twisted.internet import reactor

    waiting: Deferred[_Value] = Deferred()

    def settle() -> None:
        error = future.exception()
        if error is None:
            waiting.callback(future.result())
        else:
            waiting.errback(error)

    future.add_done_callback(lambda _: reactor.callFromThread(settle))
    return waiting
