"""Fuzz the readers by the code that they reach: ``python tests/fuzz_readers.py SECONDS FOLDER``.

Needs atheris; the folder is for its inputs. Ends with an error, and writes the input to the working
folder, where a reader raises what it does not say that it raises, or makes a record that a store
refuses. What was found so is kept in tests/data/fuzz under ``READER-NAME``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
with atheris.instrument_imports(include=["simstore.sources", "pypdf"]):
    from simstore.sources.isolated import reading_files
    from simstore.sources.unpacking import DamagedStream
    from tests.property.test_reading import READERS as TEXT_READERS
    from tests.property.test_web_reading import FOUND, READERS, check, read

NAMES = [*READERS, *(reader.name for reader in TEXT_READERS if reader.name not in READERS)]
ALL = {reader.name: reader for reader in (*TEXT_READERS, *READERS.values())}


def one_input(data: bytes) -> None:
    """Read bytes, of which the first says with what."""
    if data:
        reader = ALL[NAMES[data[0] % len(NAMES)]]
        try:
            check(read(reader, data[1:]), len(data) - 1)
        except DamagedStream:
            return


def main() -> None:
    """Fuzz for so many seconds, from the inputs that were found before."""
    seconds, corpus = sys.argv[1], Path(sys.argv[2])
    corpus.mkdir(exist_ok=True)
    for path in FOUND:
        number = NAMES.index(path.name.split("-")[0])
        (corpus / path.name).write_bytes(bytes((number,)) + path.read_bytes()[:4_096])
    options = [f"-max_total_time={seconds}", "-max_len=4096", "-timeout=20", "-rss_limit_mb=2048"]
    # Readers that start a process otherwise read in this one, so that the fuzzer sees their code.
    with reading_files():
        atheris.Setup([sys.argv[0], *options, str(corpus)], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
