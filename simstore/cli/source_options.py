"""Options for reading sources: format, fields, encoding and limits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.messages import log
from simstore.cli.parameters import choice, count, option, section
from simstore.errors import NotFound, SourceNotFound, counted, printable
from simstore.errors.remedies import in_words

if TYPE_CHECKING:
    from simstore.client import Client
    from simstore.model import Decoding, FoldedPlace, Ignored, Rejection
    from simstore.sources.reader import ReadOptions
    from simstore.store import Store

PASSED_OVER = "%s: passed over, %s"
DECODED = "%s: %s"
_SHOWN = 10
# Of a record; the limit of metadata is none that an option raises.
_OVER_LIMIT = re.compile(r"(?!the metadata ).* bytes, more than the limit of [\d,]+")
# Of the places where words are hidden, and of their characters.
_MOST_PLACES, _LONGEST_PLACE = 5, 60
# Names of files are seldom in other scripts; what stands there is rather a text.
_LAST_LATIN = 0x24F


@contextmanager
def hint_at_text(names: Sequence[str]) -> Iterator[None]:
    """Suggest ``query --text`` where a source that does not exist looks like a text."""
    try:
        yield
    except SourceNotFound as error:
        if any(one == error.name and _looks_like_text(one) for one in names):
            remedy = "to look for a text itself: simstore query --text 'TEXT'"
            raise NotFound(f"{error}; {remedy}") from None
        raise


def _looks_like_text(name: str) -> bool:
    return " " in name.strip() or "\n" in name or any(ord(letter) > _LAST_LATIN for letter in name)


def tell_folded(places: Sequence[FoldedPlace]) -> None:
    """Tell on standard error the first places of a text that are compared otherwise."""
    for place in places[:_MOST_PLACES]:
        log.warning(
            "  characters %s to %s: %s is compared as %s",
            f"{place.start:,}",
            f"{place.end:,}",
            ascii(place.given[:_LONGEST_PLACE]),
            printable(place.compared[:_LONGEST_PLACE]),
        )
    if len(places) > _MOST_PLACES:
        log.warning("  and elsewhere")


def tell_reading(key: str, metadata: Mapping[str, Any]) -> None:
    """Tell how a text was read, where that was not simply as UTF-8."""
    from simstore.model.documents import reading_of

    if told := reading_of(metadata):
        log.warning(DECODED, printable(key), told)


def log_ignored(part: Ignored) -> None:
    """Tell of a part of a source that is no document; of a source without any, as a warning."""
    tell = log.warning if part.is_source else log.info
    tell(PASSED_OVER, printable(part.source), with_remedy(part.reason))


def tell_passed_over(sources: Sequence[str], read: ReadOptions) -> int:
    """Tell which files of folders and patterns are not read, and why; return how many there are.

    Of many the first ten, and with ``-v`` all.

    Raises:
        SourceNotFound: A name means nothing.
    """
    from simstore.sources.files import FileSource, open_sources
    from simstore.sources.registry import TYPE_UNKNOWN
    from simstore.sources.streams import is_special

    opened, names = open_sources(sources, read)
    for one in opened:
        if isinstance(one, FileSource) and one.is_one_page_by_name():
            log.info(
                "%s: an article file by its name, so its first line is the key and no text; "
                "--as text reads it as one text",
                printable(one.name),
            )
    for name in sources:
        if os.path.isdir(name) and not open_sources([name], read)[0]:
            others = "no file in it that is read" if names else "no file in it"
            log.warning("%s: %s (hidden files are left out)", printable(name), others)
    for number, name in enumerate(names):
        reason = with_remedy(TYPE_UNKNOWN)
        if os.path.isdir(name):
            reason = "it is a link to a folder; name it itself to read it"
        elif is_special(name):
            reason = "it is a pipe, a device or a socket; name it itself to read a pipe"
        elif name.lower().endswith(".doc"):
            reason = "an older Word document: save it as .docx"
        tell = log.info if number < _SHOWN else log.debug
        tell(PASSED_OVER, printable(name), reason)
    if len(names) > _SHOWN:
        log.info("... and %s passed over; -v names them", counted(len(names) - _SHOWN, "more file"))
    return len(names)


def with_remedy(reason: str) -> str:
    """Return why something was passed over or rejected, with the option that helps, if one does."""
    from simstore.sources.registry import TYPE_UNKNOWN

    if reason == TYPE_UNKNOWN:
        return f"{reason} (--as says how to read it)"
    if _OVER_LIMIT.fullmatch(reason):
        return f"{reason} (--max-document-bytes raises it)"
    return in_words(reason)


def warn_of_decodings(texts: Iterable[tuple[str, Decoding | None]]) -> None:
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


def report_rejections(rejections: Sequence[Rejection]) -> None:
    """Warn of records that could not be read, and exit with 5 where there are any."""
    for rejection in rejections:
        log.warning(
            "rejected: %s, record %d: %s",
            printable(rejection.source),
            rejection.position,
            with_remedy(rejection.reason),
        )
    if rejections:
        raise SystemExit(5)


encoding_option = option(
    "--encoding",
    "Of texts and web pages: auto (what is not UTF-8 and declares no encoding is read in the "
    "one that is detected, which is told, or rejected; a store of the scheme simtool keeps bytes), "
    "keep (bytes of texts that are not UTF-8 stay as they are), or what all are in: gb18030, big5, "
    "shift_jis, koi8-r.",
    metavar="NAME",
    default="auto",
)


# The options that say how to read sources.
reading_options = section(
    "Reading",
    option(
        "--as as_format",
        "How to read the sources: auto (by content, then by name), articles, text, "
        "lines (a document a line), markdown, jsonl, json, csv, parquet, arrow, html, warc, docx, "
        "pdf, or a reader that is installed beside them.",
        metavar="FORMAT",
        default="auto",
    ),
    option(
        "--key-field",
        "The field that holds the key; a dotted path leads into objects.  "
        "[default: key, id, url or doc_id]",
        metavar="NAME",
    ),
    option(
        "--text-field",
        "The field that holds the text.  [default: text, content or body]",
        metavar="NAME",
    ),
    choice(
        "--extract",
        ("main", "all"),
        "Of web pages, the main text, without navigation, footers and the like; or "
        "all that is visible.",
        default="main",
    ),
    encoding_option,
    option(
        "--max-document-bytes",
        "Reject longer documents.",
        type=click.IntRange(min=1),
        default=8 << 20,
        metavar="BYTES",
    ),
    count(
        "--max-expansion",
        "Stop reading what expands to more than N times its size, and to more than 100 MB.",
        default=200,
    ),
)


def take_read_options(given: dict[str, Any]) -> ReadOptions:
    """Take the options above out of those that were given, and return what they say.

    Raises:
        UsageError: The name of a field is empty.
    """
    from simstore.sources.encodings import checked_encoding
    from simstore.sources.reader import HistoryFields, ReadOptions, SourceFields

    about_names = ("title", "author", "date", "url")
    for name in ("key", "text", "seen", "published", "links", *about_names):
        if given.get(f"{name}_field") == "":
            raise click.UsageError(f"--{name}-field: name a field")
    history = (given.pop(f"{name}_field", None) for name in ("seen", "published", "links"))
    about = (given.pop(f"{name}_field", None) for name in about_names)
    return ReadOptions(
        given.pop("as_format"),
        max_document_bytes=given.pop("max_document_bytes"),
        key_field=given.pop("key_field"),
        text_field=given.pop("text_field"),
        history_fields=HistoryFields(*history),
        source_fields=SourceFields(*about),
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

    keeps = encoding == "auto" and sees_bytes(store.maintenance.scheme().label)
    return "keep" if keeps else encoding


# The options that name further fields of records.
history_options = section(
    "Other fields",
    option(
        "--title-field",
        "The field that holds the title, as check shows it of a source.  [default: title]",
        metavar="NAME",
    ),
    option(
        "--author-field",
        "The field of the author.  [default: author, authors, byline or creator]",
        metavar="NAME",
    ),
    option(
        "--date-field",
        "The field of the date, as it is written.  [default: date, published, pubdate or created]",
        metavar="NAME",
    ),
    option(
        "--url-field",
        "The field of the address.  [default: url, link or canonical, or the key]",
        metavar="NAME",
    ),
    option(
        "--seen-field",
        "The field that says when the document was seen (ISO 8601, or seconds since 1970), as "
        "the date of a crawl.  [default: the time of ingest]",
        metavar="NAME",
    ),
    option(
        "--published-field",
        "The field that says when the document was published.",
        metavar="NAME",
    ),
    option(
        "--links-field",
        "The field of the keys that the document links to.",
        metavar="NAME",
    ),
)
