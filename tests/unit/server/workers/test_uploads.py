"""Files that people send are read in a process that is bounded; hostile ones end with a reason."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import docx
import pytest
from archives import zipped
from reportlab.pdfgen.canvas import Canvas

from simstore.errors import InvalidParameter, SimstoreError, TooLarge, UnreadableSource
from simstore.server.workers.uploads import Upload, UploadLimits, read_paper, read_upload, safe_name
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

TEXT = "The ferry leaves at noon, 船在正午离港。"


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return what tells which temporary folders of uploads are left."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return lambda: [path.name for path in tmp_path.glob("simstore-upload-*")]


def made_docx() -> bytes:
    made = docx.Document()
    made.add_paragraph(TEXT)
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def made_pdf() -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream)
    canvas.drawString(72, 720, "The ferry leaves at noon.")
    canvas.save()
    return stream.getvalue()


def texts(found: Upload) -> list[tuple[str, str]]:
    return [(one.key, one.text.strip()) for one in found.documents]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.txt", TEXT.encode(), [("a.txt", TEXT)]),
        ("paper.docx", made_docx(), [("paper.docx", TEXT)]),
        ("paper.pdf", made_pdf(), [("paper.pdf", "The ferry leaves at noon.")]),
        ("rows.jsonl", b'{"key":"k","text":"t"}\n{"key":"l","text":"u"}', [("k", "t"), ("l", "u")]),
        ("pages.txt", b"one\nfirst\n\ftwo\nsecond\n\f", [("one", "first"), ("two", "second")]),
        ("all.zip", zipped({"b.txt": b"inner"}), [("all.zip!b.txt", "inner")]),
    ],
)
def test_whatever_ingest_reads_is_read(
    name: str, data: bytes, expected: list[tuple[str, str]], folders: Callable[[], list[str]]
) -> None:
    found = read_upload(name, data)
    assert [text for _, text in texts(found)] == [text for _, text in expected]
    if name != "all.zip":
        assert texts(found) == expected
    assert folders() == []


@pytest.mark.slow
def test_bytes_that_are_not_utf_8_and_what_was_rejected_come_back() -> None:
    found = read_upload("a.jsonl", b'{"key":"k","text":"t"}\nnothing\n{"key":"l","text":"u"}\n')
    assert texts(found) == [("k", "t"), ("l", "u")]
    assert [one.position for one in found.rejections] == [1]
    found = read_upload("a.txt", b"caf\xe9 and \xff\x00", options={"encoding": "keep"})
    assert found.documents[0].text == "caf\udce9 and \udcff\x00"
    with pytest.raises(UnreadableSource, match="not UTF-8 at byte 3"):
        read_upload("a.txt", b"caf\xe9 and \xff")
    found = read_upload("a.txt", "café".encode("latin-1") * 9, options={"encoding": "latin-1"})
    assert found.documents[0].text.startswith("cafécafé")


@pytest.mark.slow
def test_paper_for_a_store_of_the_course_is_bytes(tmp_path: Path) -> None:
    data = "人人生而自由，在尊严和权利上一律平等。".encode("gbk")
    for scheme, encoding in (("simtool", "utf-8"), ("web", "gbk")):
        with Store.create(tmp_path / f"{scheme}.db", scheme=SchemeChoice(scheme)) as store:
            (found,) = read_paper(store, "a.txt", data).documents
            assert found.text == data.decode(encoding, "surrogateescape")
            assert (found.decoding is None) == (scheme == "simtool")


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"%PDF-1.7\n", "a.pdf", "damaged"),
        (made_docx()[:-50], "a.docx", ""),
        pytest.param(b"PAR1", "a.parquet", "", marks=pytest.mark.parquet),
        (b"\x1f\x8b\x08\x00broken", "a.txt.gz", ""),
    ],
)
def test_file_that_cannot_be_read_is_refused_with_the_reason(
    data: bytes, name: str, reason: str, folders: Callable[[], list[str]]
) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow", reason="pip install '.[parquet]' runs this test")
    with pytest.raises(UnreadableSource) as told:
        read_upload(name, data)
    assert told.value.http_status == 422
    assert reason in str(told.value)
    assert "\n" not in str(told.value)
    assert folders() == []


def test_empty_file_says_so() -> None:
    with pytest.raises(UnreadableSource, match="no text"):
        read_upload("a.jsonl", b"")


def test_what_is_no_text_in_an_archive_is_told_beside_its_documents() -> None:
    found = read_upload("both.zip", zipped({"a.txt": b"a text", "b.png": b"\x89PNG\r\n"}))
    assert [one.text for one in found.documents] == ["a text"]
    assert [one.source for one in found.rejections] == ["both.zip!/b.png"]


def test_unknown_format_is_a_wrong_parameter() -> None:
    with pytest.raises(InvalidParameter, match="no reader is called"):
        read_upload("a.txt", b"x", options={"format": "none"})


# Readers of other packages stand for what a library may do to its process.
HOSTILE = """
import io, os, signal, stat, struct, sys, time
from pathlib import Path
from simstore.model import Document
from simstore.sources.isolated import packed
def answer(frame, size=None):
    data = struct.pack("!i", size or len(frame) + 1) + b"+" + frame
    for number in range(3, 1024):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, data)
        except OSError:
            pass
