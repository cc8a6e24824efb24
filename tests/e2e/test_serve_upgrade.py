"""An upgrade under load: the server stops, the store changes its schema, and no write is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from forked import PATIENCE_SECONDS, Nursery
from served import serve

from simstore import Document, Store
from simstore.client import Client

from . import golden
from .writers import Writers


@contextmanager
def crawler(url: str) -> Iterator[Callable[[list[str]], None]]:
    """Give what adds documents by a client that goes on when the server is back."""
    with Client(url, patience=PATIENCE_SECONDS) as client:

        def write(keys: list[str]) -> None:
            done = client.add_many([Document(key, text_of(key)) for key in keys])
            assert done.added + done.unchanged == len(keys)

        yield write


def text_of(key: str) -> str:
    return f"This is what the page {key} says, and no other page says it of {key}."


@pytest.mark.slow
def test_upgrade_while_crawlers_write_loses_nothing_and_takes_nothing_twice(
    tmp_path: Path, nursery: Nursery
) -> None:
    path = tmp_path / "store.db"
    with serve(path) as before:
        port = before.port
        crawlers = Writers(2, partial(crawler, before.url))
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
                crawlers.stop()
                assert after.stop() == 0
    assert not crawlers.failed
    assert len(crawlers.acknowledged) >= len(known) + 60
    with Store.open(path) as store:
        held = {one.key: one for one in store.list(with_text=True)}
        assert crawlers.acknowledged <= set(held) <= crawlers.sent
        for key, one in held.items():
            assert (one.text, one.revision) == (text_of(key), 1)
        assert store.maintenance.fsck() == []
    assert (tmp_path / "store.db.0007.backup").exists()
