"""Read the text layer of PDF files."""

from __future__ import annotations

import io
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simstore.errors import MissingExtra
from simstore.sources.hidden_text import LEAST_POINTS, MARK, HiddenText, is_near, visible
from simstore.sources.isolated import MOST_SECONDS
from simstore.sources.office import OfficeReader, about_document, document_of, refused
from simstore.sources.reader import ReadRequest
from simstore.sources.source import Record

SHOWS = frozenset((b"Tj", b"TJ", b"'", b'"'))
_FILLS = frozenset((b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"))
_ENDS = frozenset((b"n", b"S", b"s", *_FILLS))
_WHITE = (255.0, 255.0, 255.0)
_Matrix = tuple[float, float, float, float, float, float]
_Box = tuple[float, float, float, float]
_Colour = tuple[float, float, float] | None
_SAME: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_MOST_SAVED, _MOST_BOXES = 256, 5_000


@dataclass(frozen=True, slots=True)
class _State:
    """The state that operators set for the text that follows; None: an unknown colour."""

    matrix: _Matrix = _SAME
    colour: _Colour = (0.0, 0.0, 0.0)
    size: float = 0.0


def hidden_operations(operations: Sequence[tuple[Any, bytes]]) -> dict[int, str]:
    """Return which operations of a page show text that nobody sees, and why.

    By its size, or because it is white and nothing is painted where it stands. Text that is drawn
    without being painted is none of it: scans have it over their pictures.

    Args:
        operations: Operands and operator of each.
    """
    state, saved = _State(), list[_State]()
    line = text = _SAME
    leading = 0.0
    painted: list[_Box] = []
    path: list[tuple[float, float]] = []
    found: dict[int, str] = {}
    for number, (operands, operator) in enumerate(operations):
        values = _numbers(operands)
        if operator == b"q":
            if len(saved) < _MOST_SAVED:
                saved.append(state)
        elif operator == b"Q":
            state = saved.pop() if saved else state
        elif operator == b"cm" and len(values) == 6:
            state = replace(state, matrix=_times(_matrix(values), state.matrix))
        elif operator in (b"g", b"rg", b"k", b"sc", b"scn"):
            # The colour of a pattern, or in another colour space, is unknown.
            state = replace(state, colour=_colour(values, len(operands)))
        elif operator == b"cs":
            state = replace(state, colour=None)
        elif operator == b"Tf" and len(operands) > 1:
            state = replace(state, size=abs(values[-1]) if values else 0.0)
        elif operator == b"TL" and values:
            leading = values[0]
        elif operator == b"BT":
            line = text = _SAME
        elif operator == b"Tm" and len(values) == 6:
            line = text = _matrix(values)
        elif operator in (b"Td", b"TD") and len(values) == 2:
            leading = -values[1] if operator == b"TD" else leading
            line = text = _times((1.0, 0.0, 0.0, 1.0, values[0], values[1]), line)
        elif operator == b"T*":
            line = text = _times((1.0, 0.0, 0.0, 1.0, 0.0, -leading), line)
        elif operator in (b"re", b"m", b"l", b"c", b"v", b"y"):
            path += _points(operator, values, state.matrix)
        elif operator in _ENDS:
            if operator in _FILLS and path and not _is_white(state.colour):
                painted.append(_box(path))
            path = []
        elif operator in (b"Do", b"sh", b"INLINE IMAGE", b"EI"):
            painted.append(_box([_at(x, y, state.matrix) for x in (0, 1) for y in (0, 1)]))
        elif operator in SHOWS:
            if operator != b"Tj" and operator != b"TJ":
                line = text = _times((1.0, 0.0, 0.0, 1.0, 0.0, -leading), line)
            whole = _times(text, state.matrix)
            points = state.size * math.sqrt(abs(whole[0] * whole[3] - whole[1] * whole[2]))
            if 0 < points < LEAST_POINTS:
                found[number] = "size"
            elif _is_white(state.colour) and not _is_painted(whole[4], whole[5], points, painted):
                found[number] = "colour"
    return found if len(painted) <= _MOST_BOXES else {}


def _numbers(operands: Any) -> list[float]:
    """Return the operands that are numbers."""
    if not isinstance(operands, list | tuple):
        return []
    return [float(one) for one in operands if isinstance(one, int | float)]


def _matrix(values: Sequence[float]) -> _Matrix:
    a, b, c, d, e, f = values
    return a, b, c, d, e, f


def _times(one: _Matrix, other: _Matrix) -> _Matrix:
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return (
        a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j,
        e * g + f * i + k, e * h + f * j + m,
    )  # fmt: skip


def _at(x: float, y: float, matrix: _Matrix) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return x * a + y * c + e, x * b + y * d + f


def _points(operator: bytes, values: Sequence[float], matrix: _Matrix) -> list[tuple[float, float]]:
    """Return the corners of a part of a path on the page."""
    if operator == b"re" and len(values) == 4:
        x, y, width, height = values
        return [_at(x + w, y + h, matrix) for w in (0, width) for h in (0, height)]
    return [_at(*pair, matrix) for pair in zip(values[::2], values[1::2], strict=False)]


def _box(points: Sequence[tuple[float, float]]) -> _Box:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def _colour(values: Sequence[float], count: int) -> _Colour:
    """Return a colour of one, three or four parts; None: another one."""
    if len(values) != count:
        return None
    if count == 1:
        return values[0] * 255, values[0] * 255, values[0] * 255
    if count == 3:
        return values[0] * 255, values[1] * 255, values[2] * 255
    if count == 4:
        red, green, blue = (255 * (1 - part) * (1 - values[3]) for part in values[:3])
        return red, green, blue
    return None


def _is_white(colour: _Colour) -> bool:
    return colour is not None and is_near(colour, _WHITE)


def _is_painted(x: float, y: float, points: float, painted: Sequence[_Box]) -> bool:
    """Return whether something was painted where a text begins, or near it."""
    return any(
        left - points <= x <= right + points and low - points <= y <= high + points
        for left, low, right, high in painted
    )


# Readers of PDF look for it so far into a file.
_HEADER, _HEADER_WITHIN = b"%PDF-", 1024


class PdfReader(OfficeReader):
    """Reads the text layer of .pdf files: a document whose key is the file's name.

    A file without one, as scanners make it, is rejected. So is one that keeps the library busy for
    longer than a limit, or lets it take more memory than it may have.

    Args:
        most_seconds: Most processor time of a file.
    """

    package, feature = "pypdf", "reading .pdf files"

    def __init__(self, most_seconds: int = MOST_SECONDS) -> None:
        self.most_seconds = most_seconds

    def read_here(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the document.

        Raises:
            MissingExtra: pypdf is not installed.
        """
        try:
            import pypdf
        except ImportError:
            raise MissingExtra(self.feature, self.extra) from None
        # It tells of each irregularity that it gets over.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        if _HEADER not in request.head[:_HEADER_WITHIN]:
            yield refused(request, size, "it is not a PDF file")
            return
        try:
            document = pypdf.PdfReader(stream)
            if document.is_encrypted and not document.decrypt(""):
                yield refused(request, size, "it is encrypted, and asks for a password")
                return
            hidden = HiddenText()
            text = _pages_text(document, request.options.max_document_bytes, hidden)
            title, about = _about(document.metadata)
            about |= hidden.metadata()
        except MemoryError:
            raise
        except Exception as error:
            # The library may raise anything on a damaged file.
            line = " ".join(str(error).split())[:200] or type(error).__name__
            yield refused(request, size, f"the file is damaged: {line}")
            return
        if text.strip():
            yield document_of(request, size, text, title, about)
        else:
            yield refused(request, size, "no text layer: its pages are pictures")


read = PdfReader().read


def _about(told: Any) -> tuple[Any, dict[str, Any]]:
    """Return the title of a file, and its author and date as metadata."""
    if not told:
        return None, {}
    try:
        created = told.creation_date
    except ValueError:
        created = None
    return told.title, about_document(told.author, created.date().isoformat() if created else "")


def _pages_text(document: Any, limit: int | None, hidden: HiddenText) -> str:
    """Return the text of all pages, or of so many that the limit is passed.

    Args:
        document: The file.
        limit: Most characters that are needed.
        hidden: Takes the text that no reader sees.
    """
    texts: list[str] = []
    length = 0
    for number, page in enumerate(document.pages, 1):
        texts.append(_page_text(document, page, f"page {number:,}", hidden).strip())
        length += len(texts[-1])
        if limit is not None and length > limit:
            break
    return "\n".join(texts)


def _page_text(document: Any, page: Any, place: str, hidden: HiddenText) -> str:
    """Return the text of a page that a reader sees.

    Args:
        document: The file.
        page: The page.
        place: How the page is called.
        hidden: Takes the text that no reader sees.
    """
    from pypdf.generic import ContentStream, NameObject, TextStringObject

    held = page.get("/Contents")
    if held is None:
        return str(page.extract_text())
    content = ContentStream(held.get_object(), document, "bytes")
    operations = list(content.operations)
    unseen = hidden_operations(operations)
    # Parsed once for both.
    page[NameObject("/Contents")] = content
    if not unseen:
        return str(page.extract_text())
    for reason in sorted(set(unseen.values())):
        content.operations = [
            operation
            for number, operation in enumerate(operations)
            if operation[1] not in SHOWS or unseen.get(number) == reason
        ]
        hidden.add(place, reason, page.extract_text())
    mark = [TextStringObject(MARK)]
    content.operations = [
        (mark, b"Tj") if number in unseen else operation
        for number, operation in enumerate(operations)
    ]
    return visible(page.extract_text())
