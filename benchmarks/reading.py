"""How fast sources are read, and what of an ingest that is: ``python benchmarks/reading.py``.

The same documents as an article file, JSON Lines, CSV and Parquet, read by simstore's readers and
by plain loops over the libraries that others use; then ingested. Processor time, best of several.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions
from simstore.store import Store

WORDS = 300
VOCABULARY = 20_000


def make_documents(count: int, seed: int = 1) -> list[dict[str, str | int]]:
    """Return documents of random words, each with three fields of metadata."""
    source = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(source.choices(letters, k=source.randint(2, 9))) for _ in range(VOCABULARY)]
    return [
        {
            "url": f"https://a.example/{number}",
            "text": " ".join(source.choices(words, k=WORDS)),
            "site": "a.example",
            "language": "en",
            "number": number,
        }
        for number in range(count)
    ]


def write_files(folder: Path, documents: list[dict[str, str | int]]) -> list[Path]:
    """Write the documents in every format; return the files, the article file first."""
    paths = [folder / "article.txt", folder / "a.jsonl", folder / "a.csv"]
    paths[0].write_text("".join(f"{one['url']}\n{one['text']}\n\f" for one in documents))
    paths[1].write_text("".join(json.dumps(one) + "\n" for one in documents))
    with paths[2].open("w", newline="") as file:
        writer = csv.DictWriter(file, list(documents[0]))
        writer.writeheader()
        writer.writerows(documents)
    if importlib.util.find_spec("pyarrow"):
        import pyarrow
        import pyarrow.parquet

        paths.append(folder / "a.parquet")
        table = pyarrow.Table.from_pylist(documents)
        pyarrow.parquet.write_table(table, paths[-1], row_group_size=10_000)
    return paths


def read_ours(path: Path) -> int:
    return sum(1 for _ in FileSource(str(path), ReadOptions()).records())


def read_json(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if json.loads(line)["text"])


def read_orjson(path: Path) -> int:
    import orjson

    with path.open("rb") as file:
        return sum(1 for line in file if orjson.loads(line)["text"])


def read_csv(path: Path) -> int:
    with path.open(newline="") as file:
        return sum(1 for row in csv.DictReader(file) if row["text"])


def read_pyarrow(path: Path) -> int:
    import pyarrow.parquet

    batches = pyarrow.parquet.ParquetFile(path).iter_batches()
    return sum(1 for batch in batches for row in batch.to_pylist() if row["text"])


def read_polars(path: Path) -> int:
    import polars

    read = {".jsonl": polars.read_ndjson, ".csv": polars.read_csv, ".parquet": polars.read_parquet}
    return sum(1 for row in read[path.suffix](path).iter_rows(named=True) if row["text"])


PEERS: dict[str, list[tuple[str, str, Callable[[Path], int]]]] = {
    ".jsonl": [("json", "json", read_json), ("orjson", "orjson", read_orjson)],
    ".csv": [("csv.DictReader", "csv", read_csv)],
    ".parquet": [("pyarrow to_pylist", "pyarrow", read_pyarrow)],
}


def seconds(step: Callable[[], object], repeats: int) -> float:
    """Return the processor seconds of a step, the best of some."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        step()
        best = min(best, time.process_time() - start)
    return best


def ingest(path: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder, "s.db"), create=True, synchronous="normal") as store,
    ):
        store.ingest([str(path)])


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=30_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder), make_documents(given.documents))
        print(f"{'file':12} {'read by':20} {'MB/s':>7} {'documents/s':>12}")
        reading = {}
        for path in paths:
            peers = [*PEERS.get(path.suffix, []), ("polars", "polars", read_polars)]
            if path.suffix == ".txt":
                peers = []
            known = [(name, step) for name, module, step in peers if _is_installed(module)]
            for name, step in [("simstore", read_ours), *known]:
                spent = seconds(lambda step=step, path=path: step(path), given.repeats)
                if step is read_ours:
                    reading[path] = spent
                rate = path.stat().st_size / spent / 1e6
                print(f"{path.name:12} {name:20} {rate:7.0f} {given.documents / spent:12,.0f}")
        print(f"\n{'ingest of':12} {'documents/s':>12} {'of articles':>12} {'is reading':>12}")
        whole = {path: seconds(lambda path=path: ingest(path), given.repeats) for path in paths}
        for path, spent in whole.items():
            print(
                f"{path.name:12} {given.documents / spent:12,.0f} {whole[paths[0]] / spent:12.0%} "
                f"{reading[path] / spent:12.0%}"
            )


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


if __name__ == "__main__":
    main()
