"""What is prepared of a batch is the same whichever form prepares it, and alone or together."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simstore import compiled
from simstore.model import Document
from simstore.services.features.prepare import PreparedBatch, prepare
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.services.open_store.state import State
from simstore.store import Store

from .test_codecs import unpacked

# Words of ASCII and of Latin letters beyond, none, and scripts without blanks between words.
texts = st.one_of(
    st.text("ab C0.,-\n\t\x1c\x00", max_size=60),
    st.text("ab é’“ß ﬁ\u0301", max_size=40),
    st.text("漢字 かな ﾊ㍿ ab", max_size=12),
    st.just("the plain words of a page of one site " * 8),
)


@pytest.fixture(scope="module", params=["vocabulary", "no vocabulary", "stop words", "wide"])
def state(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> State:
    choices = {
        "stop words": SchemeChoice("web", stopwords="builtin"),
        "wide": SchemeChoice("web", bits=100, weights="tf"),
    }
    with Store.create(
        tmp_path_factory.mktemp("prepared") / "s.db",
        scheme=choices.get(request.param, "web"),
        vocabulary=request.param != "no vocabulary",
    ) as store, store._opened.database.read() as connection:  # fmt: skip
        return store._opened.state(connection)


def told(batch: PreparedBatch) -> list[object]:
    """Return all that does not depend on the order of terms within the batch."""
    words = None if batch.words is None else batch.words.tolist()
    return [batch.digests, batch.sizes, batch.token_counts, batch.packed_texts, words,
            batch.sketches]  # fmt: skip


def changes(batch: PreparedBatch) -> object:
    if not batch.changes:
        return None
    (change,) = batch.changes
    terms, *counts = unpacked(change)
    return dict(zip(terms, zip(*counts, strict=True), strict=True))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("numba") is None, reason="no Numba")
@settings(max_examples=60)
@example(given_texts=["㍿", "㍿", "one", "two"])
@given(given_texts=st.lists(texts, min_size=1, max_size=5))
def test_compiled_and_plain_prepare_the_same(state: State, given_texts: list[str]) -> None:
    batch = [Document(f"k{place}", text) for place, text in enumerate(given_texts)]
    compiled.disable()
    try:
        plain = prepare(batch, state)
        compiled.enable(0)
        fast = prepare(batch, state)
        alone = [prepare([document], state) for document in batch]
    finally:
        compiled.enable()
    assert told(fast) == told(plain)
    assert changes(fast) == changes(plain)
    for place, one in enumerate(alone):
        expected = told(replace(fast.part(place, place + 1)))
        assert told(one) == expected
