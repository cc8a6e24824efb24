"""The commands ``simstore expire`` and ``seen``: remove documents not seen lately, look up keys."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.key_options import (
    NOT_ALL_SEEN,
    all_keys,
    keys_option,
    warn_of_changes,
)
from simstore.cli.messages import log
from simstore.cli.options import (
    common_options,
    document_filters,
    filters_of,
    format_option,
    open_store,
    tell_empty_choice,
    yes_option,
)
from simstore.cli.output import confirm, progress, time_text
from simstore.cli.parameters import command, count, flag, option
from simstore.cli.results import print_items, print_summary, write_blocks
from simstore.cli.source_options import (
    encoding_for,
    reading_options,
    take_read_options,
    warn_of_decodings,
)
from simstore.errors import InvalidParameter, UnreadableSource, counted, printable
from simstore.model.times import moment_given
from simstore.reports.lines import key_bytes, key_text
from simstore.text.decoding import encode
from simstore.wire import to_wire_fields

if TYPE_CHECKING:
    from simstore.model import Seen
    from simstore.sources.reader import ReadOptions

_DIGEST_DIGITS = 32


@command()
@option(
    "--not-seen-since",
    "Remove what was last seen before a date (ISO 8601, UTC), or so long ago: 30d, 2 weeks, 12h.",
    metavar="DATE|AGE",
    required=True,
)
@document_filters()
@flag("--dry-run", "Count, and remove nothing.")
@yes_option
@count("--batch batch_documents", "Documents a transaction.  [default: 8,000]")
@flag("--no-refresh", "Leave a live store stale; refresh it later.")
@format_option()
@common_options
def expire(
    not_seen_since: str,
    dry_run: bool,
    yes: bool,
    batch_documents: int | None,
    no_refresh: bool,
    output_format: str,
    **given: Any,
) -> None:
    """Remove documents, and skipped duplicates, that were not seen since a time.

    Examples:
      simstore expire --not-seen-since 90d --dry-run  how much would go?
      simstore expire --not-seen-since 90d  what was not seen for 90 days goes
      simstore expire --not-seen-since 2026-05-01 --collection news

    Documents leave in batches, each a transaction; after an interruption the same command goes on.
    `simstore compact` then gives the room back. Where more than half of the documents would go, it
    asks first; without a terminal it wants --yes.
    """
    since = moment_given("--not-seen-since", not_seen_since)
    wanted = filters_of(given)
    with open_store(read_only=dry_run) as store:
        if not (dry_run or yes):
            going = store.expire(not_seen_since=since, dry_run=True, **wanted).removed
            if 2 * going > len(store):
                confirm(f"{going:,} of {counted(len(store), 'document')} would be removed", yes=yes)
        with (
            progress("expire", at_once=False) as show_progress,
            progress("refresh", at_once=False) as show_refresh,
        ):
            found = store.expire(
                not_seen_since=since,
                dry_run=dry_run,
                refresh=not no_refresh,
                batch_documents=batch_documents,
                on_progress=show_progress,
                on_refresh=show_refresh,
                **wanted,
            )
        if not (found.removed or found.forgotten):
            tell_empty_choice(store, wanted)
    would = "would be " if dry_run else ""
    forgotten = ""
    if found.forgotten:
        forgotten = f", {counted(found.forgotten, 'skipped duplicate')} {would}forgotten"
    print_summary(
        {
            "removed": found.removed,
            "forgotten": found.forgotten,
            "orphaned": len(found.orphans),
            "unflagged": found.unflagged,
            "not_seen_since": found.since,
            "dry_run": dry_run,
        },
        f"{found.removed:,} {would}removed{forgotten}; last seen before {time_text(found.since)}",
        output_format,
    )
    warn_of_changes(orphaned=len(found.orphans), unflagged=found.unflagged)


@command()
@click.argument("keys", nargs=-1, metavar="[KEY...]")
@keys_option
@option("--text text_given", "Look for this very text.", metavar="TEXT")
@option(
    "--file text_file",
    "Look for the very text of a file, or of standard input (-), read as `ingest` reads it.",
    metavar="FILE",
)
@option("--digest", "Look for a text by its BLAKE2b-128 digest.", metavar="HEX")
@option(
    "--known-keys filter_file",
    "Ask the known-keys filter that `simstore export --known-keys` wrote, not the store: "
    "known, or unknown.",
    metavar="FILE",
)
@format_option("keys")
@reading_options
@common_options
def seen(
    keys: tuple[str, ...],
    keys_from: str | None,
    text_given: str | None,
    text_file: str | None,
    digest: str | None,
    filter_file: str | None,
    output_format: str,
    **given: Any,
) -> None:
    """Say whether keys, or a text, were seen: stored, flagged, skipped, orphaned, or unknown.

    Examples:
      simstore seen https://example.org/a https://example.org/b
      simstore seen --keys-from frontier.txt --format jsonl
      simstore seen --file page.html  under which key was this text seen?
      simstore seen --text 'Boil the bones.'
      simstore seen --known-keys known.filter --keys-from frontier.txt

    Exit code 0: all were seen; 7: some were not, and the answer says which. Any other code is an
    error, and nothing was answered: 3, as for `query`, there is no store or file of this name.
    """
    contents = [one for one in (text_given, text_file, digest) if one is not None]
    by_content = bool(contents)
    if by_content and (keys or keys_from is not None or len(contents) > 1):
        raise click.UsageError("look for keys, or for one --text, --file or --digest")
    if text_given is not None and os.path.isfile(text_given):
        log.warning(
            "--text takes a text; for what is in the file: --file %s", printable(text_given)
        )
    if keys == ("-",):
        keys, keys_from = (), "-"
    wanted = [] if by_content else all_keys(keys, keys_from)
    content: str | bytes = b"" if digest is None else _digest(digest)
    read = take_read_options(given)
    if filter_file is not None:
        if text_given is not None:
            content = text_given
        elif text_file is not None:
            texts = _texts(text_file, read)
            if len(texts) != 1:
                raise InvalidParameter(
                    f"--file {printable(text_file)!r} holds {counted(len(texts), 'document')}: "
                    "with --known-keys, name a file with one"
                )
            content = texts[0][1]
        _print_known(filter_file, wanted, content if by_content else None, output_format)
        return
    with open_store(read_only=True, served=True) as store:
        rows: list[tuple[str, Seen | None]]
        if text_file is not None:
            encoding = encoding_for(store, read.encoding)
            texts = _texts(text_file, replace(read, encoding=encoding))
            rows = []
            for key, text in texts:
                found = store.seen(text=text)
                # Of one text nothing is listed where it is not known.
                unknown = [(key, None)] if len(texts) > 1 else []
                rows += [(one.key, one) for one in found] or unknown
        elif text_given is not None:
            rows = [(one.key, one) for one in store.seen(text=text_given)]
        elif digest is not None:
            rows = [(one.key, one) for one in store.seen(digest=content)]
        else:
            rows = list(zip(wanted, store.seen(wanted), strict=True))
    if by_content and not rows and output_format == "table":
        click.echo("not seen", file=sys.stdout)
    else:
        _print(rows, output_format)
    if not rows or any(found is None for _, found in rows):
        raise SystemExit(NOT_ALL_SEEN if by_content or wanted else 0)


def _print_known(
    path: str, keys: list[str], content: str | bytes | None, output_format: str
) -> None:
    """Print which keys, or whether a text, a filter knows; exit with 3 where it knows not all.

    Args:
        path: The filter.
        keys: The keys; none where ``content`` is given.
        content: A text, or the digest of one.
        output_format: One of :data:`~simstore.cli.options.FORMATS`, or ``keys``.
    """
    from simstore.known_filter import KnownFilter

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
        _print_keys(list(zip(keys, answers, strict=True)), output_format)
    if not all(answers):
        raise SystemExit(NOT_ALL_SEEN)


def _print_keys(rows: list[tuple[str, bool]], output_format: str) -> None:
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


def _digest(given: str) -> bytes:
    """Return the digest that hexadecimal digits say.

    Raises:
        InvalidParameter: They say none.
    """
    try:
        found = bytes.fromhex(given)
    except ValueError:
        found = b""
    if len(found) * 2 != _DIGEST_DIGITS:
        raise InvalidParameter(
            f"--digest {printable(given)!r}: write {_DIGEST_DIGITS} hexadecimal digits"
        )
    return found


def _texts(name: str, read: ReadOptions) -> list[tuple[str, str]]:
    """Return the keys and texts of the documents of a file, as ingest reads it.

    Raises:
        InvalidParameter: It is a folder, or several files.
        UnreadableSource: A record of it cannot be read, or there is none.
    """
    from simstore.model import Document, Rejection
    from simstore.sources.files import open_sources

    if os.path.isdir(name):
        raise InvalidParameter(f"--file {printable(name)!r} is a folder: name one file")
    sources, _ = open_sources([name], read)
    if len(sources) != 1:
        raise InvalidParameter(f"--file {printable(name)!r}: name one file")
    documents: list[Document] = []
    reason = ""
    for record in sources[0].records():
        if isinstance(record, Document):
            documents.append(record)
        elif isinstance(record, Rejection):
            raise UnreadableSource(printable(name), record.reason)
        else:
            reason = record.reason
    if not documents:
        raise UnreadableSource(printable(name), reason or "no document in it")
    warn_of_decodings((one.key, one.decoding) for one in documents)
    return [(one.key, one.text) for one in documents]


def _print(rows: list[tuple[str, Seen | None]], output_format: str) -> None:
    if output_format == "keys":
        write_blocks(encode(key) + b"\n" for key, found in rows if found is not None)
        return
    print_items(
        rows,
        output_format,
        columns=("key", "state", "original", "first seen", "last seen"),
        row=lambda one: _cells(*one),
        record=lambda one: _record(*one),
    )


def _cells(key: str, found: Seen | None) -> tuple[str | None, ...]:
    if found is None:
        return printable(key), "unknown", None, None, None
    original = None if found.original is None else printable(found.original)
    first, last = time_text(found.first_seen), time_text(found.last_seen)
    return printable(key), found.state, original, first, last


def _record(key: str, found: Seen | None) -> dict[str, Any]:
    unknown = {"key": key, "state": "unknown"}
    return to_wire_fields((unknown if found is None else asdict(found)).items())
