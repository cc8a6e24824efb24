"""Feature settings: turn texts into features by normalization, token type and n-gram size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

import numpy as np

from simstore.errors import InvalidParameter
from simstore.text import segmentation
from simstore.text.disguises import KNOWN_DISGUISES
from simstore.text.folding import HAN_RUN
from simstore.text.normalization import FOLDED, Normalization
from simstore.text.scan_kernels import Cut
from simstore.text.scanning import Scanned, scan_texts, with_terms
from simstore.text.words import overlapping_pairs, spaced, terms

UNITS = ("words", "characters")
MAX_SHINGLE = 64
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class FeatureRecipe:
    """Feature settings: how a text becomes features.

    Attributes:
        normalization: What counts as one form.
        units: ``words`` (for scripts without blanks between words: what ``segmenter`` says) or
            ``characters`` (of the text with one blank for each run of separators).
        segmenter: How runs of Han characters are cut. ``chars``: into overlapping 2-grams, or,
            where more than one unit makes a feature, into characters; others into words: see
            :mod:`simstore.text.segmentation`. Other scripts without blanks are always cut as by
            ``chars``.
        shingle: Consecutive units that make one feature, 1 to 64; a text with fewer is one feature.
        stem: ``none``, or the language whose words are replaced by their stems.

    Raises:
        InvalidParameter: An option is out of range or does not fit another.
    """

    normalization: Normalization = FOLDED
    units: str = "words"
    segmenter: str = "chars"
    shingle: int = 1
    stem: str = "none"

    def __post_init__(self) -> None:
        if self.units not in UNITS:
            raise InvalidParameter(f"units {self.units!r}: choose one of {', '.join(UNITS)}")
        if not 1 <= self.shingle <= MAX_SHINGLE:
            raise InvalidParameter(f"shingle {self.shingle}: it must be from 1 to {MAX_SHINGLE}")
        for option in ("segmenter", "stem"):
            plain = "chars" if option == "segmenter" else "none"
            if self.units == "characters" and getattr(self, option) != plain:
                raise InvalidParameter(
                    f"{option} {getattr(self, option)!r} needs the units words, not characters"
                )
        if self.segmenter != "chars":
            segmentation.segmenter(self.segmenter)
        if self.stem != "none":
            from simstore.text import stemming

            stemming.stemmer(self.stem)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the recipe with the result of :meth:`parameters`; absent ones are the defaults."""
        named = parameters.get("normalization")
        return cls(
            FOLDED if named is None else Normalization.from_parameters(named),
            parameters.get("units", "words"),
            parameters.get("segmenter", "chars"),
            parameters.get("shingle", 1),
            parameters.get("stem", "none"),
        )

    def parameters(self) -> dict[str, Any]:
        """Return the options that are not the defaults, with the versions of packages they use."""
        found: dict[str, Any] = {}
        if self.normalization != FOLDED:
            found["normalization"] = self.normalization.parameters()
        if self.units != "words":
            found["units"] = self.units
        if self.segmenter != "chars":
            found["segmenter"] = self.segmenter
            found["dictionary"] = segmentation.version()
        if self.shingle != 1:
            found["shingle"] = self.shingle
        if self.stem != "none":
            from simstore.text import stemming

            found["stem"] = self.stem
            found["stemmer"] = stemming.version()
        return found

    @property
    def counts_terms(self) -> bool:
        """Return whether each feature is a term as it stands in the text."""
        return self.units == "words" and self.shingle == 1 and self.stem == "none"

    @property
    def scannable(self) -> bool:
        """Return whether the compiled scanner cuts a text into these features."""
        return self.counts_terms and self.segmenter == "chars"

    @property
    def known_texts(self) -> tuple[str, ...]:
        """Return texts whose features show which tables and packages take part."""
        found: tuple[str, ...] = ()
        if self.normalization.folds_phrases:
            found += (_HAN_TEXT,)
        if self.normalization.disguises == "fold":
            found += KNOWN_DISGUISES
        if self.segmenter != "chars":
            found += (_WORDS_TEXT,)
        if self.stem != "none":
            found += (_STEMS_TEXT,)
        return found

    def extractor(
        self, stopwords: frozenset[bytes] = frozenset()
    ) -> Callable[[str], Iterator[list[str]]]:
        """Return a function from a text to its features in order; for one thread only.

        Args:
            stopwords: Terms that are left out before stems and shingles are made.

        Returns:
            A function that yields the features with repetitions, in lists of bounded size for
            long texts.
        """
        if self.units == "characters":
            return lambda text: _grams(spaced(text, self.normalization), self.shingle)
        cut = self._cut()
        if self.counts_terms and not stopwords:
            return lambda text: iter((terms(text, self.normalization, cut),))
        left_out = {word.decode("utf-8", "surrogatepass") for word in stopwords}
        stem = None
        if self.stem != "none":
            from simstore.text import stemming

            stem = stemming.stemmer(self.stem)

        def features(text: str) -> Iterator[list[str]]:
            units = [u for u in terms(text, self.normalization, cut) if u not in left_out]
            if stem is not None:
                units = [stem(unit) for unit in units]
            return _shingles(units, self.shingle)

        return features

    def _cut(self) -> Callable[[str], list[str]]:
        plain: Callable[[str], list[str]] = overlapping_pairs if self.shingle == 1 else list
        if self.segmenter == "chars":
            return plain
        to_words = segmentation.segmenter(self.segmenter)

        def cut(run: str) -> list[str]:
            found: list[str] = []
            place = 0
            for han in HAN_RUN.finditer(run):
                if place < han.start():
                    found += plain(run[place : han.start()])
                found += to_words(han.group())
                place = han.end()
            if place < len(run):
                found += plain(run[place:])
            return found

        return cut


