"""Choose the scheme of a new store, by name and options or by what lies in the folder."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from simstore.errors import InvalidParameter, MissingExtra, printable
from simstore.fingerprint.fields import EnumeratedField
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.simhash import check_bits
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.stopwords import ENGLISH
from simstore.fingerprint.vocabulary import check_features
from simstore.fingerprint.web import WebScheme
from simstore.sources.course import read_hash_table, read_stopwords
from simstore.sources.streams import is_read_once, is_special
from simstore.text.decoding import decode, encode
from simstore.text.normalization import Normalization
from simstore.text.recipes import FeatureRecipe

SCHEMES = ("web", "simtool")
BUILTIN = "builtin"
NONE = "none"
HASH_TABLE_FILE = "hashvalue.txt"
STOPWORDS_FILE = "stopwords.txt"


@dataclass(frozen=True, slots=True)
class SchemeChoice:
    """A scheme by name, with its options; None leaves an option at the scheme's default.

    Attributes:
        name: ``web`` or ``simtool``.
        bits: Fingerprint length M, 1 to 128; default 64.
        features: Size N of the feature vector (``simtool``); default 1000.
        hash_table: File with the hash table (``simtool``); default a built-in one.
        stopwords: File with stop words, ``builtin`` (English), ``builtin:LANGUAGE`` (a code as
            ``de`` or ``zh``; extra ``stopwords``) or ``none``.
        weights: See :class:`~simstore.fingerprint.web.WebScheme`, as for ``tie``,
            ``feature_hash`` and ``fields`` (each as ``NAME:enum:VALUE,...:WEIGHT``).
        units: See :class:`~simstore.text.recipes.FeatureRecipe`, as for ``segmenter``,
            ``shingle`` and ``stem``.
        case: See :class:`~simstore.text.normalization.Normalization`, as for ``width``,
            ``accents`` and ``han``.
    """

    name: str = "web"
    bits: int | None = None
    features: int | None = None
    hash_table: str | None = None
    stopwords: str | None = None
    weights: str | None = None
    tie: str | None = None
    feature_hash: str | None = None
    units: str | None = None
    segmenter: str | None = None
    shingle: int | None = None
    stem: str | None = None
    case: str | None = None
    width: str | None = None
    accents: str | None = None
    han: str | None = None
    fields: tuple[str, ...] | None = None

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of the options that were chosen."""
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None}


_SIMTOOL = ("features", "hash_table")
_BOTH = ("name", "bits", "stopwords")
_WEB = tuple(f.name for f in fields(SchemeChoice) if f.name not in (*_SIMTOOL, *_BOTH))


def make_scheme(choice: SchemeChoice) -> Scheme:
    """Return the scheme that was chosen.

    Raises:
        InvalidParameter: An option is out of range or not one of this scheme.
        SourceNotFound: A file is missing.
        MissingExtra: An option needs a package that is not installed.
    """
    if choice.name == "simtool":
        _refuse(choice, *_WEB)
        return _simtool(choice)
    if choice.name == "web":
        _refuse(choice, *_SIMTOOL)
        return _web(choice)
    raise InvalidParameter(f"scheme {choice.name!r}: choose one of {', '.join(SCHEMES)}")


def choice_for_folder(folder: Path) -> SchemeChoice:
    """Return ``simtool`` where the course tool's two files lie in a folder, else ``web``."""
    table, stopwords = folder / HASH_TABLE_FILE, folder / STOPWORDS_FILE
    if table.is_file() and stopwords.is_file():
        return SchemeChoice("simtool", hash_table=str(table), stopwords=str(stopwords))
    return SchemeChoice("web")


def _web(choice: SchemeChoice) -> WebScheme:
    recipe = FeatureRecipe(
        Normalization(**choice.given("case", "width", "accents", "han")),
        **choice.given("units", "segmenter", "shingle", "stem"),
    )
    return WebScheme(
        64 if choice.bits is None else choice.bits,
        stopwords=_as_counted(_stopwords(choice.stopwords, frozenset()), recipe),
        recipe=recipe,
        fields=[EnumeratedField.parse(text) for text in choice.fields or ()],
        **choice.given("weights", "tie", "feature_hash"),
    )


def _simtool(choice: SchemeChoice) -> SimtoolScheme:
    features = 1000 if choice.features is None else choice.features
    bits = 64 if choice.bits is None else choice.bits
    rows = None
    if choice.hash_table is not None:
        check_features(features)
        check_bits(bits)
        rows = read_hash_table(choice.hash_table, features, bits)
    return SimtoolScheme(
        features, bits, hash_rows=rows, stopwords=_stopwords(choice.stopwords, ENGLISH)
    )


def _stopwords(chosen: str | None, default: frozenset[bytes]) -> frozenset[bytes]:
    if chosen is None:
        return default
    if chosen == NONE:
        return frozenset()
    if chosen == BUILTIN:
        return ENGLISH
    if chosen.startswith(f"{BUILTIN}:"):
        return _of_language(chosen.removeprefix(f"{BUILTIN}:"))
    words = read_stopwords(chosen)
    if not words and (is_read_once(chosen) or is_special(chosen)):
        raise InvalidParameter(
            f"{printable(chosen)}: no word in it; `none` says that there are no stop words"
        )
    return words


def _of_language(language: str) -> frozenset[bytes]:
    try:
        import stopwordsiso
    except ImportError as error:
        raise MissingExtra(f"a list of stop words ({language!r})", "stopwords") from error
    if not stopwordsiso.has_lang(language):
        codes = ", ".join(sorted(stopwordsiso.langs()))
        raise InvalidParameter(f"no stop words of {language!r} are built in; choose one of {codes}")
    return frozenset(encode(word.lower()) for word in stopwordsiso.stopwords(language))


def _as_counted(words: frozenset[bytes], recipe: FeatureRecipe) -> frozenset[bytes]:
    """Return the units of stop words, as the scheme ``web`` counts them before stems."""
    if not words:
        return words
    extract = replace(recipe, units="words", shingle=1, stem="none").extractor()
    return frozenset(
        term.encode("utf-8", "surrogatepass")
        for word in words
        for piece in extract(decode(word))
        for term in piece
    )


# Options whose names on the command line say what they do.
_FLAGS = {
    "case": "keep-case",
    "width": "keep-width",
    "accents": "strip-accents",
    "han": "fold-han",
    "fields": "field",
}


def _refuse(choice: SchemeChoice, *options: str) -> None:
    for option in options:
        if getattr(choice, option) is not None:
            other = "simtool" if choice.name == "web" else "web"
            name = _FLAGS.get(option, option.replace("_", "-"))
            raise InvalidParameter(
                f"--{name} is an option of the scheme {other}; "
                f"add --scheme {other}, or leave it out"
            )
