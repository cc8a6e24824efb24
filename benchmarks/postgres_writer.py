"""One writer of ``benchmarks/postgres.py``: adds documents from standard input, told when to begin.

Usage: python benchmarks/postgres_writer.py PLACE BATCH MODE   (a line of JSON, then a line to go)
"""

from __future__ import annotations

import json
import sys

from simstore import Store


def main() -> None:
    place, batch, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    given = json.loads(sys.stdin.readline())
    with Store.open(place) as store:
        # Imports, connections, compiled code.
        store.add_many(given[:1], on_duplicate=mode, threads=1)
        print("ready", flush=True)
        sys.stdin.readline()
        for start in range(1, len(given), batch):
            store.add_many(given[start : start + batch], on_duplicate=mode, threads=1)
    print("done", flush=True)


if __name__ == "__main__":
    main()
