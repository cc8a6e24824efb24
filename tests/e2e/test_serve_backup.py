"""Copies of a store while it is served and written to: whole, checked, and good to go on with."""

from __future__ import annotations

import base64
import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from forked import PATIENCE_SECONDS, Nursery
from served import Served, serve

from simstore import Store

from .processes import until
from .test_serve_stop import Sender


def ask(
    served: Served,
    path: str,
    body: object = None,
    *,
    token: str | None = None,
    method: str = "POST",
) -> httpx.Response:
    """Return the reply to a request."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    given = {} if body is None else {"json": body}
    return httpx.request(
        method, served.url + path, headers=headers, timeout=PATIENCE_SECONDS, **given
    )


def text_of(key: str) -> str:
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big")
    words = [f"word{(seed >> n) % 997}" for n in range(24)]
    return f"{' '.join(words)} of {key}"


def assert_copy(copy: Path, before: set[str], store: Path) -> None:
    """Assert that a copy holds what was acknowledged before it, and nothing that never came."""
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with Store.open(copy) as restored, Store.open(store) as present:
        assert restored.maintenance.fsck() == []
        held = {one.key: one for one in restored.list(with_text=True)}
        assert before <= set(held)
        assert len(held) % 5 == 0, "a batch is one transaction"
        now = {one.key: one for one in present.list(with_text=True)}
        assert set(held) <= set(now)
        for key, one in held.items():
            assert one.text == text_of(key)
            assert (one.fingerprint, one.revision) == (now[key].fingerprint, now[key].revision)
        for key in sorted(held)[:5]:
            found = {match.key for match in restored.query(text_of(key))}
            assert key in found
            assert found == {match.key for match in present.query(text_of(key))} & set(held)


def known(senders: list[Sender], least: int) -> set[str]:
    """Return the keys that are acknowledged once they are so many."""
    until(lambda: sum(len(one.acknowledged) for one in senders) >= least, "documents to be stored")
    return {key for one in senders for key in list(one.acknowledged)}


@pytest.mark.slow
def test_copy_that_a_busy_server_sends_is_checked_and_restores(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    copies = []
    with serve(path) as served:
        senders = [Sender(served, name, text_of) for name in "ab"]
        for sender in senders:
            sender.start()
        for count in (50, 150):
            before = known(senders, count)
            reply = ask(served, "/v1/backup")
            headers, data = reply.headers, reply.content
            assert reply.status_code == 200, data
            assert headers["Content-Type"] == "application/vnd.sqlite3"
            assert int(headers["Content-Length"]) == len(data)
            assert headers["Content-Disposition"].startswith('attachment; filename="simstore-')
            digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
            assert headers["Repr-Digest"] == f"sha-256=:{digest}:"
            copy = tmp_path / f"copy-{count}.db"
            copy.write_bytes(data)
            copies.append((copy, before))
        known(senders, len(before) + 50)
        # Nothing is left beside the store but the store.
        assert {one.name for one in tmp_path.iterdir()} <= {
            "store.db", "store.db-wal", "store.db-shm", *(copy.name for copy, _ in copies)
        }  # fmt: skip
        assert served.stop() == 0
        for sender in senders:
            sender.join(PATIENCE_SECONDS)
    for copy, stored in copies:
        assert_copy(copy, stored, path)
    # The copy is a store like any other: it is served, and goes on.
    with serve(copies[0][0]) as again:
        reply = ask(again, "/v1/documents", {"key": "new", "text": text_of("new")})
        assert reply.status_code == 200, reply.text
    with Store.open(path) as store:
        assert {one.key for one in store} >= known(senders, 0)


def test_copy_holds_no_secret_and_its_tokens_are_good_for_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store.create(path) as store:
        admin = store.tokens.add("admin", "admin")
        others = [store.tokens.add("writer", "write"), store.tokens.add("reader", "read")]
    with serve(path) as served:
        for token in (None, *others):
            reply = ask(served, "/v1/backup", token=token)
            assert reply.status_code == (401 if token is None else 403)
            assert b"SQLite" not in reply.content
        reply = ask(served, "/v1/backup", token=admin)
    assert reply.status_code == 200
    data = reply.content
    for secret in (admin, *others):
        assert secret.encode() not in data
    (tmp_path / "copy.db").write_bytes(data)
    with serve(tmp_path / "copy.db") as served:
        assert ask(served, "/v1/backup").status_code == 401
        assert ask(served, "/v1/backup", token=admin).status_code == 200


@pytest.mark.slow
def test_command_fetches_a_checked_copy_over_the_server(nursery: Nursery, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store.create(path) as store:
        store.add_many([(key, text_of(key)) for key in ("a", "b", "c")])
    with serve(path) as served:
        words = ("--server", served.url, "backup", "copy.db")
        done = nursery.simstore(tmp_path, *words)
        assert done.code == 0, done.errors
        assert done.text.startswith("copy.db: ")
        refused = nursery.simstore(tmp_path, *words)
        assert (refused.code, "--force" in refused.errors) == (4, True)
        assert nursery.simstore(tmp_path, *words, "--force").code == 0
    with Store.open(tmp_path / "copy.db") as copy:
        assert [one.key for one in copy.list()] == ["a", "b", "c"]
        assert copy.maintenance.fsck() == []
