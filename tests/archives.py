"""Archives of files by their names, in memory."""

from __future__ import annotations

import io
import tarfile
import zipfile


def zipped(files: dict[str, bytes]) -> bytes:
    """Return a zip archive with compressed members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files: dict[str, bytes], format_: int = tarfile.PAX_FORMAT) -> bytes:
    """Return a tar archive, not compressed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format_) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()
