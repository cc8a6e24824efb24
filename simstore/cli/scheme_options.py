"""Options that choose a fingerprint scheme, for ``init``, ``reindex`` and ``ingest``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.messages import log
from simstore.cli.options import store_place
from simstore.cli.parameters import Decorator, choice, group, option, section
from simstore.errors import shown_place

if TYPE_CHECKING:
    from simstore.services.maintenance.scheme_choice import SchemeChoice


_WEIGHTS = ("log-tf", "tf", "uniform", "idf", "tf-idf", "log-tf-idf")
HASHES = ("xxh3", "blake2b", "md5", "poly1000003", "hanzi", "hanzi-slides")
_SEGMENTERS = ("chars", "jieba", "forward-max", "backward-max", "bidirectional", "min-cut")


def _flag(name: str, parameter: str, value: str, text: str) -> Decorator:
    return option(f"{name} {parameter}", text, flag_value=value, default=None)


_WEB_OPTIONS = (
    choice(
        "--weights",
        _WEIGHTS,
        "web: what a feature's count weighs; the last three also look at how many documents "
        "of the store have it.  [default: log-tf]",
    ),
    choice("--tie", ("zero", "one"), "web: the bit that a zero sum gives.  [default: zero]"),
    choice("--feature-hash", HASHES, "web: how a feature becomes bits.  [default: xxh3]"),
    choice("--units", ("words", "characters"), "web: of what features are made.  [default: words]"),
    option(
        "--shingle",
        "web: consecutive units that make one feature.  [default: 1]",
        type=int,
        metavar="N",
    ),
    choice(
        "--segmenter",
        _SEGMENTERS,
        "web: how Chinese is cut into units; chars: 2-grams of characters.  [default: chars]",
    ),
    option("--stem", "web: words to stems (Snowball).  [default: none]", metavar="LANGUAGE|none"),
    option(
        "--field fields",
        "web: a metadata field as a feature, as in lang:enum:en,fr,zh:3; may be repeated. "
        "enum-slides in place of enum: the code of the lecture.",
        multiple=True,
        metavar="NAME:enum:VALUES:WEIGHT",
    ),
)
_NORMALIZATION = (
    _flag("--keep-case", "case", "keep", "web: upper and lower case differ."),
    _flag("--keep-width", "width", "keep", "web: full- and half-width forms differ."),
    _flag("--strip-accents", "accents", "strip", "web: é is e, ё is е."),
    _flag(
        "--keep-disguises",
        "disguises",
        "keep",
        "web: what hides words from a program and not from a reader is not folded.",
    ),
    _flag(
        "--keep-han", "han", "keep", "web: traditional and simplified Chinese characters differ."
    ),
    _flag(
        "--fold-han", "han", "simplified", "web: Chinese scripts are folded by phrases (OpenCC)."
    ),
    _flag(
        "--fold-han-words",
        "han",
        "simplified-words",
        "web: and words of Taiwan are those of the mainland.",
    ),
)
# The options that choose a scheme; the command takes them as ``**scheme``.
scheme_options = group(
    section(
        "Scheme",
        choice(
            "--scheme name",
            ("web", "simtool"),
            "web: any language, no corpus needed. simtool: the course tool's, words of ASCII "
            "letters ranked over the whole store.",
        ),
        option("--bits -M", "Fingerprint length.  [default: 64]", type=int, metavar="M"),
        option(
            "--features -N",
            "simtool: size of the feature vector.  [default: 1000]",
            type=int,
            metavar="N",
        ),
        option(
            "--hash-table",
            "simtool: a row of 0 and 1 a feature; builtin is a table of simstore's own.  "
            "[default: hashvalue.txt, if it lies here, else builtin]",
            type=click.Path(),
            metavar="FILE|builtin",
        ),
        option(
            "--stopwords",
            "Words that do not count; builtin is English, builtin:de another language.  "
            "[default: simtool stopwords.txt, if it lies here, else builtin; web none]",
            metavar="FILE|builtin[:LANGUAGE]|none",
        ),
    ),
    section("Scheme web", *_WEB_OPTIONS),
    section("Scheme web: normalization", *_NORMALIZATION),
)


def scheme_choice(name: str | None, **options: Any) -> SchemeChoice | None:
    """Return the scheme that the options choose; None where no option was given."""
    from simstore.services.maintenance.scheme_choice import SchemeChoice

    given = {option: value for option, value in options.items() if value not in (None, ())}
    if name is None and not given:
        return None
    return SchemeChoice(name or "web", **given)


def choice_here(chosen: SchemeChoice | None) -> SchemeChoice | None:
    """Return a scheme that was chosen with the course tool's files that lie here, and tell of them.

    None, and a scheme other than ``simtool``, stay as they are.
    """
    from simstore.services.maintenance.scheme_choice import choice_for_folder

    if chosen is None or chosen.name != "simtool":
        return chosen
    found = choice_for_folder(Path(), chosen, is_named=True)
    if found.used:
        log.info("%s here, and %s used", _lie(found.used), _be(found.used))
    return found.choice


def create_here(
    chosen: SchemeChoice | None,
    *,
    is_named: bool,
    exist_ok: bool = False,
    asked_radius: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Make the store of this call for the current directory; tell and return its scheme.

    Nothing is made where a radius that will be asked for does not fit the fingerprints.
    """
    from simstore.search.plan import check_radius
    from simstore.services.maintenance.scheme_choice import choice_for_folder
    from simstore.store import Store

    place = store_place()
    found = choice_for_folder(Path(), chosen, is_named=is_named)
    if asked_radius is not None:
        check_radius(asked_radius, found.choice.bits or 64)
    with Store.create(place, scheme=found.choice, exist_ok=exist_ok, **options) as store:
        facts = store.maintenance.scheme()
    sizes = f"M = {facts.bits}"
    if "features" in facts.parameters:
        sizes = f"N = {facts.parameters['features']}, {sizes}"
    why = ""
    if found.used:
        why = f" ({_lie(found.used)} here)"
    elif chosen is None and not found.unused:
        why = " (any language; `simstore init` chooses another)"
    log.info("made %s: scheme %s, %s%s", shown_place(place), facts.label, sizes, why)
    if found.unused:
        log.warning("%s here and %s not used", _lie(found.unused), _be(found.unused))
    return facts.record()


def _lie(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} {'lies' if len(names) == 1 else 'lie'}"


def _be(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
