"""Web pages that search stored documents by key or text, and show one document's history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from simstore.errors import DocumentNotFound, SimstoreError
from simstore.model import (
    CheckOptions,
    Copy,
    Document,
    Match,
    QueryOptions,
    Seen,
    StoredDocument,
    Story,
)
from simstore.reports.check_html import paragraphs_of
from simstore.reports.html_page import shown
from simstore.reports.lines import key_text, to_json
from simstore.server.access.gate import GuardedRoute, requires
from simstore.server.page.browser_request import asked_values, in_address, language_of
from simstore.server.page.problems import FormError, keep_form
from simstore.server.page.rendering import answer
from simstore.server.page.state import StoreOverview, page_state_of
from simstore.server.page.words import page_words
from simstore.server.service import Service, service_of

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)

# A longer text is shown as it was found, without an address of its own.
LONGEST_IN_ADDRESS = 1_500
_LONGEST_KEY = 4_000
_MOST_HITS = 20
_EXCERPT = 240
# Above the distance of any two fingerprints.
_NO_DISTANCE = 1 << 10
_MOST_RELATIVES = 50
_MOST_TEXT = 20_000
# Beyond, the check of papers is the place to look for passages.
_LONGEST_SEARCHED = 20_000


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that was found.

    Attributes:
        title: Its title; None: it has none.
        excerpt: What it shares with the text, or how it begins; empty where no texts are kept.
        evidence: How like the text it is.
    """

    key: str
    title: str | None
    excerpt: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Evidence:
    """The likeness of a document to a text: one figure for each question.

    Attributes:
        share: How much of the text is in the document, 0 to 1: in the passages that both have word
            for word, or by the containment of the whole, which also sees shorter ones; the larger.
            None: neither is known.
        share_is_estimated: By sketches.
        resemblance: Of both as a whole; None: they are not alike as a whole, or it is not known.
        resemblance_is_estimated: By sketches.
        distance: Of their fingerprints, bits; None: it is above the radius.
    """

    share: float | None = None
    share_is_estimated: bool = False
    resemblance: float | None = None
    resemblance_is_estimated: bool = False
    distance: int | None = None

    @property
    def rank(self) -> tuple[float, float, int]:
        """Return what to order documents by: the one with most of the text is in front.

        Of equal ones it is the one that has the least besides.
        """
        distance = _NO_DISTANCE if self.distance is None else self.distance
        return -(self.share or 0), -(self.resemblance or 0), distance


