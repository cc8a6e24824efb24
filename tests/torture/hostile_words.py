"""Command lines of hostile values: numbers, paths, patterns, dates, at every option there is."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import click

from simstore.cli import main

INTEGERS = (
    "0", "1", "-1", "-0", "+1", "2", "3", "7", "64", "65", "1_0", "٣", "１２", "1e3", "0x10", "",
    " 5 ", "nan", "inf", "1e400", "1000000", "2147483648", "9223372036854775807",
    "9223372036854775808", "1" + "0" * 30, "1" * 5_000, "-9223372036854775809", "65536",
    "4294967296",
)  # fmt: skip
FLOATS = (
    "0", "1", "0.5", "-1", "nan", "-nan", "inf", "-inf", "-0.0", "1e400", "1e-400", "1e308", "2",
    "0.999999999999999999", "٣.٥", "1_0.5", "0x1p3", "", " 0.5 ", "1,5", "1e-300", "1" * 400,
)  # fmt: skip
# Files that a folder of a round has, and what is none.
FILES = (
    "more.jsonl", "article.txt", "sample.txt", "keys.txt", "hashes.txt", "pairs.csv",
    "known.filter", "page.html", "blog.db", "other.db", "simstore.db", "odd\udcff\n.txt",
)  # fmt: skip
PATHS = (
    *FILES, "missing", "missing/deep/x", "folder", "folder/", ".", "..", "/", "", " ", "-", "--",
    "unreadable", "closed/x", "loop", "nothing", "a" * 255, "a" * 256, "a/" * 3_000, "fifo",
    "socket", "\udcff\udcfe", "天", "\n", "x\x1b[31m", "*", "**", "[", "[!", "**/*",
    "folder/**/../**", "~", "~root", "$HOME", "%s", "con", "new.jsonl", "new.html", "new.db",
    "new.parquet", "new.jsonl.gz", "new.xz", "file:simstore.db", "file:simstore.db?mode=ro",
    "sqlite://", "sqlite:///new.db", "more.jsonl/x", "http://127.0.0.1:1/", "./simstore.db",
    "folder/../simstore.db", "link.db",
)  # fmt: skip
# Only where nothing else can be written to.
DEVICES = (
    "/dev/full", "/dev/null", "/dev/zero", "/dev/stdin", "/dev/fd/0", "/proc/self/mem",
    "/proc/self/fd/1", "/etc/passwd", "/proc/self/environ", "/dev/tty", "/dev/urandom",
)  # fmt: skip
PATTERNS = (
    "prefer:(a+)+$", "prefer:(.*)*x", "prefer:(?=a)", "prefer:(a)\\1", "prefer:[", "prefer:",
    "prefer:" + "(" * 500, "prefer:a{1000}{1000}", "prefer:(?:x{1000}){1000}", "prefer:\\udcff",
    "prefer:" + "a?" * 2_000 + "a" * 2_000, "prefer:\udcff", "first", "earliest", "longest",
    "latest", "prefer:(?i)\\p{Greek}|[^\\x00]*", "prefer", ":", "prefer:" + "x" * 1_000, "(",
    "*a" * 400 + "z",
)  # fmt: skip
DATES = (
    "2026-05-01", "9999-12-31", "0000-00-00", "0001-01-01", "99999-01-01", "-1", "0", "1e300",
    "nan", "1d", "0d", "-1d", "99999999999999999999d", "1y", "1.5h", "2026-02-30",
    "2026-05-01T25:00", "2026-05-01T12:00:00+99:99", "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59", "٢٠٢٦-٠٥-٠١", "now", "yesterday", "2026-W01", "2026-123", "",
    "inf", "9" * 400, "1e3d", "nand", "infd", "1 d",
)  # fmt: skip
STRINGS = (
    "", " ", "x", "a=b", "=", "=b", "a=", "a=b=c", "\udcff", "\udcff=\udcfe", "天", "x" * 70_000,
    "\n", "%s", "'", '"', "\\", "-", "--", "-x", "a.b.c", ".", "..", "text", "id", "key:p1", "key:",
    "p1", "p2", "null", "\x1b[31m", "0", "1,2", "1x2", "0x0", "16x4", "4,16", "1000000x1000000",
    "-1,-1", "builtin", "builtin:de", "builtin:xx", "builtin:../..", "none", "german", "keys",
    "digests", "keys,digests", "keys,,", "utf-8", "utf-7", "idna", "rot13", "hex", "base64", "zlib",
    "punycode", "unicode_escape", "undefined", "mbcs", "utf-8-sig", "gb18030", "utf-16", "auto",
    "keep", "csv", "jsonl", "parquet", "warc", "pdf", "0123456789abcdef", "zz", "0" * 16, "f" * 16,
    "f" * 17, "127.0.0.1", "::1", "localhost", "256.1.1.1", "a" * 300, "8", "3", "0.8", "nan",
    "inf", "1e400", "name", "postgresql://127.0.0.1:1/x", "mysql://x",
    "SELECT key AS id, text FROM document", "SELECT id, words AS text FROM post", "SELECT 1",
    "DROP TABLE post", "DELETE FROM post", "SELECT", "SELECT 1; DROP TABLE post",
    "PRAGMA journal_mode=OFF", "ATTACH 'stolen.db' AS s", "VACUUM INTO 'stolen.db'",
    "SELECT NULL AS id, X'ff' AS text", "SELECT 1e999 AS id, 'a' AS text",
    "SELECT load_extension('x')", "INSERT INTO post VALUES (1, 2)",
    "SELECT id, id, words text, words text FROM post",
    "SELECT words text, printf('%.*c', 1e9, 'x') x FROM post",
)  # fmt: skip
# What makes a command do something, besides what it is given.
_NEEDS = {
    "ingest": ["more.jsonl"], "query": ["sample.txt"], "check": ["sample.txt"],
    "compare": ["sample.txt", "key:p2"], "fingerprints add": ["hashes.txt"], "show": ["p1"],
    "fingerprints remove": ["hashes.txt"], "fingerprints near": ["00ff00ff00ff00ff"],
    "seen": ["p1"], "remove": ["p5"], "evaluate": ["--pairs", "pairs.csv"],
    "backup": ["new.db"], "restore": ["simstore.db", "--db", "new.db"],
    "init": ["--db", "new.db"],
    "vocabulary policy": ["live"], "token add": ["name", "--expires", "1d"],
    "token revoke": ["name"], "completion": ["bash"], "spark load": ["folder"], "expire": ["--yes"],
    "clusters": ["--once"], "export": [],
}  # fmt: skip
_DATED = ("since", "not_seen_since", "expires")
_PATTERNED = ("policy", "original", "exclude")
_PATHED = (
    "sources", "papers", "files", "output", "log_file", "filter_file", "keys_from", "text_file",
    "folder", "target", "source", "backup_file", "plot", "pairs", "clusters", "hash_table",
    "stopwords", "first", "second",
)  # fmt: skip
# They serve for ever, or start a Java machine.
_LEFT_OUT = ("serve", "spark dedup")


def commands(group: click.Command = main, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield the name and the command of each command that ends by itself."""
    if not isinstance(group, click.Group):
        return
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command is not None
        full = f"{name} {word}".strip()
        if isinstance(command, click.Group):
            yield from commands(command, full)
        elif full not in _LEFT_OUT:
            yield full, command


