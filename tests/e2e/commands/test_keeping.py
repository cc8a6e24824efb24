"""Stores are kept up: vocabulary, scheme, copies, space, order."""

from __future__ import annotations

import json

from e2e import corpora
from e2e.shells import PAGES, Shell
from e2e.states import assert_sound
from simstore import Store


def test_deferred_refresh_makes_queries_warn_until_one_requires_it(empty: Shell) -> None:
    empty("init", "--scheme", "simtool", "-N", "20")
    empty("ingest", "article.txt")
    more = [("more", "zebra zebra zebra yak yak walrus")]
    corpora.article_file(empty.folder / "article-more.txt", more)
    empty("ingest", "--no-refresh", "article-more.txt")
    stale = empty("query", "sample.txt")
    assert len(stale.error_lines) == 1
    assert "vocabulary refresh" in stale.errors
    assert empty("fsck").text == "sound\n"
    fresh = empty("query", "--require-fresh", "sample.txt")
    assert fresh.errors == ""
    assert empty("query", "sample.txt").errors == ""
    empty("remove", "--no-refresh", "more")
    assert len(empty("query", "sample.txt").error_lines) == 1


def test_store_without_vocabulary_still_answers_and_counts_nothing(empty: Shell) -> None:
    empty("init", "--no-vocabulary")
    empty("ingest", "article.txt")
    facts = json.loads(empty("stats", "--format", "json").text)
    assert (facts["vocabulary_recorded"], facts["term_count"]) == (False, 0)
    assert empty("query", "-k", "0", "--format", "simtool", "sample.txt").text.startswith(
        "asked\n0:harbour copy \n"
    )
    assert empty("fsck").text == "sound\n"
    refused = empty("init", "--db", "b.db", "--scheme", "simtool", "--no-vocabulary", code=2)
    assert "--no-vocabulary" in refused.errors
    assert not (empty.folder / "b.db").exists()


def test_restore_puts_a_backup_in_the_place_of_the_store(shell: Shell) -> None:
    shell("backup", "copy.db")
    count = len(shell.lines("list", "--format", "keys"))
    shell("remove", "bread")
    assert "--force" in shell("restore", "copy.db", code=4).errors
    done = shell("restore", "copy.db", "--force")
    assert done.text.startswith(f"simstore.db: {count} documents, ")
    assert len(shell.lines("list", "--format", "keys")) == count
    (made,) = shell.json_lines("restore", "copy.db", "--db", "new.db", "--format", "jsonl")
    assert (made["path"], made["document_count"]) == ("new.db", count)
    assert "simstore fsck" in done.errors
    assert "`simstore backup` made" in shell("restore", "none.db", "--force", code=3).errors
    assert "`simstore backup` made" in shell("restore", "sample.txt", "--force", code=6).errors
    shell("restore", "copy.db", "--db", "postgresql://127.0.0.1:1/x", code=2)
    assert len(shell.lines("list", "--format", "keys")) == count
    assert_sound(shell.folder / "simstore.db")


def test_force_replaces_no_file_that_is_not_a_store(shell: Shell) -> None:
    shell("backup", "copy.db")
    notes = shell.folder / "notes.md"
    notes.write_text("a year of work")
    for words in (
        ("backup", "notes.md", "--force"),
        ("restore", "copy.db", "--db", "notes.md", "--force"),
    ):
        assert "notes.md is not a simstore store" in shell(*words, code=4).errors
        assert notes.read_text() == "a year of work"


def test_compact_gives_space_back_and_keeps_all(shell: Shell) -> None:
    with Store.open(shell.folder / "simstore.db") as store:
        store.add_many((f"page-{n}", f"text {n} " * 40) for n in range(2_000))
        store.remove(*(f"page-{n}" for n in range(2_000)))
    before, after = (
        int(w.replace(",", "")) for w in shell("compact").text.split() if w[0].isdigit()
    )
    assert after < before / 2
    assert shell.lines("list", "--format", "keys") == [key for key, _ in PAGES]
    assert_sound(shell.folder / "simstore.db")
