"""Shell completion of file names, and of keys and other names in the store."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from simstore.cli.messages import DEFAULT_STORE, SERVER, STORE
from simstore.errors import SimstoreError
from simstore.model.documents import FILTERS

if TYPE_CHECKING:
    from simstore.store import Store

_MOST = 200
# A shell takes all else as something of its own.
_SPECIAL = re.compile(r"([^\w./:@%+=,-])")

Item = CompletionItem


def suggestions(kind: str, ctx: click.Context, beginning: str) -> list[Item]:
    """Return the completions of a word that has begun.

    Args:
        kind: ``file``, ``folder``; ``key``, ``collection``, ``run``, ``reject`` or ``token`` of the
            store; ``text``: a key or a file.
        ctx: The command line before it.
        beginning: What stands there already.

    Returns:
        Nothing where there is no store, or one that cannot be read: a shell shows no errors.
    """
    if kind in ("file", "folder"):
        return [Item(beginning, type="dir" if kind == "folder" else "file")]
    try:
        found = list(_of_store("key" if kind == "text" else kind, ctx, beginning))
    except (SimstoreError, OSError):
        found = []
    return found or ([Item(beginning, type="file")] if kind == "text" else [])


def _of_store(kind: str, ctx: click.Context, beginning: str) -> Iterator[Item]:
    from simstore.store import Store

    if ctx.meta.get(SERVER) is not None:
        return
    with Store.open(ctx.meta.get(STORE, DEFAULT_STORE), read_only=True) as store:
        for word, told in _ITEMS[kind](store, beginning):
            # A terminal gets no control characters, and a shell no line ends in a word.
            if word.startswith(beginning) and word.isprintable():
                yield Item(word, help=told)


def _keys(store: Store, beginning: str) -> Iterable[tuple[str, str | None]]:
    return ((key, None) for key in store.maintenance.completions("key", beginning, _MOST))


def _values(name: str) -> Callable[[Store, str], Iterable[tuple[str, str | None]]]:
    """Return the function that yields values of a column of documents."""

    def values(store: Store, beginning: str) -> Iterable[tuple[str, str | None]]:
        return ((one, None) for one in store.maintenance.completions(name, beginning, _MOST))

    return values


def _runs(store: Store, _beginning: str) -> Iterable[tuple[str, str | None]]:
    return ((str(run.run_id), " ".join(run.sources)) for run in store.runs.query(_MOST))


def _tokens(store: Store, _beginning: str) -> Iterable[tuple[str, str | None]]:
    return ((one.name, one.scope) for one in store.tokens.list() if one.revoked_at is None)


_ITEMS: dict[str, Callable[[Store, str], Iterable[tuple[str, str | None]]]] = {
    "key": _keys,
    **{name: _values(name) for name in FILTERS},
    "run": _runs,
    "token": _tokens,
}


class BashCompletion(BashComplete):
    """Completion in bash that handles colons (as in URLs), where bash splits words."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' type value
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" %(complete_var)s=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that has begun, and that."""
        line = os.environ.get("COMP_LINE")
        if line is None:
            return super().get_completion_args()
        from click.shell_completion import split_arg_string

        words = split_arg_string(line)
        if not words or line[-1:].isspace():
            words.append("")
        self._begun = words[-1]
        return words[1:-1], words[-1]

    def format_completion(self, item: Item) -> str:
        """Return a word as bash takes it: behind the last colon, special characters escaped."""
        value: Any = item.value
        if item.type == "plain":
            begun = getattr(self, "_begun", "")
            value = value[max(begun.rfind(":"), begun.rfind("=")) + 1 :]
            value = _SPECIAL.sub(r"\\\1", value)
        return f"{item.type},{value}"


def register() -> None:
    """Let click complete in bash by :class:`BashCompletion`."""
    add_completion_class(BashCompletion)
