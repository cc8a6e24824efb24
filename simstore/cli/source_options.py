"""Options that say how to read sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from simstore.cli.messages import log
from simstore.errors import printable

if TYPE_CHECKING:
    from simstore.client import Client
    from simstore.model import Decoding, Ignored
    from simstore.sources.reader import ReadOptions
    from simstore.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])
PASSED_OVER = "%s: passed over, %s"
DECODED = "%s: %s"
_SHOWN = 10


def tell_passed_over(part: Ignored) -> None:
    """Tell of a part of a source that is no document; of a source without any, as a warning."""
    tell = log.warning if part.is_source else log.info
    tell(PASSED_OVER, printable(part.source), with_remedy(part.reason))


def with_remedy(reason: str) -> str:
    """Return why something was passed over, with the option that helps, if one does."""
    from simstore.sources.registry import TYPE_UNKNOWN

    return f"{reason} (--as says how to read it)" if reason == TYPE_UNKNOWN else reason


def tell_decodings(texts: Iterable[tuple[str, Decoding | None]]) -> None:
    """Warn of texts that were decoded as something uncertain, or not wholly; the first by name.

    Args:
        texts: Keys, and how the texts were decoded.
    """
    doubtful = [(key, decoding) for key, decoding in texts if decoding is not None]
    for number, (key, decoding) in enumerate(doubtful):
        tell = log.warning if number < _SHOWN else log.debug
        tell(DECODED, printable(key), decoding)
    if len(doubtful) > _SHOWN:
        log.warning("... and %d more were decoded so; -v names them", len(doubtful) - _SHOWN)


encoding_option = click.option(
    "--encoding",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="Of texts and web pages: auto (what is not UTF-8 and declares no encoding is read in the "
    "one that is detected, which is told, or rejected; a store of the scheme simtool keeps bytes), "
    "keep (bytes of texts that are not UTF-8 stay as they are), or what all are in: gb18030, big5, "
    "shift_jis, koi8-r.",
)


def reading_options(command: Command) -> Command:
    """Add the options that say how to read sources."""
    for option in reversed(
        (
            click.option(
                "--as",
                "as_format",
                metavar="FORMAT",
                default="auto",
                show_default=True,
                help="How to read the sources: auto (by content, then by name), articles, text, "
                "lines, markdown, jsonl, csv, parquet, arrow, html, warc, docx, pdf, or a reader "
                "that is installed beside them.",
            ),
            click.option(
                "--per-line", is_flag=True, help="A document a line of plain text; as --as lines."
            ),
            click.option(
                "--key-field",
                metavar="NAME",
                help="The field that holds the key; a dotted path leads into objects.  "
                "[default: key, id, url or doc_id]",
            ),
            click.option(
                "--text-field",
                metavar="NAME",
                help="The field that holds the text.  [default: text, content or body]",
            ),
            click.option(
                "--extract",
                type=click.Choice(["main", "all"]),
                default="main",
                show_default=True,
                help="Of web pages, the main text, without navigation, footers and the like; or "
                "all that is visible.",
            ),
            encoding_option,
            click.option(
                "--max-document-bytes",
                type=click.IntRange(min=1),
                default=8 << 20,
                show_default=True,
                metavar="BYTES",
                help="Reject longer documents.",
            ),
            click.option(
                "--max-expansion",
                type=click.IntRange(min=1),
                default=200,
                show_default=True,
                metavar="N",
                help="Stop reading what expands to more than N times its size, and to more than "
                "100 MB.",
            ),
        )
    ):
        command = option(command)
    return command


def take_read_options(given: dict[str, Any]) -> ReadOptions:
    """Take the options above out of those that were given, and return what they say.

    Raises:
        UsageError: Two of them contradict each other.
    """
    from simstore.sources.encodings import checked_encoding
    from simstore.sources.reader import HistoryFields, ReadOptions

    for name in ("key", "text", "seen", "published", "links"):
        if given.get(f"{name}_field") == "":
            raise click.UsageError(f"--{name}-field: name a field")
    as_format, per_line = given.pop("as_format"), given.pop("per_line")
    if per_line and as_format not in ("auto", "lines"):
        raise click.UsageError(f"--per-line reads plain text: it goes without --as {as_format}")
    history = (given.pop(f"{name}_field", None) for name in ("seen", "published", "links"))
    return ReadOptions(
        "lines" if per_line else as_format,
        max_document_bytes=given.pop("max_document_bytes"),
        key_field=given.pop("key_field"),
        text_field=given.pop("text_field"),
        history_fields=HistoryFields(*history),
        max_expansion=given.pop("max_expansion"),
        extract=given.pop("extract"),
        encoding=checked_encoding(given.pop("encoding")),
    )


def encoding_for(store: Store | Client, encoding: str) -> str:
    """Return in which encoding one text is to be read that is compared with those of a store.

    Args:
        store: The store, whose scheme may see bytes.
        encoding: As :func:`~simstore.sources.encodings.checked_encoding` returns it.
    """
    from simstore.sources.reader import sees_bytes

    keeps = encoding == "auto" and sees_bytes(str(store.scheme().get("scheme", "")))
    return "keep" if keeps else encoding


def history_options(command: Command) -> Command:
    """Add the options that name the fields of times and links."""
    for option in reversed(
        (
            click.option(
                "--seen-field",
                metavar="NAME",
                help="JSON Lines: the field that says when the document was seen (ISO 8601, or "
                "seconds since 1970), as the date of a crawl.  [default: the time of ingest]",
            ),
            click.option(
                "--published-field",
                metavar="NAME",
                help="JSON Lines: the field that says when the document was published.",
            ),
            click.option(
                "--links-field",
                metavar="NAME",
                help="JSON Lines: the field of the keys that the document links to.",
            ),
        )
    ):
        command = option(command)
    return command
