"""Tokenize texts in compiled code (Numba): from bytes to numbered terms.

Three cuts of a text, by flags: words of ASCII letters (the course tool's), terms (words, and pairs
of the characters of scripts without blanks) and tokens (words, and those characters alone).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.text.characters import class_table
from simstore.text.disguises import kind_table, without_disguises
from simstore.text.forms import FormTables, form_tables
from simstore.text.normalization import Normalization
from simstore.text.scan_kernels import (
    DEPENDS,
    IS_INDEXED,
    SCAN,
    STATE_SIZE,
    TERMS,
    USED_CHUNKS,
    Cut,
    Places,
    Terms,
    Texts,
)

# Bytes after the last text that the scanner may read.
PADDING = 16
# Text for each slot of the table of terms, at first; it grows. Pairs of characters are many.
_BYTES_A_SLOT = 64
_WIDE_CHARACTERS_A_SLOT = 2
_LEAST_BITS, _MOST_BITS = 12, 18


@dataclass(frozen=True, slots=True)
class Scanned:
    """The terms of a batch of texts, numbered by their first occurrence.

    Attributes:
        numbers: The term at each place of each text, in order; int32, shape (places,).
        offsets: Text d has the places ``offsets[d]:offsets[d + 1]``; int64, shape (texts + 1,).
        chunks: The bytes of the terms, each begun at a new chunk and filled up with zeros; uint64.
        starts: First chunk of each term; int64, shape (terms,).
        lengths: Bytes of each term; int64, shape (terms,).
        keys: Where they were asked for apart, the bytes of each pair of characters at each of its
            places, the first byte lowest; they are no terms then; uint64.
        key_offsets: Text d has the keys ``key_offsets[d]:key_offsets[d + 1]``; int64, shape
            (texts + 1,).
    """

    numbers: NDArray[np.int32]
    offsets: NDArray[np.int64]
    chunks: NDArray[np.uint64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    keys: NDArray[np.uint64]
    key_offsets: NDArray[np.int64]


def windows_of(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the eight bytes from each place on as a number, the first byte lowest.

    Args:
        data: The bytes, with PADDING bytes after the last that matters.
    """
    found: NDArray[np.uint64] = np.ndarray((len(data) - 7,), np.uint64, data, strides=(1,))
    found.flags.writeable = False
    return found