class Reader:
    name, suffixes, needs_file, record_ends = "hostile", (".hostile",), False, ()
    def recognises(self, head): return False
    def read(self, stream, request):
        exec(stream.read().decode())
        yield from ()
"""
METADATA = "Metadata-Version: 2.1\nName: hostile\nVersion: 1\n"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Upload]:
    """Return what has the process run a program, as a broken library would."""
    packages = tmp_path / "packages"
    described = packages / "hostile-1.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(METADATA)
    (described / "entry_points.txt").write_text("[simstore.readers]\nhostile = hostile:Reader\n")
    (packages / "hostile.py").write_text(HOSTILE)
    monkeypatch.syspath_prepend(str(packages))

    def run(program: str, **limits: float) -> Upload:
        return read_upload(
            "a.hostile",
            program.encode(),
            limits=UploadLimits(**limits),  # type: ignore[arg-type]
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "limits", "reason"),
    [
        ("while True: pass", {"processor_seconds": 1}, "1 s of processor time"),
        ("time.sleep(600)", {"seconds": 1.5}, "more time or memory"),
        ("x = bytearray(3 << 30)", {}, "more memory than it may have"),
        ("os.abort()", {}, "reads it ended: aborted"),
        ("os._exit(0)", {}, "ended by itself"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", {}, "reads it ended: segmentation fault"),
        ("raise SystemError('x\\n' * 999)", {}, "damaged: x x x"),
        ("Path('big').write_bytes(b'x' * (2 << 20))", {"written_bytes": 1 << 20}, "damaged"),
        ("os.write(1, b'+x'); os._exit(0)", {}, "ended by itself (status 0)"),
        ("answer(b'x')", {}, "no answer"),
        ("answer(packed('records', [Document(7, 'x')]))", {}, "no answer"),
        ("answer(packed('records', [Document('k', 'x', title=7)]))", {}, "no answer"),
        ("answer(b'x', 1 << 30)", {}, "more time or memory"),
        ("print('noise'); sys.stdout.flush()", {}, "no text in it"),
        ("a = lambda: a(); a()", {}, "damaged"),
    ],
)  # fmt: skip
def test_reader_that_goes_wrong_ends_its_process_and_nothing_else(
    hostile: Callable[..., Upload],
    folders: Callable[[], list[str]],
    program: str,
    limits: dict[str, float],
    reason: str,
) -> None:
    with pytest.raises(UnreadableSource) as told:
        hostile(program, **limits)
    assert reason in str(told.value)
    assert len(str(told.value)) < 400
    assert folders() == []
    assert len(read_upload("a.txt", b"fine").documents) == 1


def test_endless_answer_is_cut_off(hostile: Callable[..., Upload]) -> None:
    with pytest.raises(TooLarge):
        hostile(
            "while True: answer(packed('records', [Document('k', 'x' * 9_000)]))", text_bytes=1_000
        )


def test_process_knows_nothing_of_the_server_and_leaves_none_behind(
    hostile: Callable[..., Upload], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMSTORE_TOKEN", "sst_secret")
    monkeypatch.setenv("SIMSTORE_DB", "somewhere.db")
    told = tmp_path / "told"
    with pytest.raises(UnreadableSource, match="no text"):
        hostile(
            f"Path({str(told)!r}).write_text(repr((sorted(os.environ), os.listdir('.'), "
            "sorted(os.listdir('/proc/self/fd')))))"
        )
    environment, files, descriptors = eval(told.read_text())  # noqa: S307 - of our own test
    assert not {name for name in environment if name.startswith("SIMSTORE")}
    assert set(environment) <= {
        "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "HOME", "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE",
    }  # fmt: skip
    assert files == ["a.hostile"]
    # The three streams, the file, what lists them, and little else: no store, no socket.
    assert len(descriptors) <= 7
    child = tmp_path / "child"
    with pytest.raises(UnreadableSource):
        hostile(
            "import subprocess\n"
            "p = subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL)\n"
            f"Path({str(child)!r}).write_text(str(p.pid))\n"
            "os._exit(0)"
        )
    with pytest.raises(ProcessLookupError):
        _wait_until_gone(int(child.read_text()))


def _wait_until_gone(process: int) -> None:
    """Wait until a killed process of nobody's is collected; raise when it is."""
    for _ in range(10_000):
        os.kill(process, 0)
        if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            raise ProcessLookupError
        os.sched_yield()


