"""Check the types of arguments against the annotations of methods and options.

A value of another type raises InvalidParameter where it is given, in words of its parameter. What
a caller may as well write is turned into what is annotated: a list for a tuple, one string for a
list of strings, a mapping for pairs, a number of NumPy for a number of Python.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache, wraps
from inspect import Parameter, signature
from operator import index
from types import FunctionType, NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, Unpack, get_args, get_origin

from simstore.errors import InvalidParameter, printable
from simstore.model.keywords import check_names, no_attribute

F = TypeVar("F", bound=Callable[..., Any])
_PACKAGE = __name__.partition(".")[0]
# Turns a value into one of the type that is annotated, or raises _OtherType.
Converter = Callable[[Any], Any]


class _OtherType(Exception):
    """A value is not of the type that is annotated."""


class CheckedArguments:
    """A class whose public methods check their arguments by their annotations."""

    def __init_subclass__(cls, of: str | None = None, **keywords: Any) -> None:
        # `of` is the class whose methods these are, as errors and `help` call it.
        super().__init_subclass__(**keywords)
        for name, member in list(vars(cls).items()):
            if name.startswith("_") and name != "__init__":
                continue
            if of is not None and isinstance(member, FunctionType):
                member.__qualname__ = f"{of}.{name}"
            if isinstance(member, classmethod):
                setattr(cls, name, classmethod(checked(member.__func__)))
            elif isinstance(member, FunctionType):
                setattr(cls, name, checked(member))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError, with the name that is most likely meant."""
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            known = [one for one in dir(type(self)) if not one.startswith("_")]
            raise AttributeError(no_attribute(type(self).__name__, name, known))


def checked(function: F) -> F:
    """Return a function that checks its arguments by their annotations before it runs."""

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        names, known, converters = _converters_of(function)
        if known is not None and not known.issuperset(keywords):
            check_names(function.__qualname__, known - {"self", "cls"}, keywords)
        if args:
            given = list(args)
            # What is behind the last name has no place of its own.
            for place, name in enumerate(names[: len(given)]):
                convert = converters.get(name)
                if convert is not None:
                    given[place] = _converted(name, convert, given[place])
            args = tuple(given)
        for name, value in keywords.items():
            convert = converters.get(name)
            if convert is not None:
                keywords[name] = _converted(name, convert, value)
        return function(*args, **keywords)

    return call  # type: ignore[return-value]


def check_fields(options: Any) -> None:
    """Check the fields of a frozen dataclass by their annotations, in its ``__post_init__``.

    Raises:
        InvalidParameter: One is of another type.
    """
    kind: Any = type(options)
    for name, convert in _converters_of_fields(kind).items():
        value = getattr(options, name)
        found = _converted(name, convert, value)
        if found is not value:
            object.__setattr__(options, name, found)


def _converted(name: str, convert: Converter, value: Any) -> Any:
    try:
        return convert(value)
    except _OtherType as error:
        shown = printable(repr(value))
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        # Of a choice the type need not be told.
        kind = "" if isinstance(value, str) and "one of" in str(error) else _kind_of(value)
        hint = _remedy_of(name, value)
        raise InvalidParameter(f"{name} must be {error}, not {shown}{kind}{hint}") from None


def _remedy_of(name: str, value: Any) -> str:
    """Return what to write instead of a value that callers often give."""
    if name == "text" and isinstance(value, bytes):
        return "; decode it: value.decode()"
    if name == "text" and isinstance(value, list | tuple):
        return "; for many there are add_many(), query_many() and check_many()"
    return ""


def _kind_of(value: Any) -> str:
    return "" if value is None else f" ({_article(type(value).__name__)})"


def _article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


@cache
def _converters_of(
    function: Callable[..., Any],
) -> tuple[tuple[str, ...], set[str] | None, dict[str, Converter]]:
    """Return what is known of a function's parameters.

    Returns:
        The names of those that have a place; all names, or None where any keyword is taken; what
        checks each parameter.
    """
    names: list[str] = []
    known: Any = set(signature(function).parameters)
    converters: dict[str, Converter] = {}
    for parameter in signature(function).parameters.values():
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        elif parameter.kind is Parameter.VAR_KEYWORD:
            kind = _keywords_of(parameter.annotation, function.__globals__)
            known = None if kind is None else {*known, *kind.__annotations__} - {parameter.name}
            converters |= {} if kind is None else _converters_of_keywords(kind)
            continue
        elif parameter.kind is not Parameter.KEYWORD_ONLY:
            continue
        if parameter.annotation is not Parameter.empty:
            found = _resolved(parameter.annotation, function.__globals__)
            convert = converter_of(found)
            if convert is not None:
                converters[parameter.name] = convert
    return tuple(names), known, converters


def _keywords_of(annotation: Any, scope: Mapping[str, Any]) -> Any:
    """Return the TypedDict of ``**keywords: Unpack[SomeKeywords]``; None of any other keywords."""
    kind = next(iter(get_args(_resolved(annotation, scope))), None)
    return kind if hasattr(kind, "__total__") else None


