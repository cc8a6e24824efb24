"""New stores and files for the contract, by neutral names of options and forms."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from postgres_places import is_on_server

from contract.faces import renamed
from simstore import Store
from simstore.types import SchemeChoice

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Encodings and packings that the content of a file may name.
_ENCODINGS = ("utf-8-sig", "utf-16", "gb18030", "big5", "latin-1")
_PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd.compress,
}
_OF_STORE = {"channels", "policy", "text", "vocabulary", "on_duplicate", "resemblance", "radius"}


def make_store(path: Path, options: dict[str, Any]) -> None:
    """Make the store of a case; ``{ none = true }`` makes none.

    Options: ``scheme`` (``web``, ``simtool`` or ``fingerprints``), ``bits`` and the other options
    of a scheme; ``channels``, ``policy``, ``text``, ``vocabulary``, and what a write does with
    duplicates: ``on_duplicate``, ``resemblance``, ``radius``.
    """
    if options.get("none"):
        return
    if is_on_server(path) or not _FILES.isdisjoint(options):
        create_store(path, options)
        return
    chosen = repr(sorted(options.items()))
    if chosen not in _made:
        create_store(path, options)
        _made[chosen] = path.read_bytes()
    path.write_bytes(_made[chosen])


# New stores, by their options: a file is copied much faster than it is made.
_made: dict[str, bytes] = {}
# Options that name files of the case.
_FILES = {"hash_table", "stopwords"}


def create_store(path: Path, options: dict[str, Any]) -> None:
    """Create a store, with an error if there is one."""
    options = dict(options)
    name = options.pop("scheme", "web")
    of_store = renamed({one: options.pop(one) for one in _OF_STORE & set(options)})
    if name == "fingerprints":
        Store.create(path, fingerprints_only=True, **options).close()
        return
    if "fields" in options:
        options["fields"] = tuple(options["fields"])
    Store.create(path, scheme=SchemeChoice(name, **options), **of_store).close()


def write_files(folder: Path, files: dict[str, Any]) -> None:
    """Write the files of a case: text, another form of it, or an archive of members.

    ``"gzip:TEXT"`` is packed text (also ``bz2``, ``xz``, ``zstd``), ``"gb18030:TEXT"`` text in
    an encoding, ``"hex:00ff"`` bytes, ``"9x:TEXT"`` text nine times; forms may follow one another.
    A table of names and contents is an archive, ``.zip`` or ``.tar`` by its name.
    """
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_bytes(_bytes_of(content))
        elif name.endswith(".zip"):
            with zipfile.ZipFile(path, "w") as packed:
                for member, text in content.items():
                    packed.writestr(member, _bytes_of(text))
        else:
            with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as archive:
                for member, text in content.items():
                    entry = tarfile.TarInfo(member)
                    entry.size = len(_bytes_of(text))
                    archive.addfile(entry, io.BytesIO(_bytes_of(text)))


def _bytes_of(content: str) -> bytes:
    form, _, rest = content.partition(":")
    if form in _PACKED:
        return _PACKED[form](_bytes_of(rest))
    if form in _ENCODINGS:
        return rest.encode(form)
    if form.endswith("x") and form[:-1].isdigit():
        return rest.encode() * int(form[:-1])
    return bytes.fromhex(rest) if form == "hex" else content.encode()
