"""Choose the scheme of a new store, by name and options or by what lies in the folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simstore.errors import InvalidParameter
from simstore.fingerprint.scheme import Scheme, check_bits
from simstore.fingerprint.simtool import SimtoolScheme, check_features
from simstore.fingerprint.stopwords import ENGLISH
from simstore.fingerprint.web import WebScheme
from simstore.sources.course import read_hash_table, read_stopwords
from simstore.text.decoding import decode, encode
from simstore.text.words import terms

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
        stopwords: File with stop words, ``builtin`` or ``none``.
        weights: ``log-tf``, ``tf`` or ``uniform`` (``web``).
        tie: ``zero`` or ``one`` (``web``).
    """

    name: str = "web"
    bits: int | None = None
    features: int | None = None
    hash_table: str | None = None
    stopwords: str | None = None
    weights: str | None = None
    tie: str | None = None


def make_scheme(choice: SchemeChoice) -> Scheme:
    """Return the scheme that was chosen.

    Raises:
        InvalidParameter: An option is out of range or not one of this scheme.
        SourceNotFound: A file is missing.
    """
    if choice.name == "simtool":
        _refuse(choice, "weights", "tie")
        return _simtool(choice)
    if choice.name == "web":
        _refuse(choice, "features", "hash_table")
        return WebScheme(
            64 if choice.bits is None else choice.bits,
            weights=choice.weights or "log-tf",
            stopwords=_normalized(_stopwords(choice.stopwords, frozenset())),
            tie=choice.tie or "zero",
        )
    raise InvalidParameter(f"scheme {choice.name!r}: choose one of {', '.join(SCHEMES)}")


def choice_for_folder(folder: Path) -> SchemeChoice:
    """Return ``simtool`` where the course tool's two files lie in a folder, else ``web``."""
    table, stopwords = folder / HASH_TABLE_FILE, folder / STOPWORDS_FILE
    if table.is_file() and stopwords.is_file():
        return SchemeChoice("simtool", hash_table=str(table), stopwords=str(stopwords))
    return SchemeChoice("web")


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
    if chosen == BUILTIN:
        return ENGLISH
    if chosen == NONE:
        return frozenset()
    return read_stopwords(chosen)


def _normalized(words: frozenset[bytes]) -> frozenset[bytes]:
    """Return the terms of stop words, as the scheme ``web`` counts them."""
    return frozenset(encode(term) for word in words for term in terms(decode(word)))


def _refuse(choice: SchemeChoice, *options: str) -> None:
    for option in options:
        if getattr(choice, option) is not None:
            other = "simtool" if choice.name == "web" else "web"
            raise InvalidParameter(
                f"--{option.replace('_', '-')} is an option of the scheme {other}; "
                f"add --scheme {other}, or leave it out"
            )
