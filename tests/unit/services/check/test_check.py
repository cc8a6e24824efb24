import random

import pytest

pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")

from simstore import Files, Store
from simstore.errors import InvalidParameter, MissingExtra
from simstore.model import CheckedPaper, CheckOptions, Rejection
from simstore.reports.check_html import html_report
from simstore.search import alignment

RIVER = (
    "The river rises in the hills behind the old quarry and falls slowly to the sea. "
    "Every spring the ferrymen paint their boats before the first of the travellers arrive. "
    "Nobody remembers who built the stone bridge that crosses it below the mill."
)
HARBOUR = (
    "Ships from the islands unload their salt at the western quay before the market opens. "
    "The harbour master writes every name into a ledger that is older than the town hall. "
    "In winter the ledger is closed and the quay belongs to the gulls and to the children."
)
CHINESE = (
    "小镇的清晨从河边的茶馆开始，老人们带着鸟笼慢慢走来。"
    "桥上的石板被几百年的脚步磨得发亮，下雨时像一面镜子。"
    "傍晚渔船回来，孩子们在码头上数着篮子里的鱼。"
)
OWN = "These words are mine and were written by nobody else before this very morning. "


def words(count, seed):
    rng = random.Random(seed)
    return " ".join(
        "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(3, 9)))
        for _ in range(count)
    )


@pytest.fixture
def shelf(tmp_path):
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add_many([("river", RIVER), ("harbour", HARBOUR), ("chinese", CHINESE)])
        yield store


def text_of(paper, copy):
    return paper.text[copy.start : copy.end]


def test_a_verbatim_sentence_is_found_with_its_place(shelf):
    start = RIVER.index("Every spring")
    sentence = RIVER[start : RIVER.index(" Nobody")]
    paper = shelf.check(OWN + sentence + " " + OWN)
    (copy,) = paper.copies
    assert text_of(paper, copy) == sentence
    assert (copy.source_key, copy.source_start, copy.source_end) == (
        "river",
        start,
        start + len(sentence),
    )
    assert copy.similarity == 1.0
    assert copy.evidence == "text"
    assert copy.source_text == sentence
    assert copy.blocks == ((copy.start, copy.end, copy.source_start, copy.source_end),)
    assert [passage.kind for passage in paper.passages] == ["none", "high", "none"]
    assert paper.verified_by == "text"


def test_a_passage_tells_how_like_each_of_its_copies_it_is(tmp_path):
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add_many(
            [
                ("same", f"{RIVER} {HARBOUR}"),
                ("near", f"{RIVER.replace('every', 'each')} {words(9, 1)}"),
            ]
        )
        paper = store.check(RIVER)
    keys = [[paper.copies[number].source_key for number, _ in one.others] for one in paper.passages]
    assert keys == [["near"]] * 3
    for passage in paper.passages:
        assert passage.copy is not None
        assert paper.copies[passage.copy].source_key == "same"
        assert all(0 < share <= passage.similarity for _, share in passage.others)


def test_texts_with_nothing_to_check(shelf):
    for text in ["", " \n ", "…", "☃", "word", "字", "\udc80", "\x00"]:
        paper = shelf.check(text)
        assert paper.copies == ()
        assert paper.totals.share == 0


def test_a_store_without_texts_tells_places(tmp_path):
    text = words(60, 3)
    long = words(40, 4)
    with Store.create(tmp_path / "s.db", text=False) as store:
        store.passages.build()
        store.add_many([("one", f"{words(50, 5)} {long} {words(50, 6)}"), ("two", words(100, 7))])
        paper = store.check(f"{text} {long} {text}")
    (copy,) = paper.copies
    assert paper.verified_by == "positions"
    assert copy.evidence == "anchors"
    assert copy.source_text is None
    assert copy.source_key == "one"
    assert "no texts" in paper.method
    told = text_of(paper, copy)
    assert told in long
    assert len(told) > 0.6 * len(long)
    assert copy.end - copy.start == copy.source_end - copy.source_start
    assert paper.totals.high == 1 or paper.totals.moderate == 1


@pytest.mark.slow
def test_without_texts_longer_runs_are_found(tmp_path):
    with Store.create(tmp_path / "s.db", text=False) as store:
        store.passages.build()
        stored = [words(60, seed) for seed in range(40)]
        store.add_many([(str(n), text) for n, text in enumerate(stored)])
        for n, text in enumerate(stored):
            run = " ".join(text.split()[20:36])
            paper = store.check(f"{words(30, n + 100)} {run} {words(30, n + 200)}")
            assert [copy.source_key for copy in paper.copies] == [str(n)]
            assert "16 words" in paper.guarantee


