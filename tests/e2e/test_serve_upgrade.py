"""An upgrade under load: the server stops, the store changes its schema, and no write is lost."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from forked import Nursery
from served import serve

from simstore import Document, Store
from simstore.client import Client
from simstore.errors import SimstoreError

from . import golden

BATCH = 5
PATIENCE_SECONDS = 60


class Crawlers:
    """Clients that add documents, a batch a request, and go on when the server is back."""

    def __init__(self, url: str, count: int) -> None:
        self.sent: set[str] = set()
        self.acknowledged: set[str] = set()
        self.failed: list[SimstoreError] = []
        self._url = url
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._crawl, args=(n,)) for n in range(count)]

    def __enter__(self) -> Crawlers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)

    def wait_for(self, more: int) -> None:
        """Wait until so many more documents are acknowledged."""
        with self._changed:
            wanted = len(self.acknowledged) + more
            self._changed.wait_for(
                lambda: len(self.acknowledged) >= wanted or self.failed, PATIENCE_SECONDS
            )
            assert not self.failed, self.failed
            assert len(self.acknowledged) >= wanted

    def _crawl(self, number: int) -> None:
        with Client(self._url, patience=PATIENCE_SECONDS) as client:
            while not self._stop.is_set():
                start = len(self.sent)
                keys = [f"{number}/{start}/{n}" for n in range(BATCH)]
                with self._changed:
                    self.sent.update(keys)
                try:
                    done = client.add_many([Document(key, text_of(key)) for key in keys])
                except SimstoreError as error:
                    with self._changed:
                        self.failed.append(error)
                        self._changed.notify_all()
                    return
                assert done.added + done.unchanged == BATCH
                with self._changed:
                    self.acknowledged.update(keys)
                    self._changed.notify_all()


def text_of(key: str) -> str:
    return f"This is what the page {key} says, and no other page says it of {key}."


def test_upgrade_while_crawlers_write_loses_nothing_and_takes_nothing_twice(
    tmp_path: Path, nursery: Nursery
) -> None:
    path = tmp_path / "store.db"
    with serve(path) as before:
        port = before.port
        crawlers = Crawlers(before.url, 2)
        with crawlers:
            crawlers.wait_for(60)
            assert before.stop() == 0
            known = set(crawlers.acknowledged)
            with Store.open(path) as store:
                assert known <= {one.key for one in store}
            # What an older version leaves: a store of its schema.
            golden.downgrade(path, "0007")
            with pytest.raises(RuntimeError, match="run `simstore upgrade`"), serve(path):
                pass
            done = nursery.simstore(tmp_path, "upgrade", "--db", path)
            assert done.code == 0, done.errors
            with serve(path, "--port", str(port)) as after:
                crawlers.wait_for(60)
                crawlers.__exit__()
                assert after.stop() == 0
    assert not crawlers.failed
    assert len(crawlers.acknowledged) >= len(known) + 60
    with Store.open(path) as store:
        held = {one.key: one for one in store.documents(with_text=True)}
        assert crawlers.acknowledged <= set(held) <= crawlers.sent
        for key, one in held.items():
            assert (one.text, one.revision) == (text_of(key), 1)
        assert store.fsck() == []
    assert (tmp_path / "store.db.0007.backup").exists()
