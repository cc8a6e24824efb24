"""Segment runs of Han characters into words by the dictionary of rjieba (extra ``segment``).

Chinese is written without blanks between words. The classic ways to find them take, from the words
of a dictionary that stand in the run, those that follow one another without a gap; a character that
begins no word of the dictionary may always stand alone.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from simstore.errors import InvalidParameter, MissingExtra

Segmenter = Callable[[str], list[str]]

_LONGEST_RUN = 1 << 16


def segmenter(name: str) -> Segmenter:
    """Return the function that cuts a run of Han characters into words.

    Runs above 65,536 characters, which no prose has, are cut there first, as some ways take far
    more memory than the run.

    Args:
        name: ``jieba`` (the most probable words, and new ones by a hidden Markov model),
            ``forward-max``, ``backward-max``, ``bidirectional`` or ``min-cut``.

    Raises:
        InvalidParameter: There is no such segmenter.
        MissingExtra: rjieba is not installed.
    """
    _rjieba()
    found = {
        "jieba": most_probable,
        "forward-max": forward_maximum,
        "backward-max": backward_maximum,
        "bidirectional": bidirectional,
        "min-cut": fewest_cuts,
    }.get(name)
    if found is None:
        raise InvalidParameter(f"segmenter {name!r}: choose one of {', '.join(SEGMENTERS)}")
    cut = found

    def words(run: str) -> list[str]:
        if len(run) <= _LONGEST_RUN:
            return cut(run)
        starts = range(0, len(run), _LONGEST_RUN)
        return [word for start in starts for word in cut(run[start : start + _LONGEST_RUN])]

    return words


SEGMENTERS = ("chars", "jieba", "forward-max", "backward-max", "bidirectional", "min-cut")


def version() -> str:
    """Return name and version of the package with the dictionary.

    Raises:
        MissingExtra: It is not installed.
    """
    from importlib.metadata import version as version_of

    _rjieba()
    return f"rjieba {version_of('rjieba')}"


def most_probable(run: str) -> list[str]:
    """Return the words of a run as jieba finds them, unknown words by its hidden Markov model."""
    found: list[str] = _rjieba().cut(run, True)
    return found


def forward_maximum(run: str) -> list[str]:
    """Return the words of a run: from its start, always the longest of the dictionary."""
    longest = [1] * len(run)
    for start, end in dictionary_words(run):
        longest[start] = max(longest[start], end - start)
    words = []
    place = 0
    while place < len(run):
        words.append(run[place : place + longest[place]])
        place += longest[place]
    return words


def backward_maximum(run: str) -> list[str]:
    """Return the words of a run: from its end, always the longest of the dictionary."""
    longest = [1] * (len(run) + 1)
    for start, end in dictionary_words(run):
        longest[end] = max(longest[end], end - start)
    words = []
    place = len(run)
    while place:
        words.append(run[place - longest[place] : place])
        place -= longest[place]
    return words[::-1]


def bidirectional(run: str) -> list[str]:
    """Return the better of both maximum matchings of a run.

    The one with fewer words; else the one with fewer words of one character; else the backward one,
    which is right more often.
    """
    forward, backward = forward_maximum(run), backward_maximum(run)
    if (len(forward), _single(forward)) < (len(backward), _single(backward)):
        return forward
    return backward


def fewest_cuts(run: str) -> list[str]:
    """Return as few words of the dictionary as make up a run: the shortest path through it.

    Of several such ways the one with the fewest words of one character; of these the one whose
    last word is the longest, then the one before it, and so on.
    """
    starts: list[list[int]] = [[] for _ in range(len(run) + 1)]
    for start, end in dictionary_words(run):
        starts[end].append(start)
    # Words and words of one character up to each place, and where the last of them begins.
    best = [(0, 0)]
    begins = [0]
    for end in range(1, len(run) + 1):
        words, singles = best[end - 1]
        options = [((words + 1, singles + 1), end - 1)]
        options += [((best[start][0] + 1, best[start][1]), start) for start in starts[end]]
        cost, begin = min(options)
        best.append(cost)
        begins.append(begin)
    found = []
    place = len(run)
    while place:
        found.append(run[begins[place] : place])
        place = begins[place]
    return found[::-1]


def dictionary_words(run: str) -> list[tuple[int, int]]:
    """Return where the dictionary's words of two characters and more stand in a run.

    Returns:
        (start, end) of each, ascending.
    """
    places: list[tuple[int, int]] = []
    start, end = 0, 0
    # Jieba's full mode names all words, by where they begin, then by length, without the places.
    for word in _rjieba().cut_all(run):
        if len(word) < 2:
            continue
        if len(word) <= end - start or not run.startswith(word, start):
            start = run.index(word, start + 1 if places else 0)
        end = start + len(word)
        places.append((start, end))
    return places


def _single(words: list[str]) -> int:
    return sum(len(word) == 1 for word in words)


def _rjieba() -> ModuleType:
    try:
        import rjieba
    except ImportError as error:
        raise MissingExtra("cutting Chinese into words", "segment") from error
    module: ModuleType = rjieba
    return module