def scan_terms(texts: Sequence[str], recipe: FeatureRecipe, *, apart: bool = False) -> Scanned:
    """Cut texts into the features of a scannable recipe, compiled.

    Args:
        texts: The texts.
        recipe: How they become features.
        apart: Features of characters are keys, not terms.
    """
    scanned = scan_texts(texts, recipe.normalization, Cut(apart=apart))
    return with_terms(scanned, _terms_of_unscanned(texts, scanned, recipe))


def scan_words(texts: Sequence[str], recipe: FeatureRecipe) -> Scanned | None:
    """Cut texts into words that are their features and the tokens of their shingles, compiled.

    Args:
        texts: The texts.
        recipe: How they become features.

    Returns:
        None where the two are not the same: a text has characters of a script without blanks, or
        only such as its normalized form leaves out, which are features and no tokens.
    """
    scanned = scan_texts(texts, recipe.normalization, Cut(apart=True))
    if len(scanned.keys):
        return None
    others = _terms_of_unscanned(texts, scanned, recipe)
    apply = recipe.normalization.apply
    if any(terms and not apply(texts[text]).split() for text, terms in others.items()):
        return None
    return with_terms(scanned, others)


def _terms_of_unscanned(
    texts: Sequence[str], scanned: Scanned, recipe: FeatureRecipe
) -> dict[int, list[bytes]]:
    """Return the features of the texts in which the scanner found none, by their places."""
    extract = recipe.extractor()
    return {
        text: [
            term.encode("utf-8", "surrogatepass") for part in extract(texts[text]) for term in part
        ]
        for text in np.flatnonzero(np.diff(scanned.offsets + scanned.key_offsets) == 0).tolist()
    }


def _shingles(units: list[str], size: int) -> Iterator[list[str]]:
    """Yield runs of ``size`` units, each joined by blanks (no unit holds one)."""
    if size == 1 or not units:
        yield units
        return
    size = min(size, len(units))
    last = len(units) - size
    joined = (" ".join(units[start : start + size]) for start in range(last + 1))
    while piece := list(islice(joined, _PIECE)):
        yield piece


def _grams(text: str, size: int) -> Iterator[list[str]]:
    """Yield the runs of ``size`` characters of a text; single blanks are none."""
    if size == 1:
        text = text.replace(" ", "")
    last = max(len(text) - size, 0) if text else -1
    for start in range(0, last + 1, _PIECE):
        yield [text[i : i + size] for i in range(start, min(start + _PIECE, last + 1))]


# Phrases, variants and terms that OpenCC's dictionaries have changed, or may change.
_HAN_TEXT = (
    "軟體開發者用滑鼠打開資料夾裡的檔案，列印後覆寫記憶體與硬碟。乾隆年間乾旱，麵條鐘錶，"
    "頭髮發現，皇后之後，著作看著，臺灣台風颱風，里程裏面，雲端伺服器資訊網路程式，"
    "計程車塞車，馬鈴薯優格鳳梨，釐米公厘，甚麼什麽，爲爲為線綫，羣眾床牀。"
)
# Runs where the ways to cut differ, and names that no dictionary has.
_WORDS_TEXT = (
    "研究生命起源的学生说，结婚的和尚未结婚的都要登记。乒乓球拍卖完了，武汉市长江大桥通车。"
    "小林杏子和郝思嘉昨天在区块链峰会上演讲，人工智能模型训练成本下降。他说的确实在理。"
)
# Inflected words of languages that Snowball stems.
_STEMS_TEXT = (
    "running runner easily nationalities generously skies dying argued internally "
    "laufenden häuser kategorischen aufgegangen continuellement chevaux majestueusement nationales "
    "corriendo canciones felizmente trabajadores correndo nazionali abbandonata canções fazendo "
    "lopende mogelijkheden flickornas springande bilernes løbende kirjoissammekin házainkban "
    "çalışıyorlar kitaplarımızdan copiilor frumoaselor книгами бегающих красивейший αυτοκινήτων "
    "θαλασσών الكتابات والمدارس लड़कियों किताबों gražiausias knygomis pembelajaran "
    "kinahanapuyan leabharlanna maisons etxeetan կանանց"
)
