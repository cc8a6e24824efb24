"""Odd strings, and files of them of which it is known what a reader must make of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

WORDS = (
    "ferry", "harbour", "leaves", "morning", "fog", "gull", "rail", "bridge", "week", "salt",
    "bread", "oven", "stone", "heat", "crust", "river", "flood", "council", "vote", "night",
)  # fmt: skip
_ODD = (
    "\u200b", "\u202e", "\u2028", "\x85", "\ufeff", "\u0301\u0301\u0301",
    "\U0001f468\u200d\U0001f469", "\uffff", "\U0010ffff", "\x7f", "\u00ad", "ﬁ", "İ", "ß", "Ⅷ",
    "天地玄黄", "宇宙洪荒", "ｆｕｌｌ", "שלום", "नमस्ते", "ไม่มี", "한국어", "\x01", "\x1b[31m",
    "{{7*7}}", "%s%n", "' OR 1=1 --", "<script>", "\\", "\\n", "${HOME}", "../../etc", "\t",
    "a" * 3_000, "\u3000", "\u180e", "\U000e0041",
)  # fmt: skip


def plain(chance: Random, words: int = 12) -> str:
    """Return words of a language."""
    return " ".join(chance.choices(WORDS, k=max(1, words)))


def odd(chance: Random, *, lines: bool = False) -> str:
    """Return a text with characters that programs trip over, but no NUL.

    Args:
        chance: Where it comes from.
        lines: It may have several.
    """
    parts = [plain(chance, chance.randrange(1, 20))]
    for _ in range(chance.randrange(4)):
        parts.append(chance.choice(_ODD))
        parts.append(plain(chance, chance.randrange(1, 5)))
        if lines and chance.random() < 0.3:
            parts.append(chance.choice(("\n", "\n\n", "\r\n", "\r")))
    return chance.choice(("", " ")).join(parts)


def printable(text: str) -> str:
    """Return a text for a plain file: two unprintable characters make one binary, as for git."""
    first, mark, rest = text.replace("\x7f", "\x01").partition("\x01")
    return first + mark + rest.replace("\x01", "")


@dataclass
class Hostile:
    """A file, and what must become of it.

    Attributes:
        name: What it is called.
        data: Its bytes.
        story: What was done to it.
        sure: Keys and texts of documents that must be stored.
        rest: Those that must be stored unless something of the file is told to be wrong.
        count: How many documents and rejections there are; None: that cannot be known.
        is_wrong: Something of it must be rejected; False: nothing may be; None: it may.
        member_count: Files that it holds, each hostile too.
        grows: Returns what may be added at its end, and the documents of that, of which each key
            begins with a word; None: nothing may.
        repeats: It may hold several of one name; of what is rejected of those the last is listed.
    """

    name: str
    data: bytes
    story: str
    sure: dict[str, str] = field(default_factory=dict)
    rest: dict[str, str] = field(default_factory=dict)
    count: int | None = None
    is_wrong: bool | None = None
    member_count: int = 0
    repeats: bool = False
    grows: Callable[[Random, str], tuple[bytes, dict[str, str]]] | None = None

    def weaken(self, story: str) -> None:
        """Take back what is known: the file is going to be damaged in a way that can be noticed."""
        self.rest = {**self.rest, **self.sure}
        self.sure = {}
        self.count = self.is_wrong = None
        self.story += f"; {story}"

    def forget(self, story: str) -> None:
        """Take back all that is known: what is damaged has no checksum."""
        self.weaken(story)
        self.rest = {}


def damaged(chance: Random, data: bytes) -> tuple[bytes, str]:
    """Return bytes that are damaged somehow, and how."""
    if not data:
        return b"\x00", "a NUL"
    place = chance.randrange(len(data))
    kind = chance.randrange(6)
    if kind == 0:
        return data[:place], f"cut at {place}"
    if kind == 1:
        other = data[place] ^ (1 << chance.randrange(8))
        return data[:place] + bytes((other,)) + data[place + 1 :], f"a bit at {place} is another"
    if kind == 2:
        end = min(len(data), place + chance.randrange(1, 600))
        return data[:place] + data[end:], f"bytes {place} to {end} are missing"
    if kind == 3:
        more = chance.randbytes(chance.randrange(1, 40))
        return data[:place] + more + data[place:], f"{len(more)} bytes more at {place}"
    if kind == 4:
        end = min(len(data), place + chance.randrange(1, 2_000))
        return data[:place] + bytes(end - place) + data[end:], f"zeros from {place} to {end}"
    end = min(len(data), place + chance.randrange(1, 300))
    return data[:end] + data[place:], f"bytes {place} to {end} stand there twice"
