"""Look up keys in a known-keys filter (a file), for ``simstore seen --known-keys``."""

from __future__ import annotations

from collections.abc import Sequence

from simstore.cli.key_options import NOT_ALL_SEEN
from simstore.cli.results import print_items, print_summary, write_blocks
from simstore.errors import printable
from simstore.known_filter import KnownFilter
from simstore.reports.lines import key_bytes, key_text
from simstore.text.decoding import encode


def print_known(
    path: str, keys: Sequence[str], content: str | bytes | None, output_format: str
) -> None:
    """Print which keys, or whether a text, a filter knows; exit with 3 where it knows not all.

    Args:
        path: The filter.
        keys: The keys; none where ``content`` is given.
        content: A text, or the digest of one.
        output_format: One of :data:`~simstore.cli.options.FORMATS`, or ``keys``.
    """
    known = KnownFilter.load(path)
    if content is not None:
        is_known = (
            known.knows_text(content) if isinstance(content, str) else known.knows_digest(content)
        )
        if output_format != "keys":
            print_summary({"known": is_known}, _word(is_known), output_format)
        answers = [is_known]
    else:
        answers = known.knows_keys(keys).tolist()
        _print(list(zip(keys, answers, strict=True)), output_format)
    if not all(answers):
        raise SystemExit(NOT_ALL_SEEN)


def _print(rows: Sequence[tuple[str, bool]], output_format: str) -> None:
    if output_format == "keys":
        write_blocks(encode(key) + b"\n" for key, found in rows if found)
        return
    print_items(
        rows,
        output_format,
        columns=("key", "state"),
        row=lambda one: (printable(one[0]), _word(one[1])),
        record=lambda one: {
            "key": key_text(one[0]),
            **key_bytes("key", one[0]),
            "known": one[1],
        },
    )


def _word(is_known: bool) -> str:
    return "known" if is_known else "unknown"
