"""Commands with ``--server`` write what they write where the store is, to the byte."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import texts
from forked import Finished, Nursery
from served import Served, serve

from simstore import Store

from . import corpora
from .shells import PAGES, SAMPLE, Shell
from .test_wrong_use import assert_refused

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]

LAMP = texts.LIGHTHOUSE
# Words of commands that only read.
READING = [
    ["query", "--format", "jsonl", "-k", "6", "sample.txt", "paper.txt"],
    ["query", "--format", "simtool", "--first", "--limit", "1", "sample.txt"],
    ["query", "nowhere.txt"],
    ["query", "-k", "65", "sample.txt"],
    ["check", "--format", "jsonl", "--high", "0.9", "--exclude", "never", "paper.txt"],
    ["check", "--format", "csv", "--by", "window", "--window", "40", "paper.txt", "sample.txt"],
    ["check", "broken.jsonl"],
    ["compare", "--format", "csv", "--bits", "64", "key:harbour", "key:never"],
    ["show", "--format", "json", "caf\udce9"],
    ["show", "--original", "prefer:2$", "harbour-2"],
    ["list", "--format", "csv", "--limit", "2"],
    ["seen", "--format", "jsonl", "harbour", "skipped", "caf\udce9"],
    ["seen", "--file", "harbour.txt", "--format", "keys"],
    ["stats", "--sizes"],
    ["clusters"],
    ["clusters", "--merges", "--format", "csv"],
    ["duplicates", "--format", "jsonl", "--of", "lamp"],
    ["runs", "--limit", "1"],
    ["rejects"],
]
# Commands, and options of commands, that only a store knows.
NOT_SERVED = [
    ["report"],
    ["reindex"],
    ["fsck"],
    ["vocabulary", "refresh"],
    ["fingerprints", "near", "00"],
    ["init"],
    ["clusters", "--rebuild"],
    ["export"],
    ["expire", "--not-seen-since", "9d"],
    ["passages", "build"],
    ["token", "list"],
    ["serve"],
    ["query", "--require-fresh", "sample.txt"],
    ["remove", "--no-refresh", "harbour"],
    ["ingest", "--passages", "article.txt"],
    ["check", "--threads", "2", "article.txt"],
]


@dataclass
class Both:
    """A folder, and the command line in it: beside the store, and with a server of it."""

    shell: Shell
    place: Path
    served: Served

    def here(self, *words: str, code: int | None = None) -> Finished:
        return self._run("--db", str(self.place), *words, code=code)

    def there(self, *words: str, code: int | None = None) -> Finished:
        return self._run("--server", self.served.url, *words, code=code)

    def _run(self, *words: str, code: int | None) -> Finished:
        done = self.shell._nursery.simstore(self.shell.folder, *words)
        assert "Traceback" not in done.errors
        assert code in (None, done.code), done.errors
        return done


def fill(folder: Path) -> None:
    """Write files to ingest and to ask with."""
    corpora.article_file(folder / "article.txt", PAGES)
    corpora.article_file(folder / "sample.txt", SAMPLE)
    (folder / "paper.txt").write_text(f"Of my own.\n\n{LAMP}\n")
    (folder / "harbour.txt").write_text(PAGES[0][1])
    (folder / "broken.jsonl").write_text('{"key": "a", "text": "x"}\n{"key": 3\n')


@pytest.fixture(scope="module")
def both(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """A store with all that can be listed, which nobody changes."""
    folder = tmp_path_factory.mktemp("both")
    fill(folder)
    place = folder / "held.db"
    with Store.create(place) as store:
        store.passages.build()
        store.ingest([str(folder / name) for name in ("article.txt", "broken.jsonl")])
        store.add("lamp", LAMP, title="A lamp", metadata={"port": "Corran"}, collection="light")
        store.add("caf\udce9", f"{LAMP} caf\udce9", seen_at=1_000)
        store.add("flagged", f"{LAMP} So.", on_duplicate="flag")
        store.add("skipped", f"{LAMP} Yes.", on_duplicate="skip")
        store.clusters.build()
    with serve(place) as served:
        yield Both(Shell(nursery, folder), place, served)


@pytest.mark.slow
def test_output_is_the_same(both: Both) -> None:
    for words in READING:
        here, there = both.here(*words), both.there(*words)
        assert (there.code, there.out, there.errors) == (here.code, here.out, here.errors), words


def test_files_are_the_same(both: Both) -> None:
    for words in (
        ["check", "paper.txt", "-o", "{}.jsonl"],
        ["export", "--known-keys", "{}.filter", "--of", "keys", "--capacity", "99"],
    ):
        made = []
        for name, run in (("here", both.here), ("there", both.there)):
            run(*(word.format(name) for word in words), code=0)
            target = next(word for word in words if "{}" in word).format(name)
            made.append((both.shell.folder / target).read_bytes())
        assert made[0] == made[1]
        assert made[0]


def test_a_report_is_made_by_a_server(both: Both) -> None:
    both.there("check", "paper.txt", "-o", "report.html", code=0)
    assert b"Corran Point" in (both.shell.folder / "report.html").read_bytes()


def test_what_only_a_store_does_is_refused(both: Both) -> None:
    for words in NOT_SERVED:
        assert_refused(both.there(*words), 2, "--db")


def test_a_store_on_the_command_line_goes_before_a_server_in_the_environment(
    both: Both,
) -> None:
    folder, nursery = both.shell.folder, both.shell._nursery
    plain = {k: v for k, v in os.environ.items() if not k.startswith("SIMSTORE_")}
    Store.create(folder / "other.db", exist_ok=True).close()

    def listed(*words: str, **variables: str) -> bytes:
        found = nursery.simstore(folder, *words, "list", environment=plain | variables)
        assert found.code == 0, found.errors
        return found.out

    names = {"SIMSTORE_SERVER": both.served.url, "SIMSTORE_DB": "other.db"}
    stored, empty = listed("--db", str(both.place)), listed("--db", "other.db")
    assert stored != empty
    assert listed(**names) == stored
    assert listed("--db", "other.db", **names) == empty
    assert listed("--server", both.served.url, **names) == stored
    # The same for stores alone: what stands before the command goes before a variable, too.
    assert listed("--db", str(both.place), SIMSTORE_DB="other.db") == stored
    assert_refused(both.here("--server", both.served.url, "list"), 2, "--server", "--db")


def test_tokens_come_from_a_variable_or_a_file_and_are_not_shown(
    nursery: Nursery, tmp_path: Path
) -> None:
    with Store.create(tmp_path / "s.db") as store:
        token = store.tokens.add("reader", "read", None)
    plain = {k: v for k, v in os.environ.items() if not k.startswith("SIMSTORE_")}
    file = tmp_path / "token"
    (tmp_path / "a.txt").write_text("The ferry waits at the quay until the fog is gone.")
    with serve(tmp_path / "s.db") as served:
        server = plain | {"SIMSTORE_SERVER": served.url}

        def run(*words: str, **variables: str) -> Finished:
            done = nursery.simstore(tmp_path, *words, environment=server | variables)
            assert token not in done.errors
            return done

        assert_refused(run("list"), 2, "--token-file FILE or SIMSTORE_TOKEN; `simstore token add")
        wrong = run("list", SIMSTORE_TOKEN="sst_wrong")  # noqa: S106
        assert_refused(wrong, 2, "refuses the token of SIMSTORE_TOKEN: it is not known there")
        assert run("list", SIMSTORE_TOKEN=token).errors == ""
        scope = "`simstore token add NAME --scope write --expires 90d`, run where the store is"
        assert_refused(run("remove", "a", SIMSTORE_TOKEN=token), 2, scope)
        assert_refused(run("list", "--token-file", "nowhere"), 3, "--token-file nowhere: no such")
        file.touch(mode=0o600)
        assert_refused(run("list", "--token-file", "token"), 5, "there is no token in it")
        file.unlink()
        # What the store lacks is made where it is, not by the command that was given.
        for words, there in (
            (["clusters"], "`simstore clusters` makes them where the store is"),
            (["check", "a.txt"], "where the store is: not over --server"),
            (["clusters", "--once"], "--once: not over a server"),
        ):
            asked = run(*words, SIMSTORE_TOKEN=token)
            assert asked.code in (2, 3), asked
            assert there in asked.errors
        file.write_text(f"{token}\n")
        file.chmod(0o644)
        assert "chmod 600" in run("list", "--token-file", "token").errors
        file.chmod(0o600)
        assert run("--token-file", "token", "list").errors == ""
        file.write_text("not a token\n")
        assert_refused(run("list", "--token-file", "token"), 2, "token")
        file.write_text("t" * 5_000)
        assert_refused(run("list", "--token-file", "token"), 5, "too long to be a token")


def test_a_server_that_is_not_there_is_one_line(nursery: Nursery, tmp_path: Path) -> None:
    shell = Shell(nursery, tmp_path)
    assert_refused(shell("--server", "http://127.0.0.1:9", "list", code=6), 6, "simstore serve")
    assert_refused(shell("--server", "127.0.0.1:9", "list", code=2), 2, "http://127.0.0.1:8765")


@pytest.mark.slow
def test_writing_is_the_same(nursery: Nursery, tmp_path: Path) -> None:
    fill(tmp_path)
    Store.create(tmp_path / "here.db").close()
    shutil.copy(tmp_path / "here.db", tmp_path / "there.db")
    (tmp_path / "copies.jsonl").write_text(
        "".join(json.dumps({"key": f"copy {n}", "text": f"{LAMP} {n}"}) + "\n" for n in range(3))
    )
    commands = [
        ["ingest", "article.txt"],
        ["ingest", "article.txt", "--from-start"],
        ["ingest", "--on-duplicate", "skip", "--collection", "light", "copies.jsonl"],
        ["ingest", "broken.jsonl"],
        ["ingest", "--strict", "--from-start", "broken.jsonl"],
        ["ingest", "nowhere.txt"],
        ["remove", "copy 0"],
        ["remove", "harbour", "never"],
        ["remove", "--ignore-missing", "harbour", "never", "harbour"],
        ["list", "--format", "keys"],
        ["seen", "--format", "keys", "harbour", "copy 1", "a"],
    ]
    with serve(tmp_path / "there.db") as served:
        places = (["--db", "here.db"], ["--server", served.url])
        for words in commands:
            here, there = (nursery.simstore(tmp_path, *place, *words) for place in places)
            assert (there.code, there.out) == (here.code, here.out), words
            assert "Traceback" not in there.errors
        piped = [
            nursery.simstore(tmp_path, *place, "ingest", "-", stdin=b"from a pipe")
            for place in places
        ]
        assert piped[0].out == piped[1].out
        many = "".join(f'{{"key": {n}\n' for n in range(20)).encode()
        told = nursery.simstore(
            tmp_path, "--server", served.url, "ingest", "--as", "jsonl", "-", stdin=many
        )
        named = [line for line in told.error_lines if line.startswith("rejected:")]
        assert (told.code, len(named)) == (5, 10)
        assert "10 more" in told.errors
        assert "simstore rejects" not in told.errors
