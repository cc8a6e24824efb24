"""The recipe of ``web`` in plain loops, and texts to try it on; the standard library alone.

Written from docs/reference/schemes.md and docs/explanation/detection.md, to be read beside them.
It shares no code with the package, so that a mistake made there is not made here a second time.
"""

from __future__ import annotations

import random
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

SHINGLE_TOKENS = 3
# Of the documented characters that are dropped, those that the texts below have.
_INVISIBLE = dict.fromkeys([0x00AD, 0x200D, 0xFEFF, 0xFE0F])
_SOFT_BREAK = re.compile("\u00ad\r?\n[ \t]*")
# The Cyrillic and Greek capitals of the texts below that look like Latin ones.
_LOOK_LATIN = str.maketrans("АЕКРΑΟΡ", "AEKPAOP")
# So many words away another one tells of which script a look-alike is.
_FAR = 8
# First and last of the blocks whose letters stand alone, as far as the texts below go.
_ALONE = ((0x0E00, 0x0FFF), (0x3040, 0x318F), (0x4E00, 0xA4CF), (0xAC00, 0xD7FF))


@dataclass(frozen=True)
class Recipe:
    """How a text is cut.

    Attributes:
        keep_case: Upper and lower case differ.
        strip_accents: Marks of Latin letters are dropped.
        shingle: So many units make a feature.
        least_features: Texts of fewer features are too short to be judged by their likeness.
        stop: Features are words of ASCII letters, but for these; None: those of ``web``.
    """

    keep_case: bool = False
    strip_accents: bool = False
    shingle: int = 1
    least_features: int = 8
    stop: frozenset[str] | None = None


def form(text: str, recipe: Recipe) -> str:
    """Return the one form of a text."""
    if recipe.stop is None:
        text = _unmasked(text)
    text = unicodedata.normalize("NFKC", text.translate(_INVISIBLE))
    if not recipe.keep_case:
        text = unicodedata.normalize("NFKC", text.casefold())
    if recipe.strip_accents:
        plain = unicodedata.normalize("NFD", text)
        plain = "".join(one for one in plain if not 0x300 <= ord(one) <= 0x36F)
        text = unicodedata.normalize("NFKC", plain)
    return text


def _unmasked(text: str) -> str:
    """Return a text without the disguises that those below have by chance.

    A soft hyphen joins what a line breaks, and a word of look-alikes alone between Latin words is a
    Latin one ("One form" in docs/reference/schemes.md): of the words below РЕКА, not река.
    """
    text = _SOFT_BREAK.sub("", text).translate(_INVISIBLE)
    words = _words(text)
    scripts = [_script(text[start:end]) for start, end in words]
    made, done = [], 0
    for at, (start, end) in enumerate(words):
        if scripts[at] != "look-alike":
            continue
        before = [one for one in scripts[max(at - _FAR, 0) : at] if one in ("latin", "other")]
        after = [one for one in scripts[at + 1 : at + 1 + _FAR] if one in ("latin", "other")]
        beside = {*before[-1:], *after[:1]}
        if beside == {"latin"}:
            made += [text[done:start], text[start:end].translate(_LOOK_LATIN)]
            done = end
    return "".join([*made, text[done:]])


def _words(text: str) -> list[tuple[int, int]]:
    """Return where the words of scripts with blanks stand."""
    words: list[tuple[int, int]] = []
    for place, one in enumerate(text):
        if unicodedata.category(one)[0] not in "LMN" or _stands_alone(one):
            continue
        if words and words[-1][1] == place:
            words[-1] = words[-1][0], place + 1
        else:
            words.append((place, place + 1))
    return words


def _script(word: str) -> str:
    """Return ``latin``, ``look-alike``, ``other``, or nothing for a word without letters."""
    kinds = set()
    for one in word:
        name = unicodedata.name(one, "")
        if name.startswith(("CYRILLIC", "GREEK")):
            kinds.add("look-alike" if ord(one) in _LOOK_LATIN else "other")
        elif name.startswith(("LATIN", "FULLWIDTH LATIN")):
            kinds.add("latin")
    if "other" in kinds:
        return "other"
    return "look-alike" if "look-alike" in kinds else "".join(kinds)


def _stands_alone(one: str) -> bool:
    return any(first <= ord(one) <= last for first, last in _ALONE)


def _runs(formed: str) -> list[tuple[bool, str]]:
    """Return runs of letters, marks and digits, and whether their characters stand alone."""
    runs: list[tuple[bool, str]] = []
    before: bool | None = None
    for one in formed:
        if unicodedata.category(one)[0] not in "LMN":
            before = None
            continue
        alone = _stands_alone(one)
        if alone == before:
            runs[-1] = alone, runs[-1][1] + one
        else:
            runs.append((alone, one))
        before = alone
    return runs


@lru_cache(4_096)
def tokens(text: str, recipe: Recipe) -> tuple[str, ...]:
    """Return the tokens that shingles are made of."""
    formed = form(text, recipe)
    found: list[str] = []
    for alone, run in _runs(formed):
        found += list(run) if alone else [run]
    return tuple(found or formed.split())


@lru_cache(4_096)
def shingles(text: str, recipe: Recipe) -> frozenset[tuple[str, ...]]:
    """Return the set of runs of three tokens; all tokens where there are fewer."""
    found = tokens(text, recipe)
    if not found:
        return frozenset()
    if len(found) < SHINGLE_TOKENS:
        return frozenset([found])
    return frozenset(
        found[at : at + SHINGLE_TOKENS] for at in range(len(found) - SHINGLE_TOKENS + 1)
    )


