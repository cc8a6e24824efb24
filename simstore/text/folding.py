"""Traditional Chinese characters to simplified ones, by OpenCC (extra ``han``)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from simstore.errors import MissingExtra

if TYPE_CHECKING:
    from opencc import OpenCC

# Han characters and marks of repetition that Unicode 14.0 knows. Nothing else is handed to OpenCC:
# so no lone surrogate (which it refuses), and no character that only newer tables know.
HAN_RUN = re.compile(
    "[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f\U00030000-\U0003134a]+"
)


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