def scan(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    formed: NDArray[np.bool_],
    tables: FormTables,
    cut: Cut,
    wide_characters: int = 0,
) -> Scanned:
    """Cut texts into terms.

    Args:
        data: The bytes of all texts, with PADDING more; after each text a byte that separates.
        starts: First byte of each text.
        ends: The byte after each text.
        formed: Whether a text is in its form already, and the tables are not for it.
        tables: Form of each code point; -2 must not occur.
        cut: How to cut.
        wide_characters: About how many characters of several bytes there are.
    """
    size = int((ends - starts).sum())
    expected = size // _BYTES_A_SLOT + wide_characters // _WIDE_CHARACTERS_A_SLOT
    slots = 1 << min(max(expected.bit_length(), _LEAST_BITS), _MOST_BITS)
    half = slots // 2
    terms = Terms(
        table=np.zeros(2 * slots, np.uint64),
        chunks=np.empty(slots, np.uint64),
        firsts=np.empty(half, np.int64),
        lengths=np.empty(half, np.int64),
    )
    # Untouched memory costs nothing; no ASCII text has more terms.
    places = Places(
        numbers=np.empty(size // 2 + len(starts) + 1, np.int32),
        offsets=np.zeros(len(starts) + 1, np.int64),
        keys=np.empty(size // 3 + 1 if cut.apart else 0, np.uint64),
        key_offsets=np.zeros(len(starts) + 1, np.int64),
    )
    windows, texts = windows_of(data), Texts(starts, ends, formed)
    state = np.zeros(STATE_SIZE, np.int64)
    text = 0
    while True:
        text = SCAN(windows, texts, text, tables, cut, terms, places, state)
        if text == len(starts):
            break
        # An array is full; the text is begun anew, and finds the terms that it has added.
        count = int(state[TERMS])
        if 2 * count + 4 >= slots:
            slots *= 2
            terms = terms._replace(
                table=np.zeros(2 * slots, np.uint64),
                firsts=_grown(terms.firsts, slots // 2, count),
                lengths=_grown(terms.lengths, slots // 2, count),
            )
            state[IS_INDEXED] = 0
        else:
            used = int(state[USED_CHUNKS])
            terms = terms._replace(chunks=_grown(terms.chunks, 2 * len(terms.chunks), used))
            done, keyed = int(places.offsets[text]), int(places.key_offsets[text])
            places = places._replace(
                numbers=_grown(places.numbers, 2 * len(places.numbers), done),
                keys=_grown(places.keys, 2 * len(places.keys), keyed),
            )
    count = int(state[TERMS])
    return Scanned(
        places.numbers[: places.offsets[-1]],
        places.offsets,
        terms.chunks[: state[USED_CHUNKS]],
        terms.firsts[:count],
        terms.lengths[:count],
        places.keys[: places.key_offsets[-1]],
        places.key_offsets,
    )


def _grown(array: NDArray[Any], size: int, used: int) -> NDArray[Any]:
    """Return a longer array that begins as another: memory that is not used yet stays untouched."""
    longer = np.empty(size, array.dtype)
    longer[:used] = array[:used]
    return longer


def depends_on_neighbours(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    forms: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return which texts have a code point whose form depends on its neighbours."""
    found: NDArray[np.bool_] = DEPENDS(windows_of(data), starts, ends, forms)
    return found


def scan_texts(texts: Sequence[str], normalization: Normalization, cut: Cut) -> Scanned:
    """Cut texts of any language into terms; a text of none has no places.

    Args:
        texts: The texts.
        normalization: Their form.
        cut: How to cut, but that ``case`` is the normalization's.
    """
    cut = cut._replace(case=normalization.case == "fold")
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    together = joined(encoded)
    if normalization.disguises == "fold":
        chosen = texts_to_fold(*together)
        if len(chosen):
            texts = list(texts)
            for place in chosen.tolist():
                texts[place] = without_disguises(texts[place])
                encoded[place] = texts[place].encode("utf-8", "surrogatepass")
            together = joined(encoded)
    formed = np.array([not text.isascii() for text in texts], bool)
    # Folded by phrases, such texts are brought into their form before.
    tables = form_tables(
        replace(normalization, han="keep") if normalization.folds_phrases else normalization,
        of_ascii=not formed.any(),
    )
    if formed.any() and not normalization.folds_phrases:
        formed &= depends_on_neighbours(*together, tables.forms)
    odd = np.flatnonzero(formed).tolist()
    for place in odd:
        encoded[place] = normalization.form(texts[place]).encode("utf-8", "surrogatepass")
    if odd:
        together = joined(encoded)
    wide = (
        (sum(map(len, encoded)) - sum(map(len, texts))) // 2 if cut.pairs and not cut.apart else 0
    )
    return scan(*together, formed, tables, cut, wide)


def texts_to_fold(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the places of texts in which disguises may be folded; in the others there are none.

    Args:
        data: What :func:`joined` made of the texts, as for ``starts`` and ``ends``.
        starts: The first byte of each.
        ends: The byte after each.
    """
    from simstore.text.disguise_scan import MAY_FOLD  # a query of few texts needs it not

    may = MAY_FOLD(windows_of(data), starts, ends, kind_table(), class_table())
    found: NDArray[np.int64] = np.flatnonzero(may)
    return found


def joined(
    texts: Sequence[bytes],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return texts as one array with what the scanner wants between and after them.

    Returns:
        The bytes, the first place of each text, and the place after it.
    """
    data = np.frombuffer(b"\n".join((*texts, bytes(PADDING))), np.uint8)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.cumsum(lengths + 1) - 1
    return data, ends - lengths, ends


def with_terms(scanned: Scanned, others: Mapping[int, Sequence[bytes]]) -> Scanned:
    """Return what was scanned with terms for texts in which the scanner found none.

    Args:
        scanned: What the scanner found.
        others: By text the terms it has instead; none of them is one that the scanner found.
    """
    if not any(others.values()):
        return scanned
    known: dict[bytes, int] = {}
    count = len(scanned.starts)
    made: dict[int, NDArray[np.int32]] = {
        text: np.array([known.setdefault(term, count + len(known)) for term in terms], np.int32)
        for text, terms in others.items()
    }
    counts = np.diff(scanned.offsets)
    for text, numbers in made.items():
        counts[text] = len(numbers)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    pieces: list[NDArray[np.int32]] = []
    done = 0
    for text in sorted(made):
        place = int(scanned.offsets[text])
        pieces += [scanned.numbers[done:place], made[text]]
        done = place
    sizes = np.array([-(-len(term) // 8) for term in known], np.int64)
    padded = b"".join(term.ljust(8 * int(n), b"\0") for term, n in zip(known, sizes, strict=True))
    firsts = len(scanned.chunks) + np.cumsum(sizes) - sizes
    return Scanned(
        np.concatenate((*pieces, scanned.numbers[done:])),
        offsets,
        np.concatenate((scanned.chunks, np.frombuffer(padded, np.uint64))),
        np.concatenate((scanned.starts, firsts)),
        np.concatenate((scanned.lengths, np.array([len(term) for term in known], np.int64))),
        scanned.keys,
        scanned.key_offsets,
    )
