"""Any string, in any place that takes one: it comes back the same, or is refused in a word."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from forked import Nursery
from served import PATIENCE_SECONDS, serve

from simstore import Document, Store
from simstore.client import Client
from simstore.errors import InvalidParameter, SimstoreError
from simstore.model import CheckOptions, QueryOptions

pytestmark = pytest.mark.sqlite

Held = Store | Client
ODD = {
    "half of a character": "a\ud800b",
    "its other half": "a\udfffb",
    "a byte that is not UTF-8": "a\udcffb",
    "nul": "a\x00b",
    "controls": "\x01\x1b[31m\x7f\r\n",
    "directions": "\u202eabc\u2066",
    "no characters": "\uffff\U0010ffff",
    "long": "x" * 300_000,
}
HALVES = {"half of a character", "its other half"}
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    place = tmp_path_factory.mktemp("odd") / "s.db"
    with Store.create(place, synchronous="normal") as store:
        store.add("k0", "Some text.")
        store.passages.build()
        with serve(place) as served, Client(served.url) as client:
            yield {"store": store, "client": client, "url": served.url}


@pytest.fixture(params=["store", "client"])
def held(request: pytest.FixtureRequest, library: dict[str, Any]) -> Held:
    found: Held = library[request.param]
    return found


def added(held: Held, **fields: Any) -> Any:
    """Return a document as it comes back."""
    given = {"key": f"k{next(NUMBERS)}", "text": "Some text.", **fields}
    held.add_many([given])
    return held.get(given["key"], with_text=True)


def kept_line(text: str) -> str:
    """Return a title or collection as it is kept: what no database has is replaced."""
    return text.replace("\x00", "\ufffd").replace("\udcff", "\ufffd")


# What a document has, by how it is given and how it comes back.
FIELDS: dict[str, Callable[[Held, str], tuple[Any, Any]]] = {
    "key": lambda held, odd: (added(held, key=odd).key, odd),
    "text": lambda held, odd: (added(held, text=odd).text, odd),
    "title": lambda held, odd: (added(held, title=odd).title, kept_line(odd)),
    "collection": lambda held, odd: (added(held, collection=odd).collection, kept_line(odd)),
    "name of metadata": lambda held, odd: (dict(added(held, metadata={odd: 1}).metadata), {odd: 1}),
    "metadata": lambda held, odd: (added(held, metadata={"m": [odd]}).metadata["m"], [odd]),
    "link": lambda held, odd: (
        held.duplicates.story(added(held, links=(odd,)).key).links_to, (odd,) if odd in held else ()
    ),
}  # fmt: skip


def test_what_a_document_has_comes_back_or_is_refused(held: Held) -> None:
    for field, odd in itertools.product(FIELDS, ODD):
        # JSON has a form for half a character, and metadata are JSON.
        if odd in HALVES and "metadata" not in field:
            before = len(held)
            with pytest.raises(InvalidParameter, match=r"lone surrogate"):
                FIELDS[field](held, ODD[odd])
            assert len(held) == before
        elif (field, odd) == ("key", "long") and isinstance(held, Client):
            with pytest.raises(InvalidParameter, match="an address of 300"):
                FIELDS[field](held, ODD[odd])
        else:
            found, expected = FIELDS[field](held, ODD[odd])
            is_kept = set(found) <= {ODD[odd]} if field == "link" else found == expected
            assert is_kept, (field, odd)


ASKED: dict[str, Callable[[Held, str], Any]] = {
    "show": lambda held, odd: held.get(odd),
    "story": lambda held, odd: held.duplicates.story(odd),
    "rule of a story": lambda held, odd: held.duplicates.story("k0", original=f"prefer:{odd}"),
    "seen": lambda held, odd: held.seen(odd),
    "seen content": lambda held, odd: held.seen(text=odd),
    "contains": lambda held, odd: odd in held,
    "query": lambda held, odd: held.query(odd),
    "collection of a query": lambda held, odd: held.query("Some text.", collection=odd),
    "where": lambda held, odd: held.query_many(
        [("", "Some text.")], QueryOptions(where=((odd, odd),))
    ),
    "documents of a collection": lambda held, odd: list(held.list(collection=odd)),
    "duplicates": lambda held, odd: list(held.duplicates.list(original=odd)),
    "check": lambda held, odd: held.check(odd, key=odd),
    "excluded": lambda held, odd: held.check("Some.", CheckOptions(exclude=(odd,))),
    "cluster of": lambda held, odd: held.clusters.of(odd),
    "compare": lambda held, odd: held.compare(Document("a", odd), Document(odd, "b")),
    "remove": lambda held, odd: held.remove(f"{odd} never", missing_ok=True),
}


@pytest.mark.slow
def test_what_is_asked_by_is_answered_or_refused(library: dict[str, Any]) -> None:
    for asked, odd in itertools.product(ASKED, ODD):
        told = []
        for held in (library["store"], library["client"]):
            try:
                ASKED[asked](held, ODD[odd])
                told.append(0)
            except SimstoreError as error:
                told.append(error.exit_code)
        assert set(told) <= {0, 2, 3, 5}, (asked, odd)
        # What stands in an address has its bounds.
        is_alike = (told[0] == 0) == (told[1] == 0)
        assert is_alike or (odd == "long" and told[1] == 2), (asked, odd)


def test_a_collection_is_found_by_the_name_that_it_was_given(held: Held) -> None:
    for odd in ODD.keys() - HALVES - {"long"}:
        key = added(held, collection=f"found {ODD[odd]}").key
        assert key in [one.key for one in held.list(collection=f"found {ODD[odd]}")]


def test_half_a_character_in_json_is_refused_or_replaced(library: dict[str, Any]) -> None:
    for field, odd in itertools.product(["key", "text", "title", "collection"], HALVES):
        body = json.dumps({"key": f"h{next(NUMBERS)}", "text": "Some.", field: ODD[odd]})
        reply = httpx.post(
            f"{library['url']}/v1/documents", content=body, timeout=PATIENCE_SECONDS,
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        assert reply.status_code in (200, 400, 422), reply.text
        assert reply.status_code == 200 or reply.json()["exit_code"] in (2, 5)


@pytest.mark.slow
@pytest.mark.parametrize("field", ["key", "text", "title", "collection", "metadata"])
def test_commands_take_and_give_it_or_say_what_is_wrong(
    nursery: Nursery, tmp_path: Path, field: str
) -> None:
    for number, odd in enumerate(ODD.values()):
        store = ("--db", f"{number}.db")
        record = {"key": "k", "text": "Some.", field: odd}
        (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
        done = nursery.simstore(tmp_path, "ingest", *store, "in.jsonl")
        assert done.code in (0, 5), done.errors
        listed = nursery.simstore(tmp_path, "list", *store, "--format", "jsonl")
        assert listed.code == 0, listed.errors
        assert len(listed.text.splitlines()) == (done.code == 0)
        assert "Traceback" not in done.errors + listed.errors
        if done.code == 0 and field not in ("key", "text"):
            shown = nursery.simstore(tmp_path, "show", *store, "k", "--format", "json")
            assert shown.code == 0, shown.errors
            json.loads(shown.text)
