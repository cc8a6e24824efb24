"""The faces of simstore: one driver each, with one method per verb of the contract.

Cases use neutral names. Names of options, layouts of JSON and messages stand here and in no case.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import ExitStack, closing
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
from postgres_places import place_of
from served import serve

from simstore import Store

# Neutral names of options, and those of Python and HTTP; a name that is not here is the same.
OPTIONS = {"resemblance": "min_resemblance", "containment": "min_containment"}
KINDS = {2: "usage", 3: "not_found", 4: "conflict", 5: "bad_input", 6: "storage"}
# HTTP statuses that fit a kind of error.
STATUSES = {
    "usage": {400, 422, 501},
    "denied": {401, 403},
    "not_found": {404},
    "conflict": {409},
    "bad_input": {400, 413, 415, 422},
    "storage": {500, 502, 503, 504, 507},
}
MATCH = {
    "key": "key",
    "distance": "distance",
    "resemblance": "resemblance",
    "containment": "containment",
    "channels": "channels",
    "basis": "basis",
    "title": "title",
}
DOCUMENT = {
    "key": "key",
    "text": "text",
    "title": "title",
    "collection": "collection",
    "metadata": "metadata",
    "revision": "revision",
    "bytes": "byte_count",
    "fingerprint": "fingerprint",
    "original": "duplicate_of",
    "first_seen": "first_seen",
    "last_seen": "last_seen",
}
DUPLICATE = {
    name: name for name in ("key", "original", "state", "distance", "resemblance", "basis")
}
COUNTS = {
    "added": "added",
    "updated": "updated",
    "unchanged": "unchanged",
    "flagged": "flagged",
    "skipped": "skipped",
    "rejected": "rejected",
    "repeated": "repeated",
    "repeated_keys": "repeated_keys",
    "same_text": "identical_texts",
    "markup": "markup",
}


class FaceError(Exception):
    """An error as HTTP or the command line shows it."""

    def __init__(self, kind: str, said: str, status: int | None = None) -> None:
        super().__init__(f"{kind}: {said}")
        self.kind = kind
        self.status = status


class Face:
    """What all drivers have in common.

    Attributes:
        place: The store, as this face names it.
        folder: The current folder of the case.
        shown: What the last call showed besides its result: ``exit`` or ``status``.
    """

    def __init__(self, place: str, folder: Path) -> None:
        self.place = place
        self.folder = folder
        self.shown: dict[str, int] = {}
        self._named: list[Any] = []

    def close(self) -> None:
        """Release what the face holds."""

    def build_clusters(self, **options: Any) -> dict[str, Any]:
        return self._beside_server().build_clusters(**options)

    def build_passages(self, **options: Any) -> dict[str, Any]:
        return self._beside_server().build_passages(**options)

    def new_output(self) -> str:
        """Return the name of a file of rows that is not there yet."""
        return f"rows-{len(list(self.folder.iterdir()))}.jsonl"

    def numbered(self, identity: Any) -> int:
        """Return the place of an id among those that the case has seen, from 1."""
        if identity not in self._named:
            self._named.append(identity)
        return self._named.index(identity) + 1

    def _beside_server(self) -> Face:
        """Return a command line on the same store, for verbs that no server serves."""
        from contract.cli_face import CliFace

        return CliFace(self.place, self.folder)

    def elsewhere(self, verb: str, **arguments: Any) -> Any:
        """Run a verb in another process that has the same store."""
        from contract.cli_face import CliFace

        return getattr(CliFace(self.place, self.folder), verb)(**arguments)

    def damage(self, key: str, file: str = "store.db") -> dict[str, Any]:
        """Change the stored key of a document in one place of a closed store's file."""
        self.close()
        path = self.folder / file
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        before = path.read_bytes()
        path.write_bytes(before.replace(key.encode(), key.swapcase().encode(), 1))
        assert path.read_bytes() != before
        return {}

    def use_place(self, name: str) -> dict[str, Any]:
        """Use another store from now on, by its file; an empty name: the default one."""
        self.close()
        self.place = place_of(self.folder / name) if name else ""
        return {}

    def cut(self, file: str) -> dict[str, Any]:
        """Cut off the second half of a file."""
        path = self.folder / file
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        return {}

    def repeat(self, verb: str, times: int, **arguments: Any) -> dict[str, Any]:
        """Run a verb many times."""
        for _ in range(times):
            getattr(self, verb)(**arguments)
        return {}

    def read(self, name: str) -> dict[str, Any]:
        """Return the text of a file of the case."""
        return {"text": (self.folder / name).read_text(encoding="utf-8")}

    def save(self, name: str, content: str, *, append: bool = False) -> dict[str, Any]:
        """Write a file of the case, or append to it."""
        path = self.folder / name
        before = path.read_bytes() if append else b""
        path.write_bytes(before + content.encode())
        return {}


class ServedFace(Face):
    """Drivers that use a server, which starts with the first request.

    Attributes:
        token: The token that requests have.
    """

    def __init__(self, place: str, folder: Path) -> None:
        super().__init__(place, folder)
        self.token: str | None = None
        self._options: list[str] = []
        self._tokens: dict[str, str] = {}
        self._stack = ExitStack()

    @cached_property
    def url(self) -> str:
        """The address of the server."""
        return self._stack.enter_context(serve(self.place, *self._options)).url

    def close(self) -> None:
        self._stack.close()

    def serve(self, **options: Any) -> dict[str, Any]:
        """Give the server options; it has not started yet."""
        for name, value in options.items():
            self._options += ["--" + name.replace("_", "-"), str(value)]
        return {}

    def add_token(self, name: str, scope: str) -> dict[str, Any]:
        with Store.open(self.place) as store:
            self._tokens[name] = store.tokens.add(name, scope)
        return {"token": self._tokens[name]}

    def use_token(self, name: str) -> dict[str, Any]:
        """Send a token with the requests that follow; an unknown name: a wrong one."""
        self.token = self._tokens.get(name, "sst_" + 43 * "A")
        return {}

    def revoke_token(self, name: str) -> dict[str, Any]:
        """Revoke a token, and wait until the server refuses it: for a second at most."""
        with Store.open(self.place) as store:
            store.tokens.revoke(name)
        until = time.monotonic() + 1.5
        headers = {"Authorization": f"Bearer {self._tokens[name]}"}
        while httpx.get(f"{self.url}/v1/stats", headers=headers).status_code != 401:
            assert time.monotonic() < until, f"token {name} is still good"
            time.sleep(0.05)
        return {}


def renamed(options: dict[str, Any]) -> dict[str, Any]:
    """Return options under the names of Python and HTTP."""
    return {OPTIONS.get(name, name): value for name, value in options.items()}


def picked(record: Any, names: dict[str, str]) -> dict[str, Any]:
    """Return fields of a record or an object under their neutral names."""
    if not isinstance(record, dict):
        record = {one: getattr(record, one) for one in names.values() if hasattr(record, one)}
    found = {name: record[one] for name, one in names.items() if one in record}
    if isinstance(found.get("channels"), tuple):
        found["channels"] = list(found["channels"])
    return found
