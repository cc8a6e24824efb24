"""The commands ``simstore list``, ``show`` and ``remove``, for stored documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.key_options import all_keys, keys_option, warn_of_changes
from simstore.cli.messages import log
from simstore.cli.options import (
    common_options,
    document_filters,
    filters_of,
    format_option,
    open_store,
    tell_empty_choice,
)
from simstore.cli.output import progress, time_text
from simstore.cli.parameters import command, count, flag, option
from simstore.cli.remote import refuse_served, server_url
from simstore.cli.results import (
    limited,
    print_facts,
    print_items,
    print_record,
    print_summary,
    write_blocks,
)
from simstore.cli.source_options import tell_folded, tell_reading
from simstore.errors import InvalidParameter, NotFound, printable
from simstore.reports.lines import to_json
from simstore.text.decoding import encode

if TYPE_CHECKING:
    from simstore.model import StoredDocument, Story
    from simstore.store import Store

# Among so many runs the last ingest is looked for.
_LATEST_RUNS = 100
_MOST_DIGITS = 18
_COLUMNS = ("key", "fingerprint", "bytes", "tokens", "first seen", "duplicate of")


@command("list")
@count("--limit", "Only the first N.")
@option(
    "--run",
    "Only what this run of ingest added or updated: its number, as `runs` tells it, or last.",
    metavar="RUN|last",
)
@document_filters()
@format_option("keys")
@common_options
def list_documents(limit: int | None, run: str | None, output_format: str, **wanted: Any) -> None:
    """List the stored documents in order of ingest.

    Examples:
      simstore list --limit 20
      simstore list --format keys | wc -l
      simstore list --collection news --format csv > news.csv
      simstore list --run last          what the last ingest added or updated
    """
    with open_store(read_only=True, served=True) as store:
        one_more = None if limit is None else limit + 1
        run_id = None if run is None else _run_id(store, run)
        filters = filters_of(wanted)
        found = store.list(limit=one_more, with_text=False, run_id=run_id, **filters)
        is_empty = not found
        print_items(
            limited(found, limit, "document"),
            output_format,
            columns=_COLUMNS,
            row=_row,
            record=_record,
        )
        if run_id is not None and is_empty:
            what = "no document of this choice that" if filters else "nothing that"
            log.info("%s is stored now was added or updated by run %d", what, run_id)
        elif is_empty:
            tell_empty_choice(store, filters)


def _run_id(store: Store, run: str) -> int:
    """Return the number of a run of ingest.

    Raises:
        InvalidParameter: It is no number.
        NotFound: There was no such run.
    """
    if run == "last":
        for one in store.runs.ingest(_LATEST_RUNS):
            if one.kind == "ingest":
                return one.run_id
        raise NotFound("none of the latest runs is an ingest; `simstore runs` lists them")
    if not (run.isascii() and run.isdecimal() and len(run) <= _MOST_DIGITS):
        raise InvalidParameter(f"--run {printable(run)!r}: a number, as `runs` tells it, or last")
    # Runs are numbered as they come, and none is forgotten.
    newest = next((one.run_id for one in store.runs.ingest(1)), 0)
    if not 1 <= int(run) <= newest:
        raise NotFound(f"run {int(run)} is not recorded; `simstore runs` lists the latest")
    return int(run)


def _row(document: StoredDocument) -> tuple[Any, ...]:
    return (
        printable(document.key),
        document.fingerprint,
        document.byte_count,
        document.token_count,
        time_text(document.first_seen),
        None if document.duplicate_of is None else printable(document.duplicate_of),
    )


@command()
@click.argument("key")
@flag("--text with_text", "Print the kept text; how it was read is told on standard error.")
@option(
    "--original",
    "Which of those that are alike is the original: first-seen, linked or prefer:REGEX.",
    default="first-seen",
    metavar="RULE",
)
@format_option()
@common_options
def show(key: str, with_text: bool, original: str, output_format: str) -> None:
    """Show what the store knows of a document: its facts, and its story where it has one.

    The story: when it was seen and who says so, earlier versions, what is like it, links between
    them, how often its site is visited, and which of them is the original, and why.

    Examples:
      simstore show https://example.org/a
      simstore show page-17 --text  the kept text
      simstore show page-17 --original prefer:example  who is the original?

    Which is the original: first-seen: the one that was surely there first; within the interval at
    which a site is visited, dates do not decide, and the one that others link to is it. linked: the
    one that most of the others link to. prefer:REGEX: one with such a key.
    """
    from simstore.errors import DocumentNotFound

    document: StoredDocument | None = None
    with open_store(read_only=True, served=True) as store:
        try:
            document = store.get(key)
        except DocumentNotFound:
            # A key that was skipped has a story too.
            if with_text or store.seen(key) is None:
                raise
        story = None if with_text else store.duplicates.story(key, original=original)
    if document is not None and story is None:
        if document.text is None:
            raise click.ClickException("this store keeps no texts (it was made with --no-text)")
        tell_reading(document.key, document.metadata)
        if document.flags:
            from simstore.text.folded_places import folded_places

            log.warning("this text hides words: %s", ", ".join(document.flags))
            tell_folded(folded_places(document.text))
        write_blocks([encode(document.text)])
    elif story is not None:
        _show(document, story, output_format)


def _show(document: StoredDocument | None, story: Story, output_format: str) -> None:
    from simstore.reports.story import story_facts, story_record

    record = {} if document is None else _record(document)
    if output_format != "table":
        print_record(record | {"story": story_record(story)}, output_format)
        return
    facts: list[tuple[str, Any]] = []
    if document is not None:
        record["first_seen"] = time_text(document.first_seen)
        record["last_seen"] = time_text(document.last_seen)
        record["metadata"] = to_json(record["metadata"])
        if "flags" in record:
            record["flags"] = ", ".join(record["flags"])
        facts += [(name.replace("_", " "), value) for name, value in record.items()]
    print_facts([*facts, *story_facts(story)])


def _record(document: Any) -> dict[str, Any]:
    record = asdict(document)
    record.pop("text")
    flags = record.pop("flags")
    if flags:
        record["flags"] = flags
    for name in ("key", "source", "duplicate_of"):
        if record[name] is not None:
            record[name] = printable(record[name])
    return record


@command()
@click.argument("keys", nargs=-1, metavar="[KEY...]")
@keys_option
@flag("--ignore-missing", "Pass over keys that are not there.")
@flag("--no-refresh", "Leave a live store stale; refresh it later.")
@format_option()
@common_options
def remove(
    keys: tuple[str, ...],
    keys_from: str | None,
    ignore_missing: bool,
    no_refresh: bool,
    output_format: str,
) -> None:
    """Remove documents: all that are named, or none where one is not there.

    Keys that were skipped as duplicates are forgotten.

    Examples:
      simstore remove page-17 page-18
      simstore remove --keys-from gone.txt
      simstore list --format keys | grep /print/ | simstore remove --keys-from -

    Many are removed in batches; after an interruption the same command with --ignore-missing goes
    on.
    """
    wanted = all_keys(keys, keys_from)
    orphans: list[str] = []
    unflagged: list[str] = []
    refuse_served(["no_refresh"])
    with (
        open_store(served=True) as store,
        progress("remove", at_once=False) as show_progress,
        progress("refresh", at_once=False) as show_refresh,
    ):
        refreshing: dict[str, Any] = {"refresh": not no_refresh, "on_refresh": show_refresh}
        count = store.remove(
            *wanted,
            missing_ok=ignore_missing,
            **({} if server_url() else refreshing),
            on_progress=show_progress,
            on_orphan=orphans.append,
            on_unflagged=unflagged.append,
        )
    record = {"removed": count, "orphaned": len(orphans), "unflagged": len(unflagged)}
    print_summary(record, f"{count:,} removed", output_format)
    warn_of_changes(orphaned=len(orphans), unflagged=len(unflagged))
