"""Stem words by the Snowball algorithms (extra ``stem``)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from simstore.errors import InvalidParameter, MissingExtra

_SUFFIX = "_stemmer"


def languages() -> tuple[str, ...]:
    """Return the languages that can be stemmed, sorted.

    Raises:
        MissingExtra: snowballstemmer is not installed.
    """
    names = (module.name for module in iter_modules(_package().__path__))
    return tuple(sorted(n.removesuffix(_SUFFIX) for n in names if n.endswith(_SUFFIX)))


def stemmer(language: str) -> Callable[[str], str]:
    """Return a function from a lower-case word to its stem; for one thread only.

    The package's own algorithms, even where the faster PyStemmer is installed, which may be of
    another version and give other stems. A stem is never empty.

    Raises:
        InvalidParameter: No algorithm knows the language.
        MissingExtra: snowballstemmer is not installed.
    """
    if language not in languages():
        raise InvalidParameter(f"stem {language!r}: choose none or one of {', '.join(languages())}")
    module = import_module(f"{_package().__name__}.{language}{_SUFFIX}")
    name = "".join(part.capitalize() for part in f"{language}{_SUFFIX}".split("_"))
    stem: Callable[[str], str] = getattr(module, name)().stemWord
    known: dict[str, str] = {}

    def remembered(word: str) -> str:
        found = known.get(word)
        if found is None:
            found = known[word] = stem(word) or word
        return found

    return remembered


def version() -> str:
    """Return name and version of the package with the algorithms.

    Raises:
        MissingExtra: It is not installed.
    """
    from importlib.metadata import version as version_of

    return f"{_package().__name__} {version_of(_package().__name__)}"


def _package() -> ModuleType:
    try:
        import snowballstemmer
    except ImportError as error:
        raise MissingExtra("stemming", "stem") from error
    module: ModuleType = snowballstemmer
    return module
