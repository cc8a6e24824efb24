"""Choose a new store's fingerprint scheme, by name and options or by the files in a folder."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from simstore.errors import InvalidParameter, MissingExtra, printable
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.simhash import check_bits
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.stopwords import ENGLISH
from simstore.fingerprint.vocabulary import check_features
from simstore.fingerprint.web import EnumeratedField, WebScheme
from simstore.model.arguments import check_fields
from simstore.sources.course import read_hash_table, read_stopwords
from simstore.sources.streams import is_read_once, is_special
from simstore.text.decoding import decode, encode
from simstore.text.normalization import FOLDED
from simstore.text.recipes import FeatureRecipe

SCHEMES = ("web", "simtool")
BUILTIN = "builtin"
NONE = "none"
HASH_TABLE_FILE = "hashvalue.txt"
STOPWORDS_FILE = "stopwords.txt"


@dataclass(frozen=True, slots=True)
class SchemeChoice:
    """A scheme by name, with its options; None stands for the scheme's default.

    >>> scheme = SchemeChoice("web", bits=128, units="words")
    >>> with Store.create("wide.db", scheme=scheme) as wide:
    ...     wide.stats().bits
    128

    Attributes:
        name: ``web`` or ``simtool``.
        bits: Fingerprint length M, 1 to 128; default 64.
        features: Size N of the feature vector (``simtool``); default 1000.
        hash_table: File with the hash table (``simtool``), or ``builtin``, the
            default.
        stopwords: File with stop words, ``builtin`` (English),
            ``builtin:LANGUAGE`` (a code as ``de`` or ``zh``; extra
            ``stopwords``) or ``none``.
        weights: See :class:`~simstore.fingerprint.web.WebScheme`, as for
            ``tie``, ``feature_hash`` and ``fields`` (each as
            ``NAME:enum:VALUE,...:WEIGHT``).
        units: See :class:`~simstore.text.recipes.FeatureRecipe`, as for
            ``segmenter``, ``shingle`` and ``stem``.
        case: See :class:`~simstore.text.normalization.Normalization`, as for
            ``width``, ``accents``, ``han`` and ``disguises``; what is not given
            is as in the scheme's form.
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
    disguises: str | None = None
    fields: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def given(self, *names: str) -> dict[str, Any]:
        """Return the names of the options that were chosen."""
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None}


_SIMTOOL = ("features", "hash_table")
_BOTH = ("name", "bits", "stopwords")
_FORMS = ("case", "width", "accents", "han", "disguises")
_OPTIONS = tuple(f.name for f in fields(SchemeChoice) if f.name != "name")
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


@dataclass(frozen=True, slots=True)
class FolderChoice:
    """The scheme chosen for a folder, and the files there that it uses.

    Attributes:
        choice: The scheme, with the files that are taken.
        used: Names of the course tool's files in the folder that nobody named, and that are taken.
        unused: Names of those that lie there and are not.
    """

    choice: SchemeChoice
    used: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def choice_for_folder(
    folder: Path, given: SchemeChoice | None = None, *, is_named: bool = False
) -> FolderChoice:
    """Return the scheme for a folder: ``simtool`` where the course tool's files lie, else ``web``.

    Options refine the choice and do not change it: whatever is given besides, only a scheme that
    is named is another. A file of the course tool that lies there is taken by ``simtool`` unless
    another one is given.

    Args:
        folder: The folder.
        given: Options that were chosen; None: none.
        is_named: Whether the scheme's name was chosen too.
    """
    choice = given or SchemeChoice()
    table, stopwords = folder / HASH_TABLE_FILE, folder / STOPWORDS_FILE
    existing = [path for path in (table, stopwords) if path.is_file()]
    if not is_named:
        choice = replace(choice, name="simtool" if len(existing) == 2 else "web")
    used = []
    if choice.name == "simtool" and choice.hash_table is None and table in existing:
        choice = replace(choice, hash_table=str(table))
        used.append(table.name)
    if choice.name == "simtool" and choice.stopwords is None and stopwords in existing:
        choice = replace(choice, stopwords=str(stopwords))
        used.append(stopwords.name)
    taken = {
        Path(name).absolute() for name in (choice.hash_table, choice.stopwords) if name is not None
    }
    unused = (path.name for path in existing if path.absolute() not in taken)
    return FolderChoice(choice, tuple(used), tuple(unused))


