"""Texts in English and Chinese, and copies of them with typing errors."""

from __future__ import annotations

import random

ENGLISH = [
    "harbour", "lantern", "weather", "station", "evening", "captain", "village", "morning",
    "engines", "tickets", "baggage", "windows", "kitchen", "gardens", "letters", "bridges",
    "and", "of", "the", "was", "went", "before", "another", "orchard", "quarter", "sailing",
    "thunder", "umbrella", "she", "that", "never", "feather", "pebbles", "journey",
]  # fmt: skip
CHINESE = (
    "港口灯塔天气车站傍晚船长村庄早晨机器票据行李窗户厨房花园书信桥梁冬夏运动手表瓶子蜡烛"
    "羽毛石头旅程果园航行雷雨伞他们从来没有回到那里的人是在不了和有大这主中为"
)
_TYPED = "qxzjvwk"


def text(seed: int, *, chinese: bool = False, count: int = 60) -> str:
    """Return a text of so many words, or twice as many characters of Chinese."""
    drawn = random.Random(seed)
    if chinese:
        return "".join(drawn.choices(CHINESE, k=2 * count))
    return " ".join(drawn.choices(ENGLISH, k=count))


def misspelt(original: str, share: float, seed: int) -> str:
    """Return a text in which this share of characters is another, or is left out."""
    drawn = random.Random(seed)
    made = []
    for letter in original:
        if letter == " " or drawn.random() >= share:
            made.append(letter)
        elif drawn.random() < 0.8:
            made.append(drawn.choice(CHINESE if letter in CHINESE else _TYPED))
    return "".join(made)


def documents(count: int, seed: int) -> list[tuple[str, str]]:
    """Return keys and texts: originals, their copies with 0 to 9 % of errors, and titles."""
    drawn = random.Random(seed)
    held: list[tuple[str, str]] = []
    for number in range(count):
        kind = drawn.random()
        if held and kind < 0.55:
            made = misspelt(
                drawn.choice(held)[1], drawn.choice([0.0, 0.01, 0.03, 0.06, 0.09]), number
            )
        elif kind < 0.65:
            made = f"Chapter {number % 7} of the {drawn.choice(ENGLISH)} memoirs"
        else:
            made = text(number, chinese=kind < 0.8, count=drawn.randrange(30, 90))
        held.append((f"k{number}", made))
    return held
