"""The feature hashes against plain forms of their published definitions, and known values."""

from __future__ import annotations

import hashlib

import numpy as np
import xxhash

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


def old_python_hash(text: str, bits: int) -> int:
    """The loop as it stands in the SimHash programs of that time."""
    x = ord(text[0]) << 7
    for c in text:
        x = (x * 1000003 ^ ord(c)) % 2**bits
    return (x ^ len(text)) % 2**bits


def digits_of_han(text: str) -> int:
    """behaviour: base 6885 digits by GB2312, repeated without mixing, at 64 bits."""
    v = 0
    for c in text:
        try:
            b = c.encode("gb2312")
            code = (b[0] - 176) * 94 + b[1] - 161 if len(b) == 2 else b[0] - 9 + 6768
        except UnicodeEncodeError:
            code = ord(c)
        v = v * 6885 + code
    v %= 2**64
    w = 13 * len(text)
    h = v
    for _ in range(64 // w):
        h = ((h << w) + v) % 2**64
    return h


def test_hashes_are_their_definitions() -> None:
    for term, bits in [(term, bits) for term in TERMS[3:7] for bits in (1, 3, 63, 64, 65, 128)]:
        data = term.encode()
        blake = hashlib.blake2b(data, digest_size=8 if bits <= 64 else 16).hexdigest()
        assert (
            hashed(term, bits, "blake2b") == int(blake, 16) >> (64 if bits <= 64 else 128) - bits
        ), term
        md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
        assert hashed(term, bits, "md5") == int(md5, 16) % 2**bits, term
        assert hashed(term, bits, "poly1000003") == old_python_hash(term, bits), term
        xx = xxhash.xxh3_64_intdigest(data) if bits <= 64 else xxhash.xxh3_128_intdigest(data)
        assert hashed(term, bits, "xxh3") == xx >> (64 if bits <= 64 else 128) - bits, term
        if bits <= 64:
            assert hashed(term, bits, "hanzi") == digits_of_han(term) % 2**bits, term


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
