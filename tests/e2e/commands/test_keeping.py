"""Stores are kept up: vocabulary, scheme, copies, space, order."""

from __future__ import annotations

from e2e import corpora
from e2e.shells import Shell


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
