"""``simstore expire`` asks before it removes more than half of a store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from simstore import Store
from simstore.cli import main, output

Expire = Callable[..., Result]


@pytest.fixture
def expire(tmp_path: Path) -> Expire:
    """``simstore expire`` on a store of five documents, the first of which was seen first."""
    place = tmp_path / "s.db"
    with Store.create(place) as store:
        for number in range(5):
            store.add(f"k{number}", f"text number {number}", seen_at=number)

    def run(since: int, *words: str, answer: str | None = None) -> Result:
        date = f"1970-01-01T00:00:0{since}Z"
        given = ["--db", str(place), "expire", "--not-seen-since", date, *words]
        return CliRunner().invoke(main, given, input=answer)

    return run


def test_half_goes_unasked_and_more_only_where_it_is_said(expire: Expire) -> None:
    refused = expire(3)
    assert refused.exit_code == 2
    assert refused.stderr == ("Error: 3 of 5 documents would be removed; give --yes to do it\n")
    assert expire(3, "--dry-run").stdout.startswith("3 would be removed")
    assert expire(2).stdout.startswith("2 removed")
    assert expire(5, "--yes").stdout.startswith("3 removed")
    # Of an empty store nothing can go.
    assert expire(5).stdout.startswith("0 removed")


@pytest.mark.parametrize(("answer", "code", "left"), [("\n", 1, 5), ("y\n", 0, 1)])
def test_person_at_a_terminal_is_asked(
    expire: Expire,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    left: int,
) -> None:
    monkeypatch.setattr(output, "has_terminal", lambda: True)
    done = expire(4, answer=answer)
    assert (done.exit_code, "4 of 5 documents would be removed. Go on?" in done.stderr) == (
        code,
        True,
    )
    with Store.open(tmp_path / "s.db") as store:
        assert len(store) == left
