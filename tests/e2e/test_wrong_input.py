"""Every command with wrong input: no traceback, a documented exit code, one short error.

The commands and their options come from the command line itself, so that a new one is tested too.
Each runs in this process. What single commands say of single mistakes is in test_wrong_use.py.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from simstore.cli import main

from . import corpora
from .shells import PAGES, SAMPLE

pytestmark = pytest.mark.slow

# Exit codes that `simstore --help` names; 1 would be an error that nobody foresaw.
CODES = {0, 2, 3, 4, 5, 6, 7}
# Two lines of 100 columns, the widest that help is shown in.
LONGEST_ERROR = 200
# One that lists what may be chosen.
LONGEST_CHOICE = 240


def commands_below(
    group: click.Group, context: click.Context, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            below = click.Context(found, parent=context, info_name=name)
            yield from commands_below(found, below, (*path, name))
        else:
            yield (*path, name), found


ALL = dict(commands_below(main, click.Context(main, info_name="simstore")))
# How a command is used where it takes an argument, or asks before it does something.
RIGHT = {
    "ingest": ["article.txt"],
    "query": ["sample.txt"],
    "check": ["sample.txt"],
    "compare": ["key:harbour", "key:bread"],
    "show": ["harbour"],
    "seen": ["harbour"],
    "remove": ["harbour"],
    "expire": ["--not-seen-since", "2026-05-02", "--yes"],
    "backup": ["copy.db"],
    "restore": ["simstore.db"],
    "spark load": ["folder"],
    "fingerprints add": ["hashes.txt"],
    "fingerprints remove": ["hashes.txt"],
    "fingerprints near": ["00"],
    "vocabulary policy": ["frozen"],
    "decontaminate": ["article.txt", "--against", "article.txt", "-o", "out/"],
    "dedup": ["article.txt", "-o", "out/"],
    "filter": ["article.txt", "-o", "out/"],
    "spark dedup": ["article.txt", "--output", "out"],
    "token add": ["someone"],
    "token revoke": ["someone"],
    "completion": ["bash"],
}
# They use no store, or make one, or look at their input first.
WITHOUT_STORE = {"ingest", "dedup", "init", "completion", "spark dedup", "spark load", "restore"}
FILES = ["none.txt", "folder", "empty.txt", "binary.bin"]
NUMBERS = ["-1", "9223372036854775808", "1" + "0" * 30, "1e300", "nan"]
PLACES = ["none.db", "none/none.db", "folder", "empty.txt", "binary.bin", "other.db", ""]


@pytest.fixture(scope="module")
def made_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    corpora.article_file(folder / "article.txt", PAGES)
    corpora.article_file(folder / "sample.txt", SAMPLE)
    (folder / "folder").mkdir()
    (folder / "empty.txt").touch()
    (folder / "binary.bin").write_bytes(bytes(range(256)) * 40)
    with closing(sqlite3.connect(folder / "other.db")) as connection:
        connection.execute("CREATE TABLE other (x)")
        connection.commit()
    done = CliRunner().invoke(
        main, ["ingest", str(folder / "article.txt"), "--db", str(folder / "simstore.db")]
    )
    assert done.exit_code == 0, done.output
    return folder


Enter = Callable[[], Path]


@pytest.fixture
def enter(made_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Change into a new folder with a store, texts, and what is none."""
    for name in ("SIMSTORE_DB", "SIMSTORE_SERVER", "SIMSTORE_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def entered() -> Path:
        monkeypatch.chdir(tmp_path)
        shutil.rmtree("place", ignore_errors=True)
        place = Path(shutil.copytree(made_folder, tmp_path / "place"))
        monkeypatch.chdir(place)
        return place

    return entered


def told(words: list[str]) -> Result:
    """Run a command line; assert that what it says of an error is short and no traceback."""
    done = CliRunner().invoke(main, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), (
        words,
        done.exception,
        done.exc_info,
    )
    assert done.exit_code in CODES, (words, done.exit_code, done.stderr)
    if done.exit_code == 0 or (done.exit_code in (5, 7) and done.stdout):
        # Done, if only in part; `seen` says of unknown keys in its table that they are.
        return done
    lines = [line for line in done.stderr.splitlines() if line]
    if lines[0].startswith("Usage: "):
        # How click shows a word that is wrong: usage, where to find help, the error.
        lines = lines[2:]
    # click names the words that an argument can be, a line each.
    lines = [line for line in lines if not line.startswith("\t")]
    # A server writes what it says into its log.
    lines = [re.sub(r"^\S+Z ERROR ", "Error: ", line) for line in lines]
    errors = [line for line in lines if line.startswith("Error: ")]
    assert errors == lines[-1:], (words, done.stderr)
    longest = LONGEST_ERROR if " is not one of " not in errors[0] else LONGEST_CHOICE
    assert len(errors[0].replace(str(Path.cwd()), "")) <= longest, (words, errors[0])
    return done


def test_missing_argument_is_named(enter: Enter) -> None:
    enter()
    for path, command in ALL.items():
        required = [
            one for one in command.params if isinstance(one, click.Argument) and one.required
        ]
        for count in range(len(required)):
            words = [*path, *RIGHT[" ".join(path)][:count]]
            done = told(words)
            assert done.exit_code == 2, (words, done.output)
            assert "Missing argument" in done.stderr


def test_argument_that_is_no_text_is_told(enter: Enter) -> None:
    for path, command in ALL.items():
        # It would start a Java machine.
        if path[0] == "spark":
            continue
        enter()
        arguments = [one for one in command.params if isinstance(one, click.Argument)]
        right = RIGHT.get(" ".join(path), []) if arguments else []
        for place in range(max(1, len(right))):
            for name in FILES:
                done = told([*path, *right[:place], name, *right[place + 1 :]])
                assert arguments or done.exit_code == 2, done.output


def test_place_that_holds_no_store_is_told_and_left(enter: Enter) -> None:
    for path in ALL:
        if " ".join(path) in WITHOUT_STORE:
            continue
        folder = enter()
        before = {one.name for one in folder.iterdir()}
        for place in PLACES:
            data = Path(place).read_bytes() if place and Path(place).is_file() else None
            done = told([*path, *RIGHT.get(" ".join(path), []), "--db", place])
            # Several papers are compared with one another without a store.
            codes = (0, 2, 3, 6) if path == ("check",) else (2, 3, 6)
            assert done.exit_code in codes, (path, place, done.output)
            assert place in done.stderr or done.exit_code == 2
            assert {one.name for one in folder.iterdir()} == before, (path, place)
            assert data is None or Path(place).read_bytes() == data


def test_wrong_value_of_an_option_is_named(enter: Enter) -> None:
    enter()
    for path, one in options():
        words = [*path, *RIGHT.get(" ".join(path), []), max(one.opts, key=len)]
        told(words)
        for value in () if isinstance(one.type, click.types.StringParamType) else ("nonsense", ""):
            done = told([*words, value])
            assert done.exit_code == 2, (words, value, done.output)
            assert words[-1] in done.stderr, (words, value, done.stderr)


@pytest.mark.slow
def test_number_far_out_of_range_is_told_or_taken(enter: Enter) -> None:
    kinds = (click.types.IntParamType, click.types.FloatParamType)
    for path, one in options():
        # They serve, or start a Java machine.
        is_number = isinstance(one.type, kinds) or one.name in ("not_seen_since", "since", "bands")
        if is_number and path[0] not in ("serve", "spark"):
            for number in NUMBERS:
                enter()
                right = [*path, *RIGHT.get(" ".join(path), [])]
                words = ["--dry-run" if word == "--yes" else word for word in right]
                told([*words, f"{max(one.opts, key=len)}={number}"])


def options() -> Iterator[tuple[tuple[str, ...], click.Option]]:
    """Yield each option that takes a value, with its command."""
    for path, command in ALL.items():
        for one in command.params:
            if isinstance(one, click.Option) and not one.is_flag and not one.count:
                yield path, one


def test_unknown_option_is_named(enter: Enter) -> None:
    enter()
    for path in ALL:
        done = told([*path, *RIGHT.get(" ".join(path), []), "--no-such-option"])
        assert done.exit_code == 2
        assert "--no-such-option" in done.stderr
