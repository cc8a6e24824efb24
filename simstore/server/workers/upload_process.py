"""The program of the child process that reads one uploaded file and exits.

It works in a folder with nothing but the file. From its standard input it takes a JSON object: the
file's name, how to read it, and its limits; it answers with another, and a line's end: the
documents and what was rejected, or the ``kind`` of what went wrong, and ``what``.
"""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Mapping
from typing import Any

from simstore.errors import InvalidParameter, MissingExtra, SimstoreError
from simstore.model import Ignored, Rejection
from simstore.sources import bounded
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions
from simstore.sources.source import MAX_DOCUMENT_BYTES
from simstore.wire import decoded, encoded, to_wire

_MOST_REJECTIONS = 100


def main() -> None:
    """Read the file, and write the answer to standard output."""
    target = sys.stdout.buffer
    # What a library writes is no answer.
    sys.stdout = sys.stderr
    job = decoded(sys.stdin.buffer.read())
    bounded.bound(job["processor_seconds"], job["memory_bytes"], job["written_bytes"])
    # Who started it ends it in time, unless it was killed itself.
    signal.alarm(job["seconds"])
    try:
        answer = _told(job)
    except MemoryError:
        answer = {"kind": "reason", "what": "reading it takes more memory than it may have"}
    except MissingExtra as error:
        answer = {"kind": "extra", "what": error.feature, "extra": error.extra}
    except InvalidParameter as error:
        answer = {"kind": "option", "what": str(error)}
    except SimstoreError as error:
        answer = {"kind": "reason", "what": getattr(error, "reason", str(error))}
    except Exception as error:
        # Of a damaged file libraries raise whatever their code comes upon.
        line = " ".join(str(error).split())[:200] or type(error).__name__
        answer = {"kind": "reason", "what": f"the file is damaged: {line}"}
    # Room to say it, whatever was taken before.
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    target.write(encoded(answer) + b"\n")
    target.flush()


def _told(job: Mapping[str, Any]) -> dict[str, Any]:
    # A document may be as long as all of them may be together.
    longest = max(job["text_bytes"], MAX_DOCUMENT_BYTES)
    options = ReadOptions(**{"max_document_bytes": longest, **job["options"]})
    documents: list[dict[str, Any]] = []
    rejections: list[dict[str, Any]] = []
    room = job["text_bytes"]
    for record in FileSource(job["name"], options).records():
        if isinstance(record, Ignored):
            if record.is_source:
                continue
            record = Rejection(
                record.source,
                record.position,
                record.byte_offset,
                record.end_offset,
                record.reason,
            )
        if isinstance(record, Rejection):
            if len(rejections) < _MOST_REJECTIONS:
                rejections.append(to_wire(record))
            continue
        if len(documents) == job["documents"]:
            return {"kind": "documents"}
        room -= len(record.text.encode("utf-8", "surrogatepass"))
        if room < 0:
            return {"kind": "bytes"}
        documents.append(to_wire(record))
    return {"documents": documents, "rejections": rejections}


if __name__ == "__main__":
    main()
