"""Convert traditional Chinese characters to simplified: by a table, or OpenCC (extra ``han``)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore.errors import MissingExtra
from simstore.text.characters import code_points, table_rows

if TYPE_CHECKING:
    from opencc import OpenCC

# Han characters and marks of repetition that Unicode 14.0 knows. Nothing else is handed to OpenCC:
# so no lone surrogate (which it refuses), and no character that only newer tables know.
HAN_RUN = re.compile(
    "[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f\U00030000-\U0003134a]+"
)


def simplify_characters(text: str) -> str:
    """Return text with each traditional Chinese character replaced by its simplified one.

    By the table that OpenCC gave for each character alone: the result depends on no package, on no
    neighbour, and has as many characters. Simplified text stays as it is, but for characters that
    are themselves traditional forms of others (``乾`` and ``幹`` are ``干``).
    """
    if text.isascii() or HAN_RUN.search(text) is None:
        return text
    return simplified_points()[code_points(text)].tobytes().decode("utf-32-le", "surrogatepass")


@cache
def simplified_points() -> NDArray[np.uint32]:
    """Return the simplified form of each code point; little endian, shape (0x110000,)."""
    given, made = map("".join, zip(*table_rows("han.txt"), strict=True))
    table = np.arange(0x110000, dtype="<u4")
    table[code_points(given)] = code_points(made)
    table.flags.writeable = False
    return table


def simplify(text: str, *, words: bool = False) -> str:
    """Return text with traditional Chinese characters replaced by simplified ones.

    By OpenCC's longest phrases, then by character, within each run of Han characters. Simplified
    text stays as it is, but for characters that are themselves traditional forms of others.

    Args:
        text: Any text.
        words: Also replace the words of Taiwan by those of the mainland (configuration ``tw2sp``,
            else ``tw2s``). Twice, as some are words of the mainland for another thing, and are
            replaced again: so both ends of such a chain (``檔案``, ``文件``) have one form.

    Raises:
        MissingExtra: OpenCC is not installed.
    """
    runs = HAN_RUN.findall(text)
    if not runs:
        return text
    # One call for all runs; a line break is in no phrase.
    joined = "\n".join(runs)
    for _ in range(2 if words else 1):
        joined = _converter("tw2sp" if words else "tw2s").convert(joined)
    folded = iter(joined.split("\n"))
    return HAN_RUN.sub(lambda _: next(folded), text)


def version() -> str:
    """Return the version of OpenCC: its dictionaries grow, and change what texts become.

    Raises:
        MissingExtra: OpenCC is not installed.
    """
    _converter("tw2s")
    from opencc import __version__

    return str(__version__)


@cache
def _converter(configuration: str) -> OpenCC:
    try:
        from opencc import OpenCC
    except ImportError as error:
        raise MissingExtra("folding Chinese scripts", "han") from error
    return OpenCC(configuration)