def test_what_is_sent_is_no_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", ".", *sys.path])
    found = read_upload("encodings.py", b"raise SystemExit('run')", options={"format": "text"})
    assert found.documents[0].text == "raise SystemExit('run')"
    assert read_upload("sitecustomize.py", b"x = 1", options={"format": "text"}).documents


@pytest.mark.parametrize(
    ("data", "name", "limits"),
    [
        (b'{"key":"k","text":"t"}\n' * 4, "a.jsonl", {"documents": 3}),
        (b"x" * 1_001, "a.txt", {"text_bytes": 1_000}),
        (zipped({"a.txt": b"a" * 900_000}), "a.zip", {"text_bytes": 500_000}),
    ],
)  # fmt: skip
def test_more_than_may_come_out_of_a_file_is_refused(
    data: bytes, name: str, limits: dict[str, int]
) -> None:
    with pytest.raises(TooLarge) as told:
        read_upload(name, data, limits=UploadLimits(**limits))
    assert told.value.http_status == 413
    assert str(*limits.values()) in str(told.value).replace(",", "")


@pytest.mark.slow
def test_bomb_is_refused() -> None:
    bomb = zipped({"a.txt": b"\0" * (300 << 20)})
    assert len(bomb) < 1 << 20
    with pytest.raises(SimstoreError) as told:
        read_upload("bomb.zip", bomb)
    assert told.value.http_status in (413, 422)


def test_name_of_a_file_leads_nowhere() -> None:
    for given, name in [
        ("paper.docx", "paper.docx"),
        ("论文.docx", "论文.docx"),
        ("../../etc/passwd", "passwd"),
        ("C:\\papers\\a.pdf", "a.pdf"),
        ("/", "file"),
        ("", "file"),
        ("..", "file"),
        ("-", "file"),
        (".hidden", "hidden"),
        ("--help.txt", "help.txt"),
        ("a\0b\n.txt", "a_x00b_n.txt"),
        ("*?[x].txt", "___x_.txt"),
        ("x" * 400 + ".docx", "x" * 175 + ".docx"),
        ("文" * 400 + ".docx", "文" * 58 + ".docx"),
        ("\udcff.txt", "_xff.txt"),
    ]:
        assert safe_name(given) == name
        assert len(safe_name(given).encode()) <= 200


def test_file_is_read_under_its_safe_name() -> None:
    for given, name in (("../../etc/passwd", "passwd"), ("\udcff.txt", "_xff.txt")):
        assert texts(read_upload(given, b"fine", options={"format": "text"})) == [(name, "fine")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_document_may_be_as_long_as_all_that_is_taken(name: str) -> None:
    text = "words of a long paper\n" * 400_000
    assert len(text) > 8 << 20
    record = json.dumps({"key": "k", "text": text}) if name.endswith("jsonl") else text
    (found,) = read_upload(name, record.encode()).documents
    assert len(found.text) >= len(text) - 1
    with pytest.raises((TooLarge, UnreadableSource), match="8,500,000"):
        read_upload(name, record.encode(), limits=UploadLimits(text_bytes=8_500_000))