def test_options_that_contradict_each_other_are_refused(shelf):
    for options in [
        {"high": 0.4},
        {"moderate": 0},
        {"high": 1.1},
        {"min_words": 0},
        {"min_characters": -1},
        {"by": "pages"},
        {"window": 0},
        {"channels": ("ears",)},
    ]:
        with pytest.raises(InvalidParameter):
            shelf.check(RIVER, CheckOptions(**options))


def test_a_missing_package_is_named(shelf, monkeypatch):
    def missing():
        raise MissingExtra("checking papers", "check")

    monkeypatch.setattr(alignment, "check_installed", missing)
    with pytest.raises(MissingExtra, match=r"extra 'check'"):
        shelf.check(RIVER)


def test_papers_of_sources_are_checked_in_their_order(shelf, tmp_path):
    place = tmp_path / "papers.jsonl"
    place.write_text(
        '{"id": "a", "text": "' + RIVER + '", "title": "A"}\nnot json\n{"id": "b", "text": "x"}\n'
    )
    found = list(shelf.check_many(Files(str(place))))
    assert [type(one) for one in found] == [CheckedPaper, Rejection, CheckedPaper]
    assert [one.key for one in found if isinstance(one, CheckedPaper)] == ["a", "b"]
    assert found[0].title == "A"


def test_keys_and_texts_of_other_bytes(tmp_path):
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add("\udcff key", RIVER + "\udcfe")
        paper = store.check(RIVER, key="\udcff")
        assert paper.copies[0].source_key == "\udcff key"
        assert store.check(RIVER, CheckOptions(exclude=("\udcff*",))).copies == ()


PLAIN = "old grey boats lie on dark sand while cold rain falls over all low roofs near town"


@pytest.mark.parametrize("text", [True, False])
def test_fingerprints_of_passages_are_asked_where_wanted(tmp_path, text):
    with Store.create(tmp_path / "s.db", text=text) as store:
        store.passages.build(fingerprints=True)
        store.add("plain", f"{PLAIN}.")
        paper = store.check(f"{PLAIN}.", CheckOptions(channels=("anchors", "simhash")))
    assert {copy.source_key for copy in paper.copies} == {"plain"}
    kinds = {copy.evidence for copy in paper.copies}
    assert kinds == ({"text"} if text else {"anchors", "simhash"})
    assert paper.totals.high == 1


def test_fingerprints_that_are_not_kept_are_refused(shelf):
    with pytest.raises(InvalidParameter, match=r"passages\.build\(fingerprints=True\)"):
        shelf.check(RIVER, CheckOptions(channels=("anchors", "simhash")))


@pytest.mark.slow
@pytest.mark.parametrize(("text", "channels"), [(True, ("anchors",)), (False, ("anchors",))])
def test_a_check_can_be_ended_between_any_two_sources(tmp_path, text, channels):
    class Enough(Exception):
        pass

    def stop_after(steps):
        left = iter(range(steps))

        def step():
            if next(left, None) is None:
                raise Enough

        return step

    with Store.create(tmp_path / "s.db", text=text) as store:
        store.passages.build(fingerprints=True) if text else store.passages.build()
        store.add_many((f"{n}", f"{RIVER} {n}") for n in range(8))
        options = CheckOptions(channels=channels)
        whole = list(store.check_many([("", RIVER)], options))
        steps = 0
        while True:
            try:
                found = list(store.check_many([("", RIVER)], options, on_step=stop_after(steps)))
            except Enough:
                steps += 1
                continue
            break
        assert found == whole
        assert len(whole[0].copies) == 8
        # One before each source, at least.
        assert steps > 8
        # Nothing is left behind by those that were ended.
        assert store.remove("0") == 1


def test_neighbouring_copies_of_one_source_are_one_case_in_any_order(tmp_path):
    own = [words(12, n + 900) for n in range(40)]
    stored = [words(14, n + 100) for n in range(12)]
    moved = random.Random(3).sample(stored[:8], 8)
    paper = ". ".join([*own[:20], *moved, *own[20:], stored[11]]) + "."
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add("a", ". ".join(stored))
        store.add("b", ". ".join([*moved[:2], words(60, 7)]))
        found = store.check(paper)
    first, other, last = found.cases
    assert {first.source_key, other.source_key, last.source_key} == {"a", "b"}
    together = first if first.source_key == "a" else other
    assert len(together.copies) >= 4
    assert paper[together.start : together.end].rstrip(".") == ". ".join(moved)
    assert together.source_start == 0
    assert together.source_end - len(". ".join(stored[:8])) in (0, 1)
    assert together.identical_share > 0.98
    # What lies far behind it is a case of its own.
    assert paper[last.start :].rstrip(".") == stored[11]
    assert sorted(n for case in found.cases for n in case.copies) == list(range(len(found.copies)))
    by_key = {source.key: source for source in found.sources}
    # What both have counts once in the total.
    assert (by_key["a"].cases, by_key["b"].cases, found.totals.cases) == (2, 1, 2)


