"""The command ``simstore compare``: compare two texts by every similarity algorithm."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.messages import log
from simstore.cli.options import (
    common_options,
    format_option,
    open_store,
    store_is_named,
    store_place,
)
from simstore.cli.output import Update, progress
from simstore.cli.parameters import choice, command, completed, flag, option, section
from simstore.cli.results import write_blocks
from simstore.cli.scheme_options import HASHES
from simstore.cli.source_options import (
    encoding_for,
    encoding_option,
    tell_folded,
    tell_reading,
)
from simstore.cli.tables import print_table
from simstore.errors import (
    DocumentNotFound,
    InvalidParameter,
    NotFound,
    StoreNotFound,
    printable,
    shown_place,
)
from simstore.reports.lines import json_array

if TYPE_CHECKING:
    from simstore.model import Comparison, Document
    from simstore.services.compare.compared import CompareOptions
    from simstore.sources.reader import ReadOptions
    from simstore.text.normalization import Normalization

_FILE, _KEY, _STANDARD_INPUT = "file:", "key:", "-"
# The way a file is read where none is chosen: by their readers what has text among other things.
_OWN, _PAGES = "own", ("html", "docx", "pdf")


@command()
@click.argument("first", metavar="A", shell_complete=completed("file"))
@click.argument("second", metavar="B", shell_complete=completed("file"))
@section(
    "Texts",
    choice(
        "--as as_format",
        ("text", "articles", "jsonl", "auto"),
        "How to read files: text takes each as a whole; else each must hold one document.  "
        "[default: auto for web pages, Word and PDF files, else text]",
        show_default=False,
    ),
    option(
        "--max-document-bytes",
        "Refuse longer texts.",
        type=click.IntRange(min=1),
        default=8 << 20,
        metavar="BYTES",
    ),
    encoding_option,
    flag("--keep-case", "Upper and lower case differ."),
    flag("--keep-width", "Full- and half-width forms differ."),
    flag("--strip-accents", "é is e, ё is е."),
    flag("--keep-disguises", "What hides words from a program and not from a reader counts."),
    flag("--keep-han", "Traditional and simplified Chinese characters differ."),
    flag("--fold-han", "Chinese scripts are folded by phrases (OpenCC)."),
    flag("--fold-han-words", "And words of Taiwan those of the mainland."),
    flag("--no-normalize", "Keep case, width, composition and white space."),
)
@section(
    "Algorithms",
    choice("--units", ("characters", "words"), "What shingles are made of.", default="characters"),
    option("--shingle", "Units a shingle.", type=int, default=5, metavar="N"),
    choice(
        "--features",
        ("terms", "words", "characters", "shingles"),
        "What SimHash, I-Match, filter and vectors count; terms: those of the scheme web.",
        default="terms",
    ),
    choice(
        "--segmenter",
        ("chars", "jieba", "forward-max", "backward-max", "bidirectional", "min-cut"),
        "How Han characters are cut into words and terms.",
        default="chars",
    ),
    choice(
        "--weights",
        ("log-tf", "tf", "uniform", "log-tf-idf", "tf-idf", "idf"),
        "What a feature's count weighs in SimHash and vectors; idf goes by the store.",
        default="log-tf",
    ),
    choice("--feature-hash", HASHES, "How SimHash hashes a feature.", default="xxh3"),
    option(
        "--bits -M",
        "Length of a fingerprint; may be given more than once.",
        type=int,
        multiple=True,
        default=(64, 128),
        metavar="M",
    ),
    option(
        "--similar-at", "Least resemblance of similar texts.", type=float, default=0.2, metavar="J"
    ),
    option(
        "--idf-band",
        "I-Match: normalized idf of the lexicon's terms.",
        type=(float, float),
        default=(0.2, 0.9),
        metavar="LOW HIGH",
    ),
    option("--lexicons", "I-Match: random lexicons.", type=int, default=10, metavar="K"),
    option("--seed", "I-Match: chooses the random lexicons.", type=int, default=0),
)
@section(
    "Answer",
    format_option(),
)
@common_options
def compare(first: str, second: str, output_format: str, **options: Any) -> None:
    """Compare two texts by every algorithm, side by side, each with its time.

    Examples:
      simstore compare draft.txt final.txt         two files; no store is needed
      simstore compare news-en-001 news-en-002     two documents of the store
      simstore compare a.txt b.txt --units words --shingle 3
      curl -s URL | simstore compare - page.txt --format jsonl

    A and B are files, keys of the store, or - for standard input. A name that is a file is that
    file, whatever keys there are; key:NAME and file:NAME leave no doubt. The store's vocabulary
    serves I-Match where --db or SIMSTORE_DB names a store, or A or B is a key.
    """
    from simstore.sources.encodings import checked_encoding
    from simstore.sources.reader import ReadOptions

    if first == second == _STANDARD_INPUT:
        raise InvalidParameter("standard input (-) can be read only once")
    chosen = _chosen(options)
    encoding = checked_encoding(options["encoding"])
    read = ReadOptions(options["as_format"] or _OWN, False, options["max_document_bytes"])
    pair = _Pair(_given(first), _given(second), (first, second), replace(read, encoding=encoding))
    with progress("compare") as show:
        comparison = _compared(pair, chosen, show)
    _write(comparison, output_format)


def _chosen(options: dict[str, Any]) -> CompareOptions:
    from simstore.services.compare.compared import CompareOptions

    names = {field.name for field in fields(CompareOptions)} & options.keys()
    chosen = {name: options[name] for name in names}
    return CompareOptions(normalization=_normalization(options), **chosen)


def _normalization(options: dict[str, Any]) -> Normalization | None:
    from simstore.text.normalization import Normalization

    names = (
        "keep_case", "keep_width", "strip_accents", "keep_disguises", "keep_han", "fold_han",
        "fold_han_words",
    )  # fmt: skip
    if options["no_normalize"]:
        for name in names:
            if options[name]:
                shown = name.replace("_", "-")
                raise InvalidParameter(f"--no-normalize and --{shown}: choose one of them")
        return None
    return Normalization(
        case="keep" if options["keep_case"] else "fold",
        width="keep" if options["keep_width"] else "fold",
        accents="strip" if options["strip_accents"] else "keep",
        han="simplified-words"
        if options["fold_han_words"]
        else "simplified"
        if options["fold_han"]
        else "keep"
        if options["keep_han"]
        else "characters",
        disguises="keep" if options["keep_disguises"] else "fold",
    )


@dataclass(frozen=True, slots=True)
class _File:
    """A text in a file, or in standard input.

    Attributes:
        path: Where it is.
    """

    path: str


@dataclass(frozen=True, slots=True)
class _Pair:
    """The two texts to compare, and how to read them.

    Attributes:
        first: A file, or a key of the store.
        second: Another one.
        names: What they were called on the command line.
        read: How to read files.
    """

    first: _File | str
    second: _File | str
    names: tuple[str, str]
    read: ReadOptions


def _given(name: str) -> _File | str:
    """Return the file that a name is, or the key."""
    if name.startswith(_KEY):
        return name.removeprefix(_KEY)
    is_path = name.startswith(_FILE) or name == _STANDARD_INPUT or os.path.lexists(name)
    if not is_path:
        return name
    path = name.removeprefix(_FILE)
    # With the prefix, a file of that name is meant.
    return _File(os.path.join(".", path) if path == "-" != name else path)


def _read(one: _File, read: ReadOptions) -> Document:
    """Return the document of a file; tell where it was decoded as something uncertain."""
    from simstore.services.compare.compare import read_document
    from simstore.sources.files import FileSource

    if read.format == _OWN:
        is_page = FileSource(one.path, replace(read, format="auto")).reader_name in _PAGES
        read = replace(read, format="auto" if is_page else "text")
    document = read_document(one.path, read)
    tell_reading(document.key, document.metadata)
    return document


def _compared(pair: _Pair, options: CompareOptions, show: Update) -> Comparison:
    from simstore.services.compare.compare import compare_texts

    first, second = pair.first, pair.second
    if isinstance(first, str) or isinstance(second, str) or store_is_named(by_option=True):
        return _compare_in_store(pair, options, show)
    if store_is_named():
        # A variable may name a store that is still to be made.
        with suppress(StoreNotFound):
            return _compare_in_store(pair, options, show)
    a, b = _read(first, pair.read), _read(second, pair.read)
    return compare_texts(a.text, b.text, options, names=(a.key, b.key), on_progress=show)


def _compare_in_store(pair: _Pair, options: CompareOptions, show: Update) -> Comparison:
    names = pair.names
    try:
        with open_store(read_only=True, served=True) as store:
            read = replace(pair.read, encoding=encoding_for(store, pair.read.encoding))
            first, second = (
                one if isinstance(one, str) else _read(one, read)
                for one in (pair.first, pair.second)
            )
            return store.compare(first, second, options, on_progress=show)
    except StoreNotFound:
        for name, given in zip(names, (pair.first, pair.second), strict=True):
            if name == given:
                raise NotFound(
                    f"{printable(name)}: no such file, and no store at "
                    f"{shown_place(store_place())} that could have it as a key"
                ) from None
        raise
    except DocumentNotFound as error:
        if error.key not in names:
            raise
        raise NotFound(
            f"{printable(error.key)}: no such file, and no document of the store has this key; "
            "`simstore list` shows the keys"
        ) from None


def _write(comparison: Comparison, output_format: str) -> None:
    from simstore.reports import compare as report

    if output_format == "table":
        print_table(report.TEXT_COLUMNS, report.text_rows(comparison))
        for letter, text in (("A", comparison.first), ("B", comparison.second)):
            if text.flags:
                log.warning("%s hides words: %s", letter, ", ".join(text.flags))
                tell_folded(text.folded)
        click.echo(file=sys.stdout)
        print_table(report.COLUMNS, report.measure_rows(comparison))
        return
    if output_format == "csv":
        write_blocks(report.render_csv(comparison))
    else:
        lines = report.render_jsonl(comparison)
        write_blocks(json_array(lines) if output_format == "json" else lines)
