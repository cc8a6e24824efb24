"""Every command with wrong input: no traceback, a documented exit code, one short error.

The commands and their options come from the command line itself, so that a new one is tested too.
Each runs in this process. What single commands say of single mistakes is in test_wrong_use.py.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from simstore.cli import main

from . import corpora
from .shells import PAGES, SAMPLE

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
    "copy": ["copy.db"],
    "restore": ["simstore.db"],
    "import": ["folder"],
    "fingerprints add": ["hashes.txt"],
    "fingerprints remove": ["hashes.txt"],
    "fingerprints near": ["00"],
    "rejects show": ["1"],
    "rejects clear": ["--yes"],
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
WITHOUT_STORE = {"ingest", "dedup", "init", "completion", "spark dedup", "import", "restore"}
FILES = ["none.txt", "folder", "empty.txt", "binary.bin"]
PLACES = ["none.db", "none/none.db", "folder", "empty.txt", "binary.bin", "other.db", ""]

every_command = pytest.mark.parametrize("path", ALL, ids=" ".join)


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


@pytest.fixture
def folder(made_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store, texts, and what is none; it is the current one."""
    place = tmp_path / "place"
    shutil.copytree(made_folder, place)
    monkeypatch.chdir(place)
    for name in ("SIMSTORE_DB", "SIMSTORE_SERVER", "SIMSTORE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return place


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


@every_command
def test_missing_argument_is_named(folder: Path, path: tuple[str, ...]) -> None:
    required = [one for one in ALL[path].params if isinstance(one, click.Argument) and one.required]
    for count in range(len(required)):
        words = [*path, *RIGHT[" ".join(path)][:count]]
        done = told(words)
        assert done.exit_code == 2, (words, done.output)
        assert "Missing argument" in done.stderr


@pytest.mark.timeout(300)
@every_command
def test_argument_that_is_no_text_is_told(folder: Path, path: tuple[str, ...]) -> None:
    arguments = [one for one in ALL[path].params if isinstance(one, click.Argument)]
    right = RIGHT.get(" ".join(path), []) if arguments else []
    for place in range(max(1, len(right))):
        for name in FILES:
            done = told([*path, *right[:place], name, *right[place + 1 :]])
            assert arguments or done.exit_code == 2, done.output


@pytest.mark.parametrize(
    "path", [one for one in ALL if " ".join(one) not in WITHOUT_STORE], ids=" ".join
)
def test_place_that_holds_no_store_is_told_and_left(folder: Path, path: tuple[str, ...]) -> None:
    for place in PLACES:
        before = {one.name for one in folder.iterdir()}
        data = Path(place).read_bytes() if place and Path(place).is_file() else None
        done = told([*path, *RIGHT.get(" ".join(path), []), "--db", place])
        assert done.exit_code in (2, 3, 6), (path, place, done.output)
        assert place in done.stderr or done.exit_code == 2
        assert {one.name for one in folder.iterdir()} == before, (path, place)
        assert data is None or Path(place).read_bytes() == data


@every_command
def test_wrong_value_of_an_option_is_named(folder: Path, path: tuple[str, ...]) -> None:
    right = RIGHT.get(" ".join(path), [])
    for one in ALL[path].params:
        if not isinstance(one, click.Option) or one.is_flag or one.count:
            continue
        name = max(one.opts, key=len)
        told([*path, *right, name])
        is_free = isinstance(one.type, click.types.StringParamType)
        for value in () if is_free else ("nonsense", "", "nan"):
            if isinstance(one.type, click.types.FloatParamType) and value == "nan":
                continue
            done = told([*path, *right, name, value])
            assert done.exit_code == 2, (path, name, value, done.output)
            assert name in done.stderr, (path, name, value, done.stderr)


@every_command
def test_unknown_option_is_named(folder: Path, path: tuple[str, ...]) -> None:
    done = told([*path, *RIGHT.get(" ".join(path), []), "--no-such-option"])
    assert done.exit_code == 2
    assert "--no-such-option" in done.stderr