def test_new_words_between_copied_ones_do_not_count_as_identical(tmp_path):
    """Of a paper in which every sixth word is new, all is copied and five sixths are the same."""
    stored = [f"w{n:03}" for n in range(240)]
    paper = [f"n{n:03}" if n % 6 == 5 and n < 238 else word for n, word in enumerate(stored)]
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add("a", " ".join(stored))
        edited, verbatim = store.check(" ".join(paper)), store.check(" ".join(stored))
    assert edited.totals.share == 1.0
    for of in (edited.totals, edited.sources[0], edited.cases[0]):
        assert of.identical == 4 * (240 - 39)
        assert of.identical_share == pytest.approx((240 - 39) / 240)
    assert verbatim.totals.share == verbatim.totals.identical_share == 1.0


def test_set_phrases_without_a_long_run_are_no_case(tmp_path):
    """A few words more than the least, with others between them, are told within a case alone."""
    stored = [f"w{n:03}" for n in range(1, 60)]
    near = " ".join([*stored[:6], "other", *stored[7:13]])
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add("a", " ".join(stored))
        alone = store.check(f"{words(40, 5)} {near} {words(40, 6)}")
        beside = store.check(f"{words(40, 5)} {near} and {' '.join(stored[38:58])}")
    assert (alone.copies, alone.cases, alone.totals.copied) == ((), (), 0)
    (case,) = beside.cases
    assert len(case.copies) == 2
    assert case.source_start == 0


@pytest.mark.parametrize("with_text", [True, False])
def test_characters_and_words_in_turns_are_found(tmp_path, with_text):
    """Five Han characters and one Latin word in turns: no run of one kind is long enough."""
    rng = random.Random(8)
    stored = "".join(
        f" w{rng.randrange(9000)} " if n % 6 == 5 else chr(0x4E00 + rng.randrange(9000))
        for n in range(360)
    )
    with Store.create(tmp_path / "s.db", text=with_text) as store:
        store.passages.build()
        store.add("a", stored)
        found = store.check(f"{words(30, 1)}\n\n{stored}\n\n{words(30, 2)}")
    (case,) = found.cases
    assert case.source_start < 12
    assert case.source_end > len(stored) - 20
    assert case.identical_share > 0.98
    assert "13 of both" in found.guarantee if with_text else "27 of both" in found.guarantee


def test_few_sources_explain_what_many_have(tmp_path):
    parts = [words(30, n + 40) for n in range(6)]
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add("first half", " ".join(parts[:3]))
        store.add("middle", " ".join(parts[1:4]))
        store.add("all but one", " ".join(parts[1:]))
        store.add_many([(f"part {n}", part) for n, part in enumerate(parts)])
        paper = store.check(" ".join(parts))
    by_order = {one.order: one for one in paper.sources if one.order}
    assert [by_order[n].key for n in sorted(by_order)] == ["all but one", "first half"]
    assert paper.sources[0].key == "all but one"
    assert len(paper.sources) == 9
    assert sum(one.added for one in paper.sources) == paper.totals.copied
    assert by_order[1].added == by_order[1].characters
    assert by_order[2].added_share == pytest.approx(by_order[2].added / paper.totals.characters)
    assert all(one.added == 0 for one in paper.sources if one.order is None)
    page = html_report([paper], generated_at=0)
    assert "Other sources: 7" in page
    # Those behind the fold add nothing, and have no column for it.
    assert page.count('data-name="Adds"') == 2
    assert page.index("all but one") < page.index("first half") < page.index("Other sources: 7")


def test_chapters_have_shares_of_their_own_that_add_up(shelf):
    text = f"{OWN}\n\n1 Rivers\n\n{RIVER}\n\n2 Words\n\n{OWN * 2}\n\n3 Harbours\n\n{OWN}{HARBOUR}"
    paper = shelf.check(text)
    assert [one.title for one in paper.chapters] == ["", "1 Rivers", "2 Words", "3 Harbours"]
    first, rivers, own, harbours = paper.chapters
    assert first.copied == own.copied == 0
    assert rivers.characters == len("1Rivers" + "".join(RIVER.split()))
    assert rivers.copied == rivers.identical == len("".join(RIVER.split()))
    assert harbours.share == len("".join(HARBOUR.split())) / harbours.characters
    assert sum(one.copied for one in paper.chapters) == paper.totals.copied
    assert sum(one.identical for one in paper.chapters) == paper.totals.identical
    assert sum(one.characters for one in paper.chapters) == paper.totals.characters
    assert shelf.check(RIVER).chapters == ()