def _converters_of_keywords(kind: Any) -> dict[str, Converter]:
    """Return what checks each keyword of a TypedDict."""
    found = {}
    for name, hint in kind.__annotations__.items():
        # A keyword may be inherited from a class of another module.
        origin = getattr(hint, "__forward_module__", None) or kind.__module__
        scope = vars(sys.modules[origin])
        convert = converter_of(_resolved(getattr(hint, "__forward_arg__", hint), scope))
        if convert is not None:
            found[name] = convert
    return found


@cache
def _converters_of_fields(kind: Any) -> dict[str, Converter]:
    scope = vars(sys.modules[kind.__module__])
    found = {field.name: converter_of(_resolved(field.type, scope)) for field in fields(kind)}
    return {name: convert for name, convert in found.items() if convert is not None}


class _Names(dict[str, Any]):
    """The names of a module, and those that callers import from the package, when they are used."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        # What only checkers of types know cannot be checked here.
        return getattr(sys.modules[_PACKAGE], name, Any)


def _resolved(annotation: Any, scope: Mapping[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, {}, _Names(scope))  # an annotation of ours  # noqa: S307  # nosec B307


def converter_of(hint: Any) -> Converter | None:
    """Return the function that checks values of a type; None where any value is taken."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin is Literal:
        return _literal(arguments)
    if origin is tuple:
        return _tuple(arguments)
    if origin is Unpack or hint is Any or isinstance(hint, TypeVar):
        return None
    kind = origin or hint
    if not isinstance(kind, type) or kind is object or getattr(kind, "_is_protocol", False):
        return None
    if kind in (list, Sequence) and arguments == (str,):
        return _strings
    if kind.__name__ == "Callable":
        return _instance(kind, "a function")
    return _instance(kind, _words_of(kind))


def _words_of(kind: type) -> str:
    words: dict[type, str] = {Mapping: "a mapping", Iterable: "a list", Sequence: "a list"}
    if kind in words:
        return words[kind]
    if kind.__name__ == "timedelta":
        return "a timedelta"
    return "a path" if kind.__name__ == "PathLike" else _article(kind.__name__)


def _instance(kind: Any, words: str) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, kind):
            raise _OtherType(words)
        return value

    return convert


def _whole_number(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        raise _OtherType("a whole number")
    try:
        return index(value)
    except TypeError:
        raise _OtherType("a whole number") from None


def _number(value: Any) -> Any:
    if type(value) is float or type(value) is int:
        return value
    if isinstance(value, bool | str | bytes) or type(value).__name__ == "bool_":
        raise _OtherType("a number")
    if hasattr(value, "__float__") and not hasattr(value, "__len__"):
        return float(value)
    raise _OtherType("a number")


def _truth(value: Any) -> bool:
    if value is True or value is False:
        return value
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise _OtherType("True or False")


def _nothing(value: Any) -> None:
    if value is not None:
        raise _OtherType("None")


_PLAIN: dict[Any, Converter] = {
    int: _whole_number,
    float: _number,
    bool: _truth,
    str: _instance(str, "a string"),
    bytes: _instance(bytes, "bytes"),
    NoneType: _nothing,
    None: _nothing,
}


def _strings(value: Any) -> Any:
    """Return one string as a tuple of it, and any other sequence of strings unchanged."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise _OtherType("a list of strings")
    return value


def _literal(values: tuple[Any, ...]) -> Converter:
    words = f"one of {', '.join(map(repr, values))}"

    def convert(value: Any) -> Any:
        if not isinstance(value, str | int) or value not in values:
            raise _OtherType(words)
        return value

    return convert


def _tuple(arguments: tuple[Any, ...]) -> Converter:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return _series(arguments[0])
    converters = [converter_of(one) or (lambda value: value) for one in arguments]

    def convert(value: Any) -> tuple[Any, ...]:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise _OtherType(f"{len(converters)} values")
        if len(value) != len(converters):
            raise _OtherType(f"{len(converters)} values")
        return tuple(turn(one) for turn, one in zip(converters, value, strict=True))

    return convert


def _series(kind: Any) -> Converter:
    turn = converter_of(kind) or (lambda value: value)
    is_pairs = get_origin(kind) is tuple

    def convert(value: Any) -> tuple[Any, ...]:
        if isinstance(value, str) and kind is str:
            return (value,)
        if isinstance(value, Mapping) and is_pairs:
            value = value.items()
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise _OtherType("a mapping" if is_pairs else "a list")
        return tuple(map(turn, value))

    return convert


def _union(arguments: tuple[Any, ...]) -> Converter | None:
    converters: list[Converter] = []
    if any(get_origin(one) is tuple for one in arguments):
        # A tuple of pairs takes mappings, and checks their values.
        arguments = tuple(one for one in arguments if get_origin(one) is not Mapping)
    # A function of NumPy's kinds and the like come last: None is what is mostly given.
    for one in sorted(arguments, key=lambda one: one is not NoneType):
        found = converter_of(one)
        if found is None:
            return None
        converters.append(found)

    def convert(value: Any) -> Any:
        words: list[str] = []
        for turn in converters:
            try:
                return turn(value)
            except _OtherType as error:
                words.append(str(error))
        # None need not be told: it is as if nothing were given.
        told = dict.fromkeys(word for word in words if word != "None")
        raise _OtherType(" or ".join(told))

    return convert
