"""An independent oracle for feature hashes: plain arithmetic by the written rules.

A text of one feature has the first ``bits`` bits of the feature's hash as its fingerprint.
"""

from __future__ import annotations

import hashlib

import xxhash

HAN_BASE = 6885
HAN_BITS = 13


def poly1000003(term: str, bits: int) -> int:
    """Return the string hash of old Pythons: every step modulo 2 ** bits."""
    value = ord(term[0]) << 7
    for character in term:
        value = value * 1000003
        value = (value % 2**bits) ^ ord(character)
    return (value ^ len(term)) % 2**bits


def hanzi(term: str, bits: int) -> int:
    """Return the digits of a term in base 6885, repeated; for at most 64 bits."""
    number = 0
    for character in term:
        coded = character.encode("gb2312", "ignore")
        if len(coded) == 2:
            digit = (coded[0] - 176) * 94 + (coded[1] - 161)
        elif len(coded) == 1:
            digit = coded[0] - 9 + 6768
        else:
            digit = ord(character)
        number = (number * HAN_BASE + digit) % 2**64
    width = HAN_BITS * len(term)
    value = number
    for _ in range(64 // width):
        value = (value * 2**width + number) % 2**64
    return value % 2**bits


def md5(term: str, bits: int) -> int:
    """Return the last bits of MD5."""
    digest = hashlib.md5(term.encode(), usedforsecurity=False).hexdigest()
    return int(digest, 16) % 2**bits


def blake2b(term: str, bits: int) -> int:
    """Return the first bits of BLAKE2b: 8 bytes up to 64 bits, else 16."""
    size = 8 if bits <= 64 else 16
    digest = hashlib.blake2b(term.encode(), digest_size=size).hexdigest()
    return int(digest, 16) // 2 ** (8 * size - bits)


def xxh3(term: str, bits: int) -> int:
    """Return the first bits of XXH3: its 64-bit form up to 64 bits, else its 128-bit form."""
    if bits <= 64:
        return int(xxhash.xxh3_64_hexdigest(term.encode()), 16) // 2 ** (64 - bits)
    return int(xxhash.xxh3_128_hexdigest(term.encode()), 16) // 2 ** (128 - bits)


HASHES = {one.__name__: one for one in (poly1000003, hanzi, md5, blake2b, xxh3)}
