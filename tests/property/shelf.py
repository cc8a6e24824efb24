"""A passage index in memory, with plain loops: what a check asks, without a database."""

import numpy as np

from simstore.fingerprint.winnowing import DEFAULT_WINNOWING, anchors
from simstore.model.documents import SourceFacts
from simstore.services.check.check_index import AnchorPostings
from simstore.text.located import located_units
from simstore.text.normalization import DEFAULT


def around(units, first, last, winnowing):
    """What an anchor tells of the units around it."""
    kinds = set(units.spaced[first : last + 1].tolist())
    if kinds == {True}:
        reach = winnowing.run_words - winnowing.gram_words
    elif kinds == {False}:
        reach = winnowing.run_characters - winnowing.gram_characters
    else:
        reach = winnowing.run_mixed - winnowing.gram_mixed
    bits = max(8 // reach, 1)
    sides = [0, 0]
    for side, (place, step) in enumerate(((first, -1), (last, 1))):
        for n in range(8 // bits):
            place += step
            if 0 <= place < len(units):
                sides[side] += int(units.hashes[place]) % 2**bits << bits * n
    return min(256 * sides[0] + sides[1] + 1, 65535)


class Shelf:
    """The anchors of texts, by hash; documents are numbered from 1."""

    def __init__(self, texts, winnowing=DEFAULT_WINNOWING):
        self.normalization = DEFAULT
        self.winnowing = winnowing
        self.documents = dict(enumerate(texts, 1))
        self.rows = {}
        self.looked_up, self.read = [], []
        for number, text in self.documents.items():
            units = located_units(text, DEFAULT)
            chosen = anchors(units, winnowing)
            for value, first, last in zip(
                chosen.hashes.tolist(), chosen.first, chosen.last, strict=True
            ):
                start = int(units.starts[first])
                length = around(units, first, last, winnowing)
                self.rows.setdefault(value, []).append((number, start, length))

    def postings(self, hashes, most=None):
        self.looked_up += hashes.tolist()
        found = [
            (value, *row)
            for value in hashes.tolist()
            for row in self.rows.get(value, ())
            if most is None or len(self.rows[value]) <= most
        ]
        columns = list(zip(*found, strict=True)) or [(), (), (), ()]
        return AnchorPostings(
            np.array(columns[0], np.uint64),
            *(np.array(column, np.int64) for column in columns[1:]),
        )

    def texts(self, document_ids):
        self.read += document_ids
        return {number: self.documents[number] for number in document_ids}

    def keys(self, document_ids):
        return {number: f"d{number}".encode() for number in document_ids}

    def facts(self, document_ids):
        return {number: SourceFacts(title=f"Document {number}") for number in document_ids}
