"""The program that takes the text out of PDF files, in a process of its own.

A small file can keep its library busy for ever, or ask for any memory; only a process can be
bounded. It takes files one after the other: from its standard input two numbers of 8 bytes, the
limit of a text's bytes and the file's size, and the file; and answers with 8 bytes, the size of a
JSON object, and the object: ``text`` and ``title``, or ``reason``.
"""

from __future__ import annotations

import json
import logging
import struct
import sys
import tempfile
from typing import Any, BinaryIO

from simstore.sources import bounded

REQUEST = struct.Struct(">qq")
ANSWER = struct.Struct(">q")
NO_LIMIT = -1
_PIECE = 1 << 20
_HELD_BYTES = 32 << 20
_MOST_MEMORY = 4 << 30


def main(most_seconds: int) -> None:
    """Answer until the input ends.

    Args:
        most_seconds: Processor time of one file, after which the system ends the process.
    """
    source, target = sys.stdin.buffer, sys.stdout.buffer
    # What the library writes is no answer.
    sys.stdout = sys.stderr
    while len(asked := source.read(REQUEST.size)) == REQUEST.size:
        limit, size = REQUEST.unpack(asked)
        with tempfile.SpooledTemporaryFile(_HELD_BYTES) as file:
            while size and (data := source.read(min(size, _PIECE))):
                file.write(data)
                size -= len(data)
            if size:
                return
            file.seek(0)
            bounded.bound(most_seconds, _MOST_MEMORY)
            answer = json.dumps(found(file, None if limit == NO_LIMIT else limit)).encode()
        target.write(ANSWER.pack(len(answer)) + answer)
        target.flush()


def found(file: BinaryIO | tempfile.SpooledTemporaryFile[bytes], limit: int | None) -> Any:
    """Return ``text`` and ``title`` of a file, or the ``reason`` why there is none.

    Args:
        file: The file.
        limit: Characters of text from which on the rest is left out; None: none.
    """
    import pypdf

    # It tells of each irregularity that it gets over.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        document = pypdf.PdfReader(file)
        if document.is_encrypted and not document.decrypt(""):
            return {"reason": "it is encrypted, and asks for a password"}
        text = _pages_text(document, limit)
        title = document.metadata.title if document.metadata else None
    except Exception as error:
        # Of a damaged file it raises whatever its code comes upon.
        line = " ".join(str(error).split())[:200] or type(error).__name__
        return {"reason": f"the file is damaged: {line}"}
    return {"text": text, "title": None if title is None else str(title)}


def _pages_text(document: Any, limit: int | None) -> str:
    """Return the text of all pages, or of so many that the limit is passed."""
    texts: list[str] = []
    length = 0
    for page in document.pages:
        texts.append(page.extract_text().strip())
        length += len(texts[-1])
        if limit is not None and length > limit:
            break
    return "\n".join(texts)


if __name__ == "__main__":
    main(int(sys.argv[1]))
