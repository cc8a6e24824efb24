"""Tokens are made, recognised, listed and revoked; the store never holds a secret."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from stores import create, raw

from simstore.errors import InvalidParameter, NotFound, ReadOnlyStore
from simstore.model import SCOPES, Token
from simstore.services.access import tokens
from simstore.store import Store

START = 1_800_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return what sets the time, in seconds after the start."""

    def set_to(seconds: int) -> None:
        monkeypatch.setattr(tokens, "now", lambda: START + seconds)

    set_to(0)
    return set_to


@pytest.fixture
def always_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "FRESH_SECONDS", 0)


@pytest.mark.sqlite("looks for a secret in the bytes of the file and of its backup")
def test_secret_is_recognised_and_no_byte_of_it_is_in_the_file(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        secret = store.tokens.add("crawler-1", "write")
        assert secret.startswith("sst_")
        assert len(secret) == 4 + 43
        found = store.tokens.book().token_of(secret)
        assert found is not None
        assert (found.name, found.scope, found.expires_at) == ("crawler-1", "write", None)
        assert store.tokens.list() == [found]
        copy = tmp_path / "copy.db"
        store.maintenance.backup(copy)
    for path in (tmp_path / "s.db", copy):
        data = path.read_bytes()
        assert secret.encode() not in data
        assert secret[4:].encode() not in data
        assert hashlib.sha256(secret.encode()).digest() in data
    with Store.open(copy) as store:
        assert store.tokens.book().token_of(secret) == found


def test_other_secrets_are_not_recognised(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        book = store.tokens.book()
        assert book.token_of("") is None
        assert not book.are_there_any()
        secret = store.tokens.add("one")
        other = store.tokens.add("two")
        book = store.tokens.book()
        assert book.are_there_any()
        assert secret != other
        assert book.token_of(secret) != book.token_of(other)
        for wrong in (
            "", secret[:-1], secret + "x", secret.upper(), secret[4:], f" {secret}", "é" + secret,
            "\udcff", secret * 1_000,
        ):  # fmt: skip
            assert book.token_of(wrong) is None, wrong


def test_every_kept_digest_is_compared_whichever_token_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    compare = tokens.hmac.compare_digest

    def counted(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(tokens.hmac, "compare_digest", counted)
    with create(tmp_path) as store:
        secrets = [store.tokens.add(f"t{n}") for n in range(5)]
        book = store.tokens.book()
        for secret in (*secrets, "sst_none"):
            compared.clear()
            book.token_of(secret)
            assert len(compared) == 5


def test_scope_allows_itself_and_what_is_below_it() -> None:
    for scope in SCOPES:
        token = Token(
            token_id=1, name="one", scope=scope, created_at=0, expires_at=None, revoked_at=None
        )
        allowed = [other for other in SCOPES if token.allows(other)]
        assert allowed == list(SCOPES[: SCOPES.index(scope) + 1])


def test_token_is_refused_from_the_second_it_expires(
    tmp_path: Path, clock: Callable[[int], None]
) -> None:
    with create(tmp_path) as store:
        secret = store.tokens.add("short", expires_at=START + 60)
        book = store.tokens.book()
        clock(59)
        found = book.token_of(secret)
        assert found is not None
        assert book.with_id(found.token_id) == found
        clock(60)
        assert book.token_of(secret) is None
        assert book.with_id(found.token_id) is None
        assert book.are_there_any()
        assert [one.state(START + 60) for one in store.tokens.list()] == ["expired"]


def test_revoked_token_is_refused_by_another_process_that_had_accepted_it(
    tmp_path: Path, always_anew: None
) -> None:
    with create(tmp_path) as store, Store.open(tmp_path / "s.db", read_only=True) as server:
        secret = store.tokens.add("leaked", "admin")
        kept = store.tokens.add("kept")
        book = server.tokens.book()
        found = book.token_of(secret)
        assert found is not None
        store.tokens.revoke("leaked")
        assert book.token_of(secret) is None
        assert book.with_id(found.token_id) is None
        assert book.token_of(kept) is not None
        with pytest.raises(NotFound, match="leaked"):
            store.tokens.revoke("leaked")
        again = store.tokens.add("leaked")
        assert book.token_of(secret) is None
        assert book.token_of(again) is not None
        assert [one.state(START) for one in store.tokens.list()] == ["revoked", "valid", "valid"]
        store.tokens.revoke("leaked")
        store.tokens.revoke("kept")
        assert book.are_there_any()


def test_name_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        for name in ("", " ", "a b", "-a", "ä", "a\n", "x" * 101, "a/b", "\udcff"):
            with pytest.raises(InvalidParameter) as told:
                store.tokens.add(name)
            assert "\n" not in str(told.value)
        assert store.tokens.list() == []


def test_wrong_scope_and_read_only_store_are_refused(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        with pytest.raises(InvalidParameter, match="root"):
            store.tokens.add("one", "root")  # type: ignore[arg-type]
        assert store.tokens.list() == []
    with (
        Store.open(tmp_path / "s.db", read_only=True) as store,
        pytest.raises(ReadOnlyStore),
    ):
        store.tokens.add("two")


def test_two_standing_tokens_of_a_name_are_refused_by_the_database(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.tokens.add("one")
    with raw(tmp_path) as connection, pytest.raises(Exception, match=r"(?i)unique"):
        connection.execute(
            "INSERT INTO token (name, standing_name, digest, scope, created_at) "
            "VALUES ('one', 'one', x'00', 'read', 0)"
        )


def test_fsck_finds_what_is_wrong_with_tokens(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.tokens.add("good", expires_at=9_000_000_000)
        store.tokens.add("bad")
        store.tokens.add("ended", expires_at=9_000_000_000)
        assert store.maintenance.fsck() == []
    with raw(tmp_path) as connection:
        connection.execute("UPDATE token SET digest = x'1234' WHERE name = 'bad'")
        connection.execute("UPDATE token SET expires_at = created_at WHERE name = 'ended'")
    with Store.open(tmp_path / "s.db") as store:
        found = [(one.invariant, one.detail) for one in store.maintenance.fsck()]
    assert found == [
        ("tokens", "'bad': the digest of its secret has 2 bytes"),
        ("tokens", "'ended' expired before it was made"),
    ]
