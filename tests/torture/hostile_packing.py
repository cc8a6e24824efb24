"""Compressed files, archives, office documents and tables, whole and damaged."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

from simstore.sources.unpacking import zstd

from .hostile_texts import Hostile, damaged, odd, plain

_WORD_SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def _zstd(data: bytes) -> bytes:
    return bytes(zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}))


# How a stream is compressed; each has a checksum.
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gzip,
    "bzip2": bz2.compress,
    "xz": lambda data: lzma.compress(data, check=lzma.CHECK_CRC64, preset=0),
    "zstd": _zstd,
}
_ENDINGS = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}


def packed(chance: Random, made: Hostile) -> None:
    """Compress a file, in one stream or several, and damage it perhaps."""
    kind = chance.choice(list(_PACKERS))
    pack = _PACKERS[kind]
    made.grows = None
    cuts = sorted(chance.randrange(len(made.data) + 1) for _ in range(chance.choice((0, 0, 1, 3))))
    pieces = [made.data[a:b] for a, b in zip([0, *cuts], [*cuts, len(made.data)], strict=True)]
    streams = [pack(piece) for piece in pieces]
    if chance.random() < 0.7:
        # The file keeps its name otherwise: what it is shows by its bytes.
        _rename(made, made.name + _ENDINGS[kind])
    made.story += f"; {kind} of {len(streams)} streams"
    whole = b"".join(streams)
    kind_of_damage = chance.random()
    if kind_of_damage < 0.35:
        made.data = whole
    elif kind_of_damage < 0.85:
        if kind_of_damage < 0.6:
            made.data, how = damaged(chance, whole)
        else:
            at = chance.randrange(len(streams))
            other, how = damaged(chance, streams[at])
            made.data = b"".join((*streams[:at], other, *streams[at + 1 :]))
            how = f"stream {at}: {how}"
        # Fewer streams are whole too, and other first bytes may say that nothing is compressed.
        fewer = [b"".join(streams[:at]) for at in range(len(streams))]
        if made.data[:10] != whole[:10] or made.data in fewer:
            made.forget(how)
        else:
            made.weaken(how)
    else:
        tail = chance.choice(
            (bytes(600), b"tail", chance.randbytes(50), b"\x1f\x8b", b"BZh9", b"\n", b"\xfd7zXZ\0")
        )
        made.data = whole + tail
        # All that was packed comes before it; but what ends no record may not be a whole one.
        if any(tail):
            made.weaken(f"then {tail[:20]!r}")
            made.is_wrong = True
        else:
            made.story += "; then zeros"
            if kind == "zstd":
                made.weaken("which zstd does not allow")


def _rename(made: Hostile, name: str) -> None:
    """Give a file another name, which its keys may be made of."""
    old, inside = made.name, f"{made.name}!/"
    for known in (made.sure, made.rest):
        for key in [key for key in known if key == old or key.startswith(inside)]:
            known[name + key[len(old) :]] = known.pop(key)
    made.name = name


def zip_of(chance: Random, name: str, members: list[Hostile]) -> Hostile:
    """Return a zip archive of files, and members that nobody should unpack."""
    made = Hostile(name, b"", "zip", count=0, is_wrong=False)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for member in members:
            if chance.random() < 0.2:
                _add_odd_member(chance, archive, made)
            info = zipfile.ZipInfo(member.name, (2026, 5, 1, 12, 0, 0))
            info.compress_type = chance.choice(
                (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
            )
            archive.writestr(info, member.data)
            _include(made, member)
    made.data = out.getvalue()
    kind = chance.random()
    if kind < 0.25:
        made.data, how = damaged(chance, made.data)
        if made.data[:4] == b"PK\x03\x04":
            # A directory that is damaged may be of other members: only those read are checked.
            made.forget(how)
        else:
            made.forget(how)
    elif kind < 0.4 and members:
        # The bytes of a member, which have a checksum.
        with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
            info = chance.choice(archive.infolist())
        start = info.header_offset + 30 + len(info.filename.encode())
        if info.compress_size:
            place = start + chance.randrange(info.compress_size)
            data = bytearray(made.data)
            data[place] ^= 1 << chance.randrange(8)
            made.data = bytes(data)
            made.weaken(f"a bit of {info.filename!r} at {place} is another")
    return made


def _include(made: Hostile, member: Hostile) -> None:
    """Add what is known of a member to what is known of its archive."""
    whole = f"{made.name}!/{member.name}"
    made.sure.update(
        (whole if key == member.name else key, text) for key, text in member.sure.items()
    )
    made.rest.update(
        (whole if key == member.name else key, text) for key, text in member.rest.items()
    )
    made.story += f"; {member.name}: {member.story}"
    made.member_count += 1
    made.count = None
    if member.is_wrong is None or made.is_wrong is None:
        made.is_wrong = True if True in (member.is_wrong, made.is_wrong) else None
    else:
        made.is_wrong |= member.is_wrong


def _add_odd_member(chance: Random, archive: zipfile.ZipFile, made: Hostile) -> None:
    name, data, is_wrong = chance.choice(
        (
            ("../out.txt", b"out", True),
            ("/etc/out.txt", b"out", True),
            ("a/../../out.txt", b"out", True),
            ("C:\\out.txt", b"out", True),
            ("..\\out.txt", b"out", True),
            ("folder/", b"", False),
            (".hidden.txt", b"hidden", False),
            ("__MACOSX/._a.txt", b"hidden", False),
            ("x\n\x1b[31m.txt", b"a name with an escape", False),
            ("a" * 3_000 + ".txt", b"a long name", False),
            ("inner.zip", b"PK\x05\x06" + bytes(18), None),
            ("picture.png", b"\x89PNG", False),
            ("bomb.txt", b"a" * 30_000_000, True),
            ("bomb.txt.gz", gzip.compress(gzip.compress(b"a" * 3_000_000)), None),
            ("empty.jsonl", b"", False),
            ("link.txt", b"/etc/passwd", False),
            ("x!/y.txt", b"a name with the separator", False),
            ("-", b"standard input", False),
        )
    )
    info = zipfile.ZipInfo(name, (2026, 5, 1, 12, 0, 0))
    made.repeats |= name in archive.NameToInfo
    made.member_count += 1
    info.compress_type = zipfile.ZIP_DEFLATED
    if name == "link.txt":
        info.external_attr = 0o120777 << 16
    with warnings.catch_warnings():
        # That a name is there twice is meant.
        warnings.simplefilter("ignore")
        archive.writestr(info, data)
    made.story += f"; member {name[:30]!r}"
    if is_wrong is not False:
        made.is_wrong = True if is_wrong or made.is_wrong else None


def tar_of(chance: Random, name: str, members: list[Hostile]) -> Hostile:
    """Return a tar archive of files, links and devices."""
    made = Hostile(name, b"", "tar", count=0, is_wrong=False)
    out = io.BytesIO()
    form = chance.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for member in members:
            if chance.random() < 0.3:
                _add_odd_entry(chance, archive, made)
            info = tarfile.TarInfo(member.name)
            info.size = len(member.data)
            if form == tarfile.PAX_FORMAT and chance.random() < 0.3:
                info.pax_headers = {"comment": odd(chance), "mtime": "nan", "": "x"}
                info.pax_headers.pop("")
            archive.addfile(info, io.BytesIO(member.data))
            _include(made, member)
    made.data = out.getvalue()
    kind = chance.random()
    if kind < 0.25:
        made.data, how = damaged(chance, made.data)
        made.forget(how)
    elif kind < 0.45:
        # A header has a checksum; it must be told where it is not right, and all before it is read.
        places = [
            at
            for at in range(512, len(made.data), 512)
            if made.data[at + 257 : at + 262] == b"ustar"
        ]
        if places:
            at = chance.choice(places)
            field = chance.choice(((0, 4), (100, 7), (124, 11), (136, 11), (148, 6), (156, 1)))
            data = bytearray(made.data)
            start = at + field[0]
            data[start : start + field[1]] = chance.choice(
                (b"7" * field[1], b"\x80" + b"\xff" * (field[1] - 1), b"-" * field[1])
            )
            if chance.random() < 0.5:
                # With a checksum that is right, so that what it says is believed.
                data[at + 148 : at + 156] = b" " * 8
                told = sum(data[at : at + 512])
                data[at + 148 : at + 156] = b"%06o\0 " % told
                made.forget(f"the header at {at} says otherwise in field {field}")
            else:
                made.weaken(f"the header at {at} is damaged in field {field}")
            made.data = bytes(data)
    return made


def _add_odd_entry(chance: Random, archive: tarfile.TarFile, made: Hostile) -> None:
    info = tarfile.TarInfo(
        chance.choice(("../out.txt", "/etc/out.txt", "a/../../b.txt", "x\n.txt", ".h.txt", "d"))
    )
    info.type = chance.choice(
        (tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE,
         tarfile.DIRTYPE)
    )  # fmt: skip
    info.linkname = "/etc/passwd"
    made.repeats |= info.name in archive.getnames()
    made.member_count += 1
    made.story += f"; entry {info.name!r} of type {info.type!r}"
    if info.type == tarfile.REGTYPE and (".." in info.name or info.name[0] == "/"):
        made.is_wrong = True
    archive.addfile(info)


def word_document(chance: Random, name: str) -> Hostile:
    """Return a document of a word processor."""
    texts = [plain(chance) for _ in range(chance.randrange(1, 6))]
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
    made = Hostile(name, b"", "docx", {name: "\n\n".join(texts)}, count=1, is_wrong=False)
    xml = f'<w:document xmlns:w="{_WORD_SPACE}"><w:body>{body}</w:body></w:document>'
    kind = chance.randrange(12)
    if kind == 0:
        xml = xml.replace("<w:body>", "<w:p>" * 20_000).replace("</w:body>", "</w:p>" * 20_000)
    elif kind == 1:
        xml = '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>' + xml
    elif kind == 2:
        xml = xml[: chance.randrange(len(xml))]
    elif kind == 3:
        xml = xml.replace("w:t", chance.choice(("w:x", "w:del", "w:footnoteReference")))
    elif kind == 4:
        xml = xml.replace(
            "</w:body>", "<w:p><w:r><w:t>" + "a" * 40_000_000 + "</w:t></w:r></w:p></w:body>"
        )
    elif kind == 5:
        xml = '<?xml version="1.0" encoding="utf-7"?>' + xml
    elif kind == 6:
        xml = xml.replace("<w:t>", "<w:t>&#0;&#xFFFF;")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("word/document.xml", xml)
        if kind == 7:
            package.writestr("word/styles.xml", "<styles>" * 5_000)
        if kind == 8:
            package.writestr(
                "word/footnotes.xml",
                f'<w:f xmlns:w="{_WORD_SPACE}">' + "<w:footnote/>" * 5_000 + "</w:f>",
            )
    made.data = out.getvalue()
    if kind < 9:
        made.sure, made.is_wrong = {}, None
        made.story += f"; kind {kind}"
    if chance.random() < 0.5:
        made.data, how = damaged(chance, made.data)
        count = made.count
        made.weaken(how)
        if made.data[:200] == out.getvalue()[:200]:
            made.count = count
    return made


def pdf(chance: Random, name: str) -> Hostile:
    """Return a PDF."""
    import reportlab.pdfgen.canvas

    out = io.BytesIO()
    canvas = reportlab.pdfgen.canvas.Canvas(out, invariant=1, pageCompression=chance.randrange(2))
    for _ in range(chance.randrange(1, 4)):
        canvas.drawString(72, 720, plain(chance))
        canvas.showPage()
    canvas.save()
    made = Hostile(name, out.getvalue(), "PDF", count=1)
    kind = chance.randrange(8)
    if kind == 0:
        made.data = made.data.replace(b"/Kids [", b"/Kids [ 1 0 R 2 0 R 3 0 R 4 0 R")
    elif kind == 1:
        made.data = made.data.replace(b"/Length ", b"/Length 99999999999999")
    elif kind == 2:
        made.data = made.data.replace(b"/Count ", b"/Count 4000000000")
    elif kind == 3:
        made.data = made.data.replace(b"/Type /Page", b"/Type /Pages")
    elif kind == 4:
        made.data = made.data.replace(b" 0 obj", b" 0 obj" + b"[" * 5_000, 1)
    elif kind == 5:
        made.data = made.data.replace(b"startxref", b"startxref\n-9")
    made.story += f"; kind {kind}"
    if chance.random() < 0.5:
        made.data, how = damaged(chance, made.data)
        made.story += f"; {how}"
    return made


def columns(chance: Random, name: str) -> Hostile:
    """Return a table of columns, of odd types."""
    import pyarrow
    from pyarrow import parquet

    size = chance.randrange(0, 30)
    keys = [f"{name}#{number}" for number in range(size)]
    texts = [odd(chance, lines=True) for _ in keys]
    more: dict[str, Any] = {
        "f": pyarrow.array([chance.choice((0.0, float("nan"), float("inf"))) for _ in keys]),
        "b": pyarrow.array([b"\xff\x00"] * size, pyarrow.binary()),
        "t": pyarrow.array(
            [chance.choice((-(2**62), 0, 2**62)) for _ in keys], pyarrow.timestamp("us")
        ),
        "d": pyarrow.array([chance.choice((-(2**30), 0, 2**30)) for _ in keys], pyarrow.date32()),
        "l": pyarrow.array([[[None, "x"]]] * size, pyarrow.list_(pyarrow.list_(pyarrow.string()))),
        "u": pyarrow.array([None] * size, pyarrow.null()),
        "m": pyarrow.array(
            [[("a", 1), ("a", 2)]] * size, pyarrow.map_(pyarrow.string(), pyarrow.int8())
        ),
        "c": pyarrow.array(["x"] * size).dictionary_encode(),
        "n": pyarrow.array(list(range(size)), pyarrow.duration("ns")),
        "e": pyarrow.array([2**64 - 1] * size, pyarrow.uint64()),
        "s": pyarrow.array([{"": None, "y": "z"}] * size),
    }
    chosen = chance.sample(sorted(more), chance.randrange(len(more)))
    table = pyarrow.table(
        {
            "id": pyarrow.array(keys, pyarrow.string()),
            "text": pyarrow.array(texts, pyarrow.string()),
        }
        | {column: more[column] for column in chosen}
    )
    out = io.BytesIO()
    if name.endswith(".parquet"):
        parquet.write_table(
            table, out, row_group_size=chance.randrange(1, 20), write_page_checksum=True,
            compression=chance.choice(("none", "snappy", "zstd")),
        )  # fmt: skip
    elif chance.random() < 0.5:
        with pyarrow.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
    else:
        with pyarrow.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
    made = Hostile(name, out.getvalue(), f"columns {chosen}", dict(zip(keys, texts, strict=True)))
    # A time that no calendar has.
    made.is_wrong, made.count = None, size
    if {"t", "d"} & set(chosen):
        made.forget("times beyond any calendar")
    if chance.random() < 0.5:
        made.data, how = damaged(chance, made.data)
        made.forget(how)
    return made


def bomb(chance: Random, name: str) -> Hostile:
    """Return few bytes that become many."""
    data = b'{"id": "bomb", "text": "' + b"a" * 120_000_000 + b'"}\n'
    kind = chance.choice(list(_PACKERS))
    made = Hostile(name, _PACKERS[kind](data), f"a bomb of {kind}")
    made.is_wrong = True
    return made


def zip_of_overlapping_members(name: str) -> Hostile:
    """Return a zip archive whose members share their bytes, as David Fifield's bombs do."""
    body = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = body.compress(b"a" * 5_000_000) + body.flush()
    crc = zlib.crc32(b"a" * 5_000_000)
    local = struct.pack(
        "<4sHHHHHIIIHH", b"PK\x03\x04", 20, 0, 8, 0, 0, crc, len(data), 5_000_000, 5, 0
    )
    start = local + b"a.txt" + data
    directory = b""
    count = 300
    for number in range(count):
        member = b"m%d.txt" % number
        directory += struct.pack(
            "<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, crc, len(data), 5_000_000,
            len(member), 0, 0, 0, 0, 0, 0,
        ) + member  # fmt: skip
    end = struct.pack(
        "<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(start), 0
    )
    return Hostile(name, start + directory + end, "members that share their bytes")
