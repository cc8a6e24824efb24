"""Reword the remedies in error messages for the caller: command line, Python or HTTP.

Messages are written in the words of the command line. Where they are shown to others, its commands
and options are replaced by theirs; what a message quotes of the caller's own stays as it is. Why a
record was rejected is stored and read by all, so it names fields of options; the command line
replaces these.
"""

from __future__ import annotations

import re
from typing import Literal

Caller = Literal["command line", "python", "http"]

# What a command or an option is in Python. A phrase is looked for before what it consists of.
_PYTHON = {
    "make one with `simstore init` or `simstore ingest SOURCE`, or name another with --db":
        "make one with `Store(path)` or `Store.create(path)`, or name another place",
    "name another with --db": "name another place",
    "name a store with --db": "name another place",
    "do it where the store is, with --db": "do it where the store is, with `simstore.Store`",
    "name one with --db that keeps": "ask a store that keeps",
    "name one with --db": "name one",
    "`simstore backup` copies SQLite files": "`store.maintenance.backup()` copies SQLite files",
    "--rebuild to make them anew, or --once for":
        "rebuild=True to make them anew, or `store.clusters.once()` for",
    "or --server URL for a served store": "or `simstore.Client(url)` for a served store",
    "with --passages": "after `store.passages.build()`",
    "--as csv": "format='csv'",
    "--as jsonl": "format='jsonl'",
    "--as text": "a Document",
    "--channels simhash": "channels='simhash'",
    "--db": "the place",
    "--encoding keep": "encoding='keep'",
    "--fold-han": "han='simplified'",
    "--fold-han-words": "han='simplified-words'",
    "--force": "replace=True",
    "--keep-case": "case='keep'",
    "--keep-width": "width='keep'",
    "--no-sentences": "sentences=False",
    "--no-text": "text=False",
    "--no-vocabulary": "vocabulary=False",
    "--once": "`store.clusters.once()`",
    "--of digests": "of='digests'",
    "--of keys": "of='keys'",
    "--passages": "`store.passages.build()`",
    "--rebuild": "rebuild=True",
    "--unique": "part='unique'",
    "--strip-accents": "accents='strip'",
    "`simstore backup`": "`store.maintenance.backup()`",
    "`simstore clusters`": "`store.clusters.build()`",
    "`simstore clusters --rebuild`": "`store.clusters.build(rebuild=True)`",
    "`simstore export --known-keys`": "`store.filters.known().save()`",
    "`simstore fingerprints`": "`store.fingerprints`",
    "`simstore fsck`": "`store.maintenance.fsck()`",
    "`simstore ingest SOURCE`": "`store.ingest(...)`",
    "`simstore init`": "`Store.create()`",
    "`simstore init --db NEW`": "`Store.create()`",
    "`simstore init --fingerprints-only`": "`Store.create(..., fingerprints_only=True)`",
    "`simstore list`": "`store.list()`",
    "`simstore compact`": "`store.maintenance.compact()`",
    "`simstore compact --drop-passages`": "`store.maintenance.compact(drop_passages=True)`",
    "`simstore compact --keep-columns`": "`store.maintenance.compact(columns=True)`",
    "`simstore compact --drop-columns`": "`store.maintenance.compact(columns=False)`",
    "`simstore passages build`": "`store.passages.build()`",
    "`simstore passages build --simhash`": "`store.passages.build(fingerprints=True)`",
    "`simstore query SAMPLE`": "`store.query_many(..., record=True)`",
    "`simstore reindex`": "`store.maintenance.reindex()`",
    "`simstore reindex --abort`": "`store.maintenance.abort_reindex()`",
    "`simstore reindex --channels simhash,minhash`":
        "`store.maintenance.reindex(channels=['simhash', 'minhash'])`",
    "`simstore reindex --channels simhash,minhash,characters`":
        "`store.maintenance.reindex(channels=['simhash', 'minhash', 'characters'])`",
    "`simstore reindex --resume`": "`store.maintenance.reindex(resume=True)`",
    "`simstore reindex --scheme ...`": "`store.maintenance.reindex(SchemeChoice(...))`",
    "`simstore restore`": "`simstore.restore_store()`",
    "`simstore runs`": "`store.runs.ingest()`",
    "`simstore show KEY`": "`store.get(KEY)`",
    "`simstore token list`": "`store.tokens.list()`",
    "`simstore upgrade`": "`simstore.upgrade_store()`",
    "`simstore vocabulary refresh`": "`store.vocabulary.refresh()`",
    "`simstore vocabulary refresh --anyway`": "`store.vocabulary.refresh(force=True)`",
}  # fmt: skip
# What a reason for which a record was rejected is on the command line.
_COMMAND_LINE = {"(text_field names the text)": "(--text-field names the text)"}
# What is done over HTTP; all else is done where the store is, by its commands.
_HTTP = {
    "--encoding NAME names its encoding": "the field `encoding` names its encoding",
    "--encoding keep": "`encoding` keep",
    "--encoding ": "`encoding` ",
    "`simstore list`": "`GET /v1/documents`",
    "`simstore query SAMPLE`": "`simstore query SAMPLE` where the store is",
    "do it where the store is, with --db": "do it where the store is",
}
# What is a command of the shell for programs, too.
SHELL = frozenset(("`simstore serve`", "`simstore spark dedup`", "`simstore token add`"))

# What is quoted begins behind no letter: an apostrophe does.
_QUOTED = r"(?<!\w)(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?!\w)"
_COMPACT = "`simstore compact --bands"
_OPTION = r"(?<![\w-])--[a-z][a-z-]+"
_caller: Caller = "python"


def speak_to(caller: Caller) -> Caller:
    """Word messages for a kind of caller from now on; return the kind before."""
    global _caller
    before, _caller = _caller, caller
    return before


def in_words(message: str, caller: Caller | None = None) -> str:
    """Return a message with its remedies in the words of a caller.

    >>> in_words("a.jsonl exists already; replace it with --force", "python")
    'a.jsonl exists already; replace it with replace=True'

    >>> in_words("no text; there are id, story (text_field names the text)", "command line")
    'no text; there are id, story (--text-field names the text)'

    Args:
        message: In words of the command line, or why a record was rejected.
        caller: Whose words; None: those of who uses this process.
    """
    caller = caller or _caller
    if caller == "command line":
        for ours, theirs in _COMMAND_LINE.items():
            message = message.replace(ours, theirs)
        return message
    if not ("--" in message or "`simstore" in message):
        return message
    if caller == "http":
        return _HTTP_WORDS.sub(lambda found: _HTTP.get(found[0], found[0]), message)
    return _PYTHON_WORDS.sub(_python, message)


def from_http(message: str) -> str:
    """Return a message that a server sent in the words of the command line."""
    for ours, theirs in _HTTP.items():
        message = message.replace(theirs, ours)
    return message


def _python(found: re.Match[str]) -> str:
    word = found[0]
    known = _PYTHON.get(word)
    if known is not None:
        return known
    if word.startswith(_COMPACT):
        bands = word[len(_COMPACT) : -1].strip().replace("x", ", ")
        return f"`store.maintenance.compact(({bands}))`"
    # An option that is called as its parameter.
    return f"{word[2:].replace('-', '_')}=..." if word.startswith("--") else word


def _either(phrases: dict[str, str]) -> str:
    return "|".join(map(re.escape, sorted(phrases, key=len, reverse=True)))


_PYTHON_WORDS = re.compile(f"{_either(_PYTHON)}|{_COMPACT}[^`]*`|{_QUOTED}|{_OPTION}")
_HTTP_WORDS = re.compile(f"{_either(_HTTP)}|{_QUOTED}")
