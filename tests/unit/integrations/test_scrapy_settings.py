"""What the settings of a Scrapy project say."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("scrapy", reason="Scrapy is not installed (the extra scrapy)")

from simstore.errors import InvalidParameter
from simstore.integrations.scrapy import NAMES, DedupSettings, read_settings
from simstore.sources.reader import HistoryFields


def test_no_store_means_no_settings() -> None:
    assert read_settings({"BOT_NAME": "harbour"}) is None
    assert read_settings({"SIMSTORE_DB": ""}) is None


def test_each_setting_is_read_as_a_value_or_as_a_string() -> None:
    expected = DedupSettings(
        "crawl.db", "flag", 0.9, True, "id", "body.main", None,
        HistoryFields("fetched", "dated", "links"), ("lang", "site"), "news", 5,
    )  # fmt: skip
    common = {
        "SIMSTORE_DB": "crawl.db",
        "SIMSTORE_ACTION": "flag",
        "SIMSTORE_KEY_FIELD": "id",
        "SIMSTORE_TEXT_FIELD": "body.main",
        "SIMSTORE_SEEN_FIELD": "fetched",
        "SIMSTORE_PUBLISHED_FIELD": "dated",
        "SIMSTORE_LINKS_FIELD": "links",
        "SIMSTORE_COLLECTION": "news",
    }
    values: dict[str, Any] = {
        "SIMSTORE_MIN_RESEMBLANCE": 0.9,
        "SIMSTORE_RADIUS": 5,
        "SIMSTORE_DROP_UNCHANGED": True,
        "SIMSTORE_TITLE_FIELD": None,
        "SIMSTORE_METADATA_FIELDS": ["lang", "site"],
    }
    strings = {
        "SIMSTORE_MIN_RESEMBLANCE": "0.9",
        "SIMSTORE_RADIUS": " 5",
        "SIMSTORE_DROP_UNCHANGED": "1",
        "SIMSTORE_TITLE_FIELD": "",
        "SIMSTORE_METADATA_FIELDS": "lang, site",
    }
    assert {*common, *values} == set(NAMES)
    found = read_settings(common | values)
    assert found == expected == read_settings(common | strings)
    # What a dotted path begins with may be a field, too.
    assert found.fields == (
        "id", "body.main", "fetched", "dated", "links", "lang", "site", "body",
    )  # fmt: skip


def test_what_cannot_be_used_is_refused_by_name() -> None:
    for name, value, message in (
        ("SIMSTORE_ACTION", "skip", "SIMSTORE_ACTION 'skip': choose one of drop, flag, keep"),
        ("SIMSTORE_MIN_RESEMBLANCE", "much", "SIMSTORE_MIN_RESEMBLANCE 'much': it must be a n"),
        ("SIMSTORE_MIN_RESEMBLANCE", "80", "SIMSTORE_MIN_RESEMBLANCE: min_resemblance 80.0: it"),
        ("SIMSTORE_MIN_RESEMBLANCE", "nan", "SIMSTORE_MIN_RESEMBLANCE: min_resemblance nan: it"),
        ("SIMSTORE_RADIUS", "near", "SIMSTORE_RADIUS 'near': it must be a whole number of bits"),
        ("SIMSTORE_RADIUS", True, "SIMSTORE_RADIUS True: it must be a whole number of bits"),
        ("SIMSTORE_RADIUS", -1, "SIMSTORE_RADIUS: radius -1: it must be at least 0"),
        ("SIMSTORE_DROP_UNCHANGED", "maybe", "SIMSTORE_DROP_UNCHANGED 'maybe': it must be True"),
        ("SIMSTORE_KEY_FIELD", 7, "SIMSTORE_KEY_FIELD 7: it must be a string"),
        ("SIMSTORE_METADATA_FIELDS", {"a": 1}, "it must be a list of names of fields"),
        ("SIMSTORE_TEXT_FEILD", "body", "no setting SIMSTORE_TEXT_FEILD; there is SIMSTORE_TEXT_F"),
        ("SIMSTORE_", "x", "there is no setting SIMSTORE_; there is "),
    ):
        with pytest.raises(InvalidParameter) as raised:
            read_settings({"SIMSTORE_DB": "crawl.db", name: value})
        assert message in str(raised.value), name


def test_a_radius_alone_decides_unless_a_resemblance_is_set_too() -> None:
    found = read_settings({"SIMSTORE_DB": "crawl.db", "SIMSTORE_RADIUS": "3"})
    assert found is not None
    assert (found.radius, found.min_resemblance) == (3, None)
    both = {"SIMSTORE_DB": "crawl.db", "SIMSTORE_RADIUS": 3, "SIMSTORE_MIN_RESEMBLANCE": 0.5}
    found = read_settings(both)
    assert found is not None
    assert (found.radius, found.min_resemblance) == (3, 0.5)


def test_a_wrong_name_is_refused_without_a_store_too() -> None:
    with pytest.raises(InvalidParameter, match="there is SIMSTORE_DB"):
        read_settings({"SIMSTORE_BD": "crawl.db"})
