"""Write docs/reference/errors.md from the classes of errors: ``python docs/make_errors.py``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = REPOSITORY / "docs" / "reference" / "errors.md"

sys.path.insert(0, str(REPOSITORY))

from simstore import errors  # noqa: E402
from simstore.errors import SimstoreError  # noqa: E402

INTRODUCTION = """\
# Errors

Every error of simstore says what is wrong, where, and what to do about it. It has one name
everywhere: in Python the class of the exception (`simstore.errors`), over HTTP the end of the
problem's `type` (`urn:simstore:NAME`). On the command line `-v` shows the link to its place on this
page, which `--log-json` has as `page`; in Python it is `error.page`. A command that fails ends with
the exit code of its error:

| exit code | what it means | what helps |
|---:|---|---|
"""

# Of an exit code: what it means, and what helps.
CODES = {
    1: ("unexpected", "report it with its message and the command"),
    2: ("the command or the request is wrong", "`simstore help COMMAND` shows how it is used"),
    3: ("what was named is not there", "the message says which command lists what there is"),
    4: (
        "it contradicts what is there",
        "decide: another name, `--force`, or first what the message names",
    ),
    5: (
        "input could not be read",
        "the rest was stored; `simstore rejects` says what was not, and why",
    ),
    6: (
        "the store or the server cannot do it",
        "look at the disk, the file or the server; what was committed is kept",
    ),
}


def reference() -> str:
    """Return the page."""
    rows = [f"| {code} | {what} | {helps} |" for code, (what, helps) in CODES.items()]
    parts = [INTRODUCTION + "\n".join(rows) + "\n"]
    for kind in kinds():
        text = inspect.getdoc(kind) or ""
        first = " ".join(text.partition("\n\n")[0].split()).replace("``", "`")
        codes = f"Exit code {kind.exit_code}, HTTP {kind.http_status}."
        parts.append(f"## {kind.__name__}\n\n{first}\n\n{codes}\n")
    return "\n".join(parts)


def kinds() -> Iterator[type[SimstoreError]]:
    """Yield the public classes of errors, by exit code and name."""
    found = {
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, SimstoreError)
    }
    yield from sorted(found, key=lambda one: (one.exit_code, one.__name__))


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    print(f"wrote {TARGET}")