ALL = dict(commands())


def command_line(chance: Random, *, is_sealed: bool) -> list[str]:
    """Return the words of a command, of which one to four are hostile.

    Args:
        chance: Where they come from.
        is_sealed: Nothing beside the folder can be written to: devices may be named.
    """
    name = chance.choice(list(ALL))
    command = ALL[name]
    paths = (*PATHS, *DEVICES) if is_sealed else PATHS
    options = [one for one in command.params if isinstance(one, click.Option)]
    places = [one for one in command.params if isinstance(one, click.Argument)]
    given: list[str] = []
    for option in chance.choices(options, k=chance.randrange(1, 5) if options else 0):
        given += _option(chance, option, paths)
    needed = _NEEDS.get(name, [])
    if places and chance.random() < 0.4:
        needed = []
        for place in places:
            count = chance.randrange(1, 4) if place.nargs == -1 else 1
            needed += [_value(chance, place, paths) for _ in range(count)]
        if chance.random() < 0.5:
            needed = ["--", *needed]
    words = [*name.split(), *given, *needed]
    if chance.random() < 0.05:
        words.insert(chance.randrange(len(words) + 1), chance.choice(STRINGS))
    if chance.random() < 0.05:
        words = [*chance.choice((["-v"], ["-q"], ["--log-json"], ["-vvv"], ["-qv"])), *words]
    return words


def serving_line(chance: Random) -> list[str]:
    """Return the words of ``simstore serve`` with hostile values."""
    command = main.get_command(click.Context(main), "serve")
    assert command is not None
    options = [one for one in command.params if isinstance(one, click.Option)]
    given = [
        word
        for option in chance.choices(options, k=chance.randrange(1, 4))
        if option.name not in ("db", "port", "query_processes", "quiet")
        for word in _option(chance, option, PATHS)
    ]
    return [
        "serve",
        *given,
        f"--port={chance.choice(('0', '0', '0', '-1', '65536', 'x', '1', '80'))}",
    ]


def _option(chance: Random, option: click.Option, paths: tuple[str, ...]) -> list[str]:
    word = chance.choice(option.opts)
    if option.is_flag or option.count:
        return [word]
    values = [_value(chance, option, paths) for _ in range(option.nargs)]
    if len(values) == 1 and word.startswith("--") and chance.random() < 0.8:
        return [f"{word}={values[0]}"]
    return [word, *values]


def _value(chance: Random, parameter: click.Parameter, paths: tuple[str, ...]) -> str:
    """Return a value, mostly of those that its parameter may trip over."""
    kind, name = parameter.type, parameter.name or ""
    if chance.random() < 0.05:
        return chance.choice((*STRINGS, *INTEGERS))
    if isinstance(kind, click.types.Choice):
        return chance.choice([str(one) for one in kind.choices])
    if isinstance(kind, click.types.IntParamType):
        return chance.choice(INTEGERS)
    if isinstance(kind, click.types.FloatParamType | click.types.Tuple):
        return chance.choice(FLOATS)
    if name in _DATED:
        return chance.choice(DATES)
    if name in _PATTERNED:
        return chance.choice((*PATTERNS, "p1", "p*"))
    if name in _PATHED or name == "db" or isinstance(kind, click.Path):
        return chance.choice(paths if chance.random() < 0.8 else STRINGS)
    if name in ("server", "token_file"):
        return chance.choice(
            ("http://127.0.0.1:1", "http://[", "ftp://x", "", "more.jsonl", "missing")
        )
    return chance.choice(STRINGS)