@lru_cache(4_096)
def feature_count(text: str, recipe: Recipe) -> int:
    """Return how many features a text has, repetitions counted."""
    if recipe.stop is not None:
        words = re.findall(
            "[a-z]+", text.encode("utf-8", "surrogateescape").lower().decode("latin-1")
        )
        return sum(word not in recipe.stop for word in words)
    formed = form(text, recipe)
    count = 0
    for alone, run in _runs(formed):
        count += len(run) - 1 if alone and recipe.shingle == 1 and len(run) > 1 else 0
        count += len(run) if alone and recipe.shingle > 1 else 0
        count += 1 if not alone or (recipe.shingle == 1 and len(run) == 1) else 0
    count = count or len(formed.split()) or len(text.split())
    return max(count - recipe.shingle + 1, 1) if count else 0


def resemblance(one: str, other: str, recipe: Recipe) -> float:
    """Return the share of shingles that two texts have in common; 0 where one has none."""
    first, second = shingles(one, recipe), shingles(other, recipe)
    if not first or not second:
        return 0.0
    return len(first & second) / len(first | second)


def containment(one: str, other: str, recipe: Recipe) -> float:
    """Return the share of the first text's shingles that the second has."""
    first, second = shingles(one, recipe), shingles(other, recipe)
    return len(first & second) / len(first) if first and second else 0.0


def miss_probability(share: float, bands: int, rows: int) -> float:
    """Return how probably two sketches of such a resemblance agree in no band."""
    return float((1 - share**rows) ** bands)


WORDS = (
    "river", "stone", "lamp", "harbour", "bridge", "tide", "boat", "oar", "rain", "mill", "corn",
    "the", "of", "a", "and", "Fähre", "ΑΓΟΡΑ", "река", "ﬁsh", "ｗｉｄｅ", "cafe\u0301", "café",
    "42", "1936", "it's", "soft\u00adhyphen",
)  # fmt: skip
_HAN = "船在河上走风很大灯塔的光照着港口石桥下水流缓慢"
ODD = (
    "", " ", "a", "\0", "a\0b", "\n\n\t", "!!! ???", "—", "灯", "灯塔", "カナ", "กข", "한글 글자",
    "\ufeff", "\u200d", "🚢", "🚢 🚢 ⚓", "I", "ı", "İ", "ß", "ẞ", "ǅ", "x" * 3_000, "\u0301",
    "a\u0301" * 20, "river stone", "river stone lamp", "RIVER Stone lamp", "0", "١٢٣", "½ ⅓",
    "a\u2028b", "\x1c\x1f", "e" + "\u0301" * 45, "null", "<p>river</p>", "%s %d {}",
    "'; DROP TABLE document; --",
)  # fmt: skip
# Only the Python interface takes bytes that are no UTF-8.
UNDECODED = ("\udce9", "caf\udce9 of the old harbour", "river \udcff stone \udc80 lamp")
KEYS = (
    "a", "A", "a ", " a", "á", "a\u0301", "а", "０", "0", "00", "-", "--", "-x", "key,with,commas",
    'quo"te', "it's", "tab\there", "灯塔", "🚢", "k" * 900, "%", "_", "a%", "https://a.example/x?y=1",
    "https://a.example/x?y=2", "http://a.example/x", "None", "null", "../up", "a/b", "é", "É",
)  # fmt: skip
ODD_KEYS = ("caf\udce9", "\udc80", "line\nbreak", "\x01")


class Texts:
    """Makes texts by chance: families whose members share much, and odd ones.

    Args:
        chance: Where all chance comes from.
        undecoded: Whether texts may hold bytes that are no UTF-8.
    """

    def __init__(self, chance: random.Random, *, undecoded: bool) -> None:
        self._chance = chance
        self._undecoded = undecoded
        self.made: list[str] = []
        words = chance.sample(WORDS, chance.randint(5, len(WORDS)))
        self._families = [
            [chance.choice(words) + chance.choice(("", "", str(at))) for at in range(size)]
            for size in (chance.choice((3, 6, 9, 14, 24, 40)) for _ in range(chance.randint(2, 4)))
        ]

    def text(self) -> str:
        """Return a text: one made before, one near it, one of a family, or an odd one."""
        made = self._make()
        self.made.append(made)
        return made

    def _make(self) -> str:
        chance = self._chance
        kind = chance.random()
        if kind < 0.2 and self.made:
            return chance.choice(self.made)
        if kind < 0.45 and self.made:
            return self._edited(chance.choice(self.made))
        if kind < 0.55:
            if self._undecoded and chance.random() < 0.3:
                return chance.choice(UNDECODED)
            return chance.choice(ODD)
        if kind < 0.63:
            return "".join(chance.choice(_HAN) for _ in range(chance.choice((2, 5, 12, 40))))
        if kind < 0.64:
            return " ".join(chance.choice(WORDS) for _ in range(4_000))
        family = chance.choice(self._families)
        if kind < 0.8:
            start = chance.randrange(len(family))
            return " ".join(family[start:] + family[:start])
        return self._edited(" ".join(family))

    def _edited(self, text: str) -> str:
        chance = self._chance
        words = text.split(" ")
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            at = chance.randrange(len(words))
            edit = chance.randrange(5)
            if edit == 0:
                words[at] = chance.choice(WORDS)
            elif edit == 1:
                words.insert(at, chance.choice(WORDS))
            elif edit == 2 and len(words) > 1:
                del words[at]
            elif edit == 3:
                words[at] = words[at].upper()
            else:
                words[at] += chance.choice((",", ".", " ", "\n", "\u00ad"))
        return " ".join(words)
