"""Suggestions for unknown commands: synonyms used by other programs, and similar spellings."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence

_WORDS = {
    "ingest": "add insert index load put push read store upload learn remember",
    "query": "search find lookup look match similar near nearest ask",
    "check": "plagiarism paper papers scan",
    "compare": "diff similarity cmp",
    "filter": "gate sieve screen against",
    "decontaminate": "decontamination contamination benchmarks leakage leak",
    "dedup": "deduplicate dedupe unique uniq distinct",
    "clusters": "cluster group groups",
    "export": "dump download save write",
    "duplicates": "dups dupes dup duplicate flagged skipped orphans",
    "seen": "exists known has contains",
    "list": "ls keys all documents docs",
    "show": "get cat info document view print story",
    "stats": "stat info status count size summary",
    "runs": "log history ingests jobs",
    "rejects": "rejected errors failed failures",
    "init": "create new make setup",
    "remove": "delete rm del drop erase forget purge",
    "expire": "prune clean cleanup gc ttl",
    "backup": "save snapshot archive",
    "restore": "recover undo rollback",
    "copy": "cp clone move migrate transfer",
    "compact": "vacuum shrink optimize optimise",
    "reindex": "rebuild recompute",
    "upgrade": "migrate update",
    "fsck": "verify validate doctor repair integrity",
    "serve": "server http web run start ui daemon",
    "token": "tokens auth login user users",
    "evaluate": "eval score precision recall benchmark",
    "vocabulary": "terms words vocab",
    "completion": "completions complete autocomplete",
    # Within groups of commands.
    "build": "create make init",
    "drop": "delete remove rm",
    "status": "show info stats",
    "near": "find query search",
    "add": "create new ingest insert",
    "revoke": "remove delete rm",
    "clear": "remove delete rm forget",
}


def did_you_mean(word: str, commands: Sequence[str]) -> str:
    """Return a hint at the commands that a word may mean.

    >>> did_you_mean("search", ["ingest", "query"])
    'did you mean `query`?'
    >>> did_you_mean("qurey", ["ingest", "query"])
    'did you mean `query`?'
    >>> did_you_mean("xyz", ["build", "drop"])
    'there are `build` and `drop`'
    """
    meant = [name for name in commands if word.lower() in _WORDS.get(name, "").split()]
    meant = meant or difflib.get_close_matches(word.lower(), commands, n=2, cutoff=0.7)
    if meant:
        return f"did you mean {' or '.join(f'`{name}`' for name in meant)}?"
    if "ingest" in commands:
        if os.path.lexists(word):
            return "it is a file: `ingest` stores its documents, `query` looks for what is near"
        return "`simstore help` lists them"
    *others, last = [f"`{name}`" for name in commands]
    return f"there are {', '.join(others)} and {last}" if others else f"there is {last}"