def evidence_of(match: Match | None, words_shared: float | None) -> Evidence:
    """Return how like a text a document is.

    Args:
        match: The document beside the text as a whole; None: they are not alike as a whole.
        words_shared: Share of the text that is in passages of both; None: it was not looked for.
    """
    if match is None:
        return Evidence(words_shared)
    by_sketch = match.basis == "sketch"
    known = [share for share in (words_shared, match.containment) if share is not None]
    return Evidence(
        max(known, default=None),
        by_sketch and (match.containment or 0) > (words_shared or 0),
        match.resemblance,
        by_sketch,
        match.distance,
    )


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The results of a search.

    Attributes:
        by_key: What became of the key that was asked for; None where it was never seen.
        hits: Documents that share passages with the text, or are like it; what has most of the
            text is in front.
        more: Further ones, which are not shown.
        unsearched: Name of what the page says where shared passages were not looked for; else
            empty.
        nothing: Why nothing was found, in sentences.
        stale: Why some documents may not be found yet; None where all are.
    """

    by_key: Seen | None
    hits: tuple[FoundDocument, ...]
    more: int
    unsearched: str
    nothing: tuple[str, ...]
    stale: str | None


@router.get("/search", dependencies=[requires("read")])
async def search(request: Request) -> Response:
    """Search by the words in the address; without words show where to give them."""
    query = asked_values(request).get("q", "")
    return await _searched(request, query)


@router.post("/search", dependencies=[requires("read")])
async def search_form(request: Request) -> Response:
    """Search by the words of a form; few have an address of their own."""
    most = service_of(request).settings.body_bytes
    async with request.form(max_files=0, max_fields=10, max_part_size=most) as form:
        query = str(form.get("q", "")).replace("\r\n", "\n").strip()
    if len(query) <= LONGEST_IN_ADDRESS:
        return RedirectResponse(f"/search?q={in_address(query)}", 303)
    return await _searched(request, query)


async def _searched(request: Request, query: str) -> Response:
    service = service_of(request)
    store = await page_state_of(request).store.value()
    if store.passages == "fingerprints":
        raise FormError("fingerprints")
    context: dict[str, Any] = {
        "q": query,
        "found": None,
        "can_check": store.passages == "ready",
        "problem": None,
    }
    if query.strip():
        words = page_words(language_of(request))
        keep_form(request, "search.html", context)
        found = await service.heavy.run(_find, service, store, query.strip(), words)
        context = context | {"found": found}
    return answer(request, "search.html", context)


def _find(
    service: Service, now: StoreOverview, query: str, words: Mapping[str, str]
) -> SearchResults:
    store = service.store
    seen = None
    if len(query) <= _LONGEST_KEY and "\n" not in query:
        seen = store.seen(query)
    run = service.reader.query_many([Document("?", query)], QueryOptions())
    sample = run.samples[0]
    matches = {match.key: match for match in sample.matches}
    shares: dict[str, float] = {}
    shared: dict[str, str] = {}
    unsearched = now.reason or ("search_too_long" if len(query) > _LONGEST_SEARCHED else "")
    if not unsearched:
        options = CheckOptions(include_self=True, moderate=0.3, channels=("anchors", "sentences"))
        paper = store.check(query, options)
        shares = shared_words(query, paper.copies)
        for copy in paper.copies:
            if len(copy.source_text or "") > len(shared.get(copy.source_key, "")):
                shared[copy.source_key] = copy.source_text or ""
    known = {
        key: evidence_of(matches.get(key), None if unsearched else shares.get(key, 0.0))
        for key in {**matches, **shares}
    }
    keys = sorted(known, key=lambda key: known[key].rank)
    hits = []
    for key in keys[:_MOST_HITS]:
        title, begun = _title_and_beginning(service, key)
        hits.append(FoundDocument(key, title, _cut(shared.get(key) or begun), known[key]))
    nothing = [words["found_nothing_key"]] if len(query) <= _LONGEST_KEY else []
    nothing.append(words["too_short" if sample.too_short else "found_nothing_alike"])
    if not unsearched:
        least = (now.least_words, now.least_characters)
        nothing.append(words["found_nothing_passages"].format(*least))
    more = max(len(keys) - _MOST_HITS, 0)
    return SearchResults(seen, tuple(hits), more, unsearched, tuple(nothing), run.stale)


def shared_words(text: str, copies: Sequence[Copy]) -> dict[str, float]:
    """Return by source how much of a text it has word for word; white space does not count."""
    size = len("".join(text.split())) or 1
    covered: dict[str, bytearray] = {}
    for copy in copies:
        mask = covered.setdefault(copy.source_key, bytearray(len(text)))
        for start, end, *_ in copy.blocks:
            mask[start:end] = b"\1" * (end - start)
    return {
        key: sum(not letter.isspace() for letter in compress(text, mask)) / size
        for key, mask in covered.items()
    }


def _title_and_beginning(service: Service, key: str) -> tuple[str | None, str]:
    """Return the title of a document, and how its text begins after it."""
    try:
        stored = service.store.get(key, with_text=True)
    except DocumentNotFound:
        # It was removed meanwhile.
        return None, ""
    title = (stored.title or "").strip()
    return title or None, (stored.text or "").lstrip().removeprefix(title)[: 4 * _EXCERPT]


def _cut(text: str) -> str:
    """Return the beginning of a text, in one line, to the end of a word."""
    line = " ".join(text[: 4 * _EXCERPT].split())
    if len(line) <= _EXCERPT:
        return line
    cut = line[:_EXCERPT]
    return (cut.rpartition(" ")[0] if " " in cut[_EXCERPT // 2 :] else cut) + " …"


@router.get("/document", dependencies=[requires("read")])
async def show_document(request: Request) -> Response:
    """Tell a document's story."""
    service = service_of(request)
    values = asked_values(request)
    context = await service.readers.run(
        _document, service, values.get("key", ""), whole=values.get("text") == "whole"
    )
    store = await page_state_of(request).store.value()
    return answer(request, "document.html", context | {"can_check": store.passages == "ready"})


def _document(service: Service, key: str, *, whole: bool) -> dict[str, Any]:
    store = service.store
    if not key:
        raise DocumentNotFound(key)
    story = store.duplicates.story(key)
    stored: StoredDocument | None = None
    try:
        stored = store.get(key, with_text=True)
    except DocumentNotFound:
        # It was skipped as a duplicate: it has a story, and nothing else.
        if story.state in ("stored", "flagged"):
            raise
    text = (stored.text if stored else None) or ""
    cut = len(text) > _MOST_TEXT and not whole
    paragraphs, flows = paragraphs_of(text[:_MOST_TEXT] if cut else text)
    title = stored.title if stored else None
    return {
        "story": story,
        "stored": stored,
        # Kept clusters are made of all texts; what was skipped was looked for before.
        "compared": story.cluster_id is not None or stored is None,
        "name": shown(title.strip()) if title and title.strip() else key_text(key),
        "relatives": story.relatives[:_MOST_RELATIVES],
        "place": _cluster_place(service, story),
        "metadata": [
            (name, value if isinstance(value, str) else to_json(value))
            for name, value in (stored.metadata if stored else {}).items()
        ],
        "paragraphs": paragraphs,
        "flows": flows,
        "most_text": _MOST_TEXT,
        "cut": cut,
    }


def _cluster_place(service: Service, story: Story) -> dict[str, Any] | None:
    """Return where a document stands in its cluster; None where it stands alone or in none."""
    if story.cluster_id is None:
        return None
    try:
        cluster = service.store.clusters.members(story.cluster_id)
    except SimstoreError:
        # The clusters were dropped meanwhile.
        return None
    keys = [member.key for member in cluster.members] if cluster else []
    if len(keys) < 2 or story.key not in keys:
        return None
    return {
        "cluster_id": story.cluster_id,
        "position": f"{keys.index(story.key) + 1:,}",
        "size": f"{len(keys):,}",
        "is_canonical": keys[0] == story.key,
    }
