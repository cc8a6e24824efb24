"""Hostile command lines, run: documented exit codes, no traceback, a store that stays sound."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import signal
import socket
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from random import Random

from forked import Child, Finished, Nursery

from .hostile_texts import plain
from .hostile_words import command_line, serving_line

MOST_SECONDS = 30.0
MOST_MEMORY = 2_000_000_000
# Usage, not found, conflict, bad input, storage, interrupted; 1 is for what nobody expected.
CODES = (0, 2, 3, 4, 5, 6, 7, 130, 143)
# Of `seen`, which lists no key where none is there.
_NOT_ALL_SEEN = 7
# What waits until somebody writes or reads: it is interrupted after so long.
_WAITING_SECONDS, _INTERRUPTED_SECONDS = 2.0, 15.0
_WAITING = ("fifo", "/dev/tty", "*", "**", "**/*", "folder/**/../**", ".", "..", "/", "~", "[!")


class HostileCommands:
    """Runs command lines of hostile values in a folder with a store.

    Args:
        nursery: Makes the processes.
        folder: Where all of it happens; what lies in it is prepared once.
        is_sealed: Nothing else can be written to.
    """

    def __init__(self, nursery: Nursery, folder: Path, *, is_sealed: bool) -> None:
        self._nursery = nursery
        self._sealed = is_sealed
        self._template = folder / "template"
        self._template.mkdir(exist_ok=True)
        self._prepare()

    def round(self, chance: Random, folder: Path, size: int) -> int:
        """Run so many commands one after the other; return how many."""
        work, outside = folder / "work", folder / "outside"
        outside.mkdir()
        (outside / "kept.txt").write_text("kept")
        shutil.copytree(self._template, work)
        _add_odd_files(work)
        known = _contents(outside)
        for number in range(size):
            is_serving = chance.random() < 0.03
            words = (
                serving_line(chance) if is_serving else command_line(chance, is_sealed=self._sealed)
            )
            named = {word.split("=", 1)[-1] for word in words}
            done = self._serve(work, words) if is_serving else self._run(work, words)
            line = (
                shlex.join(["simstore", *words])
                .encode("utf-8", "backslashreplace")
                .decode()[:3_000]
            )
            where = f"command {number + 1} in {work}: {line}"
            problem = _problem(done)
            if problem:
                raise AssertionError(
                    f"{done.err.decode(errors='replace')[-4_000:]}\n{where}: {problem}"
                )
            if _contents(outside) != known:
                raise AssertionError(f"{where}: something outside was changed")
            if list(folder.glob("**/stolen.db")):
                raise AssertionError(f"{where}: SQL that is to be read wrote a file")
            if number % 10 == 9 or named & {"simstore.db", "./simstore.db", "link.db"}:
                sound = self._nursery.simstore(work, "fsck")
                if sound.code != 0:
                    said = done.err.decode(errors="replace")[-2_000:]
                    raise AssertionError(
                        f"{said}\n{where}: then fsck ends with {sound.code}: "
                        f"{sound.err!r} {sound.out!r}"
                    )
        return size

    def _run(self, work: Path, words: list[str]) -> Finished:
        """Run a command to its end, or interrupt it where it may wait."""
        child = self._nursery.start("simstore", work, words=words)
        waits = any(word.split("=", 1)[-1] in _WAITING for word in words)
        started = time.monotonic()
        if not child.ends_within(_WAITING_SECONDS if waits else MOST_SECONDS):
            if not waits:
                said = child.error_text()
                child.kill()
                raise AssertionError(
                    f"{said[-2_000:]}\nsimstore {shlex.join(words)[:2_000]} in {work} goes on "
                    f"after {time.monotonic() - started:.0f} s"
                )
            self._interrupt(child, signal.SIGINT, words)
        return child.wait()

    def _serve(self, work: Path, words: list[str]) -> Finished:
        """Run a server until it serves, then end it."""
        child = self._nursery.start("simstore", work, words=words)
        deadline = time.monotonic() + MOST_SECONDS
        while not child.ends_within(0.05):
            if " at http://" in child.error_text():
                # The second signal ends it at once, whatever it is told to wait for.
                child.signal(signal.SIGTERM)
                if not child.ends_within(5.0):
                    self._interrupt(child, signal.SIGTERM, words)
                    child.wait()
                    return Finished(143, b"", b"")
                break
            if time.monotonic() > deadline:
                child.kill()
                raise AssertionError(
                    f"simstore {shlex.join(words)[:2_000]} neither serves nor ends"
                )
        return child.wait()

    def _interrupt(self, child: Child, number: int, words: list[str]) -> None:
        with suppress(ProcessLookupError):
            child.signal(number)
        if not child.ends_within(_INTERRUPTED_SECONDS):
            said = child.error_text()
            child.kill()
            raise AssertionError(
                f"{said[-2_000:]}\nsimstore {shlex.join(words)[:2_000]} goes on for "
                f"{_INTERRUPTED_SECONDS:.0f} s after a signal"
            )

    def _prepare(self) -> None:
        """Make a store with something of everything, and files for the options that read some."""
        folder, chance = self._template, Random(7)
        pages = [(f"p{number}", plain(chance, 40)) for number in range(12)]
        pages.append(("p12", pages[0][1] + " too"))
        lines = [json.dumps({"id": key, "text": text, "site": "a"}) for key, text in pages]
        (folder / "first.jsonl").write_text("\n".join([*lines, "not JSON", "[]"]) + "\n")
        more = [json.dumps({"id": f"m{key}", "text": text, "n": {"a": 1}}) for key, text in pages]
        (folder / "more.jsonl").write_text("\n".join(more) + "\n")
        (folder / "article.txt").write_text("\f".join(f"{key}\n{text}" for key, text in pages))
        (folder / "sample.txt").write_text(pages[3][1])
        (folder / "keys.txt").write_text("p1\nnobody\np2\n")
        (folder / "hashes.txt").write_text("00ff00ff00ff00ff\n1\n")
        (folder / "pairs.csv").write_text("a,b,near\np0,p12,1\np1,p2,0\n")
        (folder / "page.html").write_text(f"<html><body><p>{pages[5][1]}</p></body></html>")
        with closing(sqlite3.connect(folder / "blog.db")) as connection:
            connection.execute("CREATE TABLE post (id, words)")
            connection.executemany("INSERT INTO post VALUES (?, ?)", pages)
            connection.commit()
        for words in (
            ["ingest", "--passages", "--on-duplicate", "flag", "first.jsonl"],
            ["clusters"],
            ["query", "sample.txt"],
            ["export", "--known-keys", "known.filter"],
            ["backup", "other.db"],
            ["token", "add", "reader", "--expires", "1d"],
            ["token", "revoke", "reader"],
        ):
            done = self._nursery.simstore(folder, *words)
            assert done.code in (0, 5), (words, done)


def _problem(done: Finished) -> str | None:
    """Return what is wrong with how a command ended."""
    said = done.err.decode(errors="replace")
    if done.code not in CODES:
        return f"it ends with {done.code}"
    if "Traceback" in said or "Traceback" in done.out.decode(errors="replace"):
        return "it tells a traceback"
    # `seen --format keys` lists no key, as grep lists no line, and says so by its code.
    if (
        done.code not in (0, _NOT_ALL_SEEN)
        and not (said + done.out.decode(errors="replace")).strip()
    ):
        return f"it ends with {done.code} and says nothing"
    if "\x1b" in said:
        return "it writes an escape of its input to the terminal"
    if done.rss_bytes > MOST_MEMORY:
        return f"it took {done.rss_bytes:,} bytes of memory"
    return None


def _add_odd_files(work: Path) -> None:
    (work / "folder").mkdir()
    (work / "folder" / "inner.txt").write_text("some text")
    (work / "closed").mkdir()
    (work / "unreadable").write_text("secret")
    (work / "unreadable").chmod(0)
    (work / "loop").symlink_to("loop")
    (work / "nothing").symlink_to("missing")
    (work / "link.db").symlink_to("simstore.db")
    (work / "odd\udcff\n.txt").write_text("a text under an odd name")
    os.mkfifo(work / "fifo")
    with closing(socket.socket(socket.AF_UNIX)) as made, suppress(OSError):
        # Its address may be longer than an address may be.
        made.bind(os.path.relpath(work / "socket"))
    (work / "closed").chmod(0)


def _contents(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }
