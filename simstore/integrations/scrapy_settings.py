"""Scrapy settings that configure the item pipeline."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simstore.errors import InvalidParameter
from simstore.model import OnDuplicate
from simstore.model.channels import DROP_RESEMBLANCE
from simstore.services.ingest.ingest import IngestOptions
from simstore.sources.reader import HistoryFields

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
# What is done with a duplicate, and what a check before the insert calls that.
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
