"""The feature hashes against plain forms of their published definitions, and known values."""

from __future__ import annotations

import itertools

import numpy as np
from oracle_hashes import HASHES

from simstore.fingerprint.feature_hash import FEATURE_HASHES, feature_hashes
from simstore.fingerprint.web import WebScheme

TERMS = [
    "a", "ab", "hello", "the", "搜索", "搜索引擎技术", "網", "Ünïcode", "カタ",
    "\U0001f600", "x" * 40,
]  # fmt: skip


def as_numbers(words: np.ndarray, bits: int) -> list[int]:
    """Return the first ``bits`` bits of each row."""
    width = 64 * words.shape[1]
    return [int.from_bytes(row.astype(">u8").tobytes(), "big") >> (width - bits) for row in words]


def hashed(term: str, bits: int, name: str) -> int:
    return as_numbers(feature_hashes([term.encode()], bits, name), bits)[0]


def test_hashes_are_their_definitions() -> None:
    for term, bits in itertools.product(TERMS[3:7], (1, 3, 63, 64, 65, 128)):
        for name, oracle in HASHES.items():
            if name != "hanzi" or bits <= 64:
                assert hashed(term, bits, name) == oracle(term, bits), (term, bits, name)


def test_old_string_hash_of_python_2() -> None:
    # hash("a") and hash("hello") of a 64-bit CPython 2.7 without -R, as unsigned numbers.
    assert hashed("a", 64, "poly1000003") == 12416037344
    assert hashed("hello", 64, "poly1000003") == 840651671246116861


def test_hanzi_of_the_slides_is_what_their_code_answers() -> None:
    for term, expected in (
        ("文", 0xB27593AC9D64EB27),
        ("文章", 0xD9A4AFF6692BFD9A),
        ("搜索引", 0xD934111C8BB26822),
        ("搜索引擎", 0x3212FFB9152AA321),
        ("北京大学生", 0x0A4F0E3A0866247D),
        ("中华人民共和国", 0x85B67F8D8A43C82C),
        ("繁體", 0x99011BA64046E990),
        ("abcd", 0x2867F361C43C0286),
        ("similar", 0x0172213D26B824FA),
        ("·", 0xAA6D536A9B54DAA6),
        ("・", 0xA80D406A03501A81),
        ("é", 0xD14E8A7453A29D15),
        ("\U00020bb7", 0xD24B333492CCCD24),
    ):
        # Printed by the slides' getSimHash(String), compiled and run by OpenJDK 17.
        assert hashed(term, 64, "hanzi-slides") == expected, term
        same = len(term) < 5 and "?" not in term.encode("gb2312", "replace").decode("gb2312")
        assert (hashed(term, 64, "hanzi") == expected) is same, term


def test_hanzi_of_wide_fingerprints_fills_128_bits() -> None:
    assert hashed("阿", 128, "hanzi") == sum(1 << 13 * n for n in range(10))


def test_many_features_have_the_hashes_of_each() -> None:
    for bits in (48, 128):
        for name in sorted(FEATURE_HASHES):
            terms = [term.encode() for term in TERMS] + [b"\xed\xb3\xbf"]
            together = feature_hashes(terms, bits, name)
            assert together.shape == (len(terms), 1 if bits <= 64 else 2), (bits, name)
            assert together.dtype == np.uint64, (bits, name)
            alone = [feature_hashes([term], bits, name)[0].tolist() for term in terms]
            number = FEATURE_HASHES[name]
            assert together.tolist() == alone, (bits, name)
            assert as_numbers(together, bits) == [number(term, bits) % 2**bits for term in terms], (
                bits,
                name,
            )
            assert feature_hashes([], bits, name).shape == (0, together.shape[1]), (bits, name)


def test_schemes_of_different_hashes_have_different_answers() -> None:
    answers = {WebScheme(feature_hash=name).known_answers() for name in FEATURE_HASHES}
    assert len(answers) == len(FEATURE_HASHES)