def _web(choice: SchemeChoice) -> WebScheme:
    recipe = FeatureRecipe(
        replace(FOLDED, **choice.given(*_FORMS)),
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
    if choice.hash_table not in (None, BUILTIN):
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


def differences(choice: SchemeChoice, scheme: Scheme) -> list[str]:
    """Return the chosen options that a scheme does not have, and what it has instead.

    Options that were not chosen may be any. The scheme is the one that the choice names.

    Raises:
        InvalidParameter: An option is out of range or not one of this scheme.
        SourceNotFound: A file is missing.
        MissingExtra: An option needs a package that is not installed.
    """
    standing = _options(scheme)
    if not standing:
        return ["it holds fingerprints alone"]
    if choice.name != scheme.name:
        return [f"--scheme is {scheme.name}"]
    given = choice.given(*_OPTIONS)
    # A table and stop words are read as the other options say.
    chosen = make_scheme(replace(choice, **{**standing, **given}))
    options = _options(chosen)
    found = []
    for option in given:
        if option == "hash_table":
            same = _hash_table(chosen) == _hash_table(scheme)
            if not same and options == standing:
                found.append("--hash-table is another")
        elif option == "stopwords":
            if chosen.stopword_lines() != scheme.stopword_lines():
                found.append("--stopwords are others")
        elif options[option] == standing[option]:
            continue
        elif option == "han":
            flag = _HAN_FLAGS.get(options[option], "--fold-han-characters")
            found.append(f"{flag} was not given")
        elif option in _FORMS:
            found.append(f"{_flag(option)} was not given")
        else:
            value = standing[option]
            shown = " ".join(value) or "none" if isinstance(value, tuple) else value
            found.append(f"{_flag(option)} is {shown}")
    return found


def _options(scheme: Scheme) -> dict[str, Any]:
    """Return the options of a scheme by which it is chosen, but for its files."""
    if isinstance(scheme, SimtoolScheme):
        return {"bits": scheme.bits, "features": scheme.ranked_features}
    if not isinstance(scheme, WebScheme):
        return {}
    recipe = scheme.recipe
    form = recipe.normalization
    return {
        "bits": scheme.bits,
        **{name: getattr(scheme, name) for name in ("weights", "tie", "feature_hash")},
        **{name: getattr(recipe, name) for name in ("units", "segmenter", "shingle", "stem")},
        **{name: getattr(form, name) for name in _FORMS},
        "fields": tuple(map(str, scheme.fields)),
    }


def _hash_table(scheme: Scheme) -> bytes | None:
    return scheme.packed_hash_table() if isinstance(scheme, SimtoolScheme) else None


_HAN_FLAGS = {
    "simplified": "--fold-han",
    "simplified-words": "--fold-han-words",
    "keep": "--keep-han",
}
# Options whose names on the command line say what they do.
_FLAGS = {
    "case": "keep-case",
    "width": "keep-width",
    "accents": "strip-accents",
    "disguises": "keep-disguises",
    "fields": "field",
}


def _refuse(choice: SchemeChoice, *options: str) -> None:
    for option in options:
        value = getattr(choice, option)
        if value is not None:
            shown = _HAN_FLAGS.get(value, "--han") if option == "han" else _flag(option)
            other = "web" if choice.name == "simtool" else "simtool"
            raise InvalidParameter(
                f"{shown} is an option of the scheme {other}; add --scheme {other}, or leave it out"
            )


def _flag(option: str) -> str:
    return f"--{_FLAGS.get(option, option.replace('_', '-'))}"
