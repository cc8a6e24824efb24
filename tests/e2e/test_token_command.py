"""``simstore token``: the secret alone on standard output, and nothing of it anywhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from forked import Finished, Nursery

from simstore import Store

SECRET = re.compile(r"sst_[A-Za-z0-9_-]{43}\n")


class Tokens:
    """``simstore token`` in a folder with a store."""

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self.folder = folder
        self._nursery = nursery
        Store.create(folder / "simstore.db").close()

    def __call__(self, *words: str, code: int = 0) -> Finished:
        done = self._nursery.simstore(self.folder, "token", *words)
        assert done.code == code, (done.code, done.errors)
        assert "Traceback" not in done.errors
        return done


@pytest.fixture
def tokens(nursery: Nursery, tmp_path: Path) -> Tokens:
    return Tokens(nursery, tmp_path)


def test_secret_is_printed_once_and_alone(tokens: Tokens) -> None:
    done = tokens("add", "crawler-1", "--scope", "write", "--expires", "90d")
    assert SECRET.fullmatch(done.text)
    assert len(done.error_lines) == 1
    assert "crawler-1 (write) until 2" in done.errors
    secret = done.text.strip()
    assert secret not in done.errors
    assert tokens("-q", "add", "quiet", "--expires", "never", code=2).out == b""
    assert "--expires 90d" in tokens("add", "endless", code=2).errors
    quiet = tokens("add", "quiet", "--expires", "never", "-q")
    assert SECRET.fullmatch(quiet.text)
    assert quiet.errors == ""
    for listed in (tokens("list"), tokens("list", "--format", "jsonl")):
        assert secret not in listed.text
        assert "crawler-1" in listed.text
    with Store.open(tokens.folder / "simstore.db") as store:
        found = store.tokens.book().token_of(secret)
        assert found is not None
        assert found.scope == "write"


@pytest.mark.slow
def test_name_of_a_revoked_token_may_be_given_again(tokens: Tokens) -> None:
    first = tokens("add", "one", "--expires", "never").text
    done = tokens("add", "one", "--expires", "never", code=4)
    assert "simstore token revoke one" in done.errors
    assert done.out == b""
    assert "revoked" in tokens("revoke", "one").errors
    assert tokens("add", "one", "--expires", "never").text != first
    assert tokens("revoke", "two", code=3).error_lines[0].startswith("Error: ")


def test_wrong_use_is_told_and_makes_nothing(tokens: Tokens) -> None:
    for words, told in (
        (("add", "one", "--expires", "soon"), "12h, 30 days or 2w, or never"),
        (("add", "one", "--expires", "2020-01-01"), "expired already"),
        (("add", "a b", "--expires", "never"), "is no name of a token"),
    ):
        done = tokens(*words, code=2)
        assert told in done.errors
        assert done.out == b""
        assert tokens("list", "--format", "jsonl").text == ""


def test_no_store_is_made_for_a_token(nursery: Nursery, tmp_path: Path) -> None:
    done = nursery.simstore(tmp_path, "token", "add", "one", "--expires", "never")
    assert done.code == 3
    assert list(tmp_path.iterdir()) == []
