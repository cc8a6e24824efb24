"""Assemble docs/explanation/benchmarks.md from the figures of the parts; standard library only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper import on_paper
from results import Target, markdown_of, markdown_table, target_rows

# Why a target is missed, by the beginning of its name.
WHY: dict[str, str] = {
    "simtool on": (
        "reading, and the pages of memory that 353 MB and their words take; the start of Python "
        "and NumPy, 0.3 s, hardly counts there."
    ),
    "simstore, web, both channels, texts kept": (
        "reading takes 30 µs of processor a document, preparing 150 (compression, sketches, words, "
        "counts and digests 100 of them) and writing 55, where the whole plain table takes 55: two "
        "processors that are never idle would give half of its rate."
    ),
    "10,000 queries in one call, from the pages": (
        "they ask for most pages there are, and each page is read and unpacked; the resident index "
        "is what answers batches."
    ),
    "check and insert, singly": (
        "21 statements in two thousand calls of Python, eighteen changed pages of 8 KiB in the log "
        "and a sync, 600/s without any look-up; the plain table of the same texts makes some "
        "3,500/s."
    ),
    "one add": (
        "of 1.1 ms by the clock that one kept without a look-up takes, its commit (18 changed "
        "pages of 8 KiB in the log, and the sync) has .45, where all that the plain table does is "
        ".3 to .4; the other eleven statements have .18, preparing .14, and some four hundred "
        "calls of Python the rest. Where duplicates are flagged, bands and fingerprints are looked "
        "up besides, .4 ms, and one text in nine that is like a stored one takes 3 ms of its own. "
        "With `--documents 1000000 --before 8000` it was .207 kept and .113 flagged by the clock; "
        "with `--documents 3000000 --before 36000` .157 and .087, and .180 and .099 in stores of "
        "the same size once what had been written of them was on the disk."
    ),
    "check and insert in groups of 500": (
        "fingerprint, sketch and vocabulary of a text take twice what the plain table needs for "
        "all; then come the look-ups and ten rows of tables and indexes in place of two. Into "
        "1,000,000 (`--documents 1000000 --before 8000`) it was .115 by the clock, into 3,000,000 "
        "(`--before 36000`) .103, and .118 once they were on the disk."
    ),
    "check and insert, together": (
        "the store without any look-up takes them at 5,500/s; a check reads some twenty pages of "
        "bands, four of segments and a few sketches a document, one thread beside those that "
        "prepare. With the fingerprints in memory (decision 336) it was 2,943/s, and 314/s singly, "
        "in a run that ended before the peers."
    ),
    "service, check and insert into": (
        "a document is five changed pages of 8 kB, and one thread looks it up and writes it. The "
        "machine was slow in that hour: single adds of `writes.py` took 1.4 to 1.8 times what they "
        "took in others. A run of six seconds later that day made 1,533/s."
    ),
    "service, queries of one text": (
        "it was measured just after the load, whose 425,800 documents the server packs meanwhile "
        "on one of the two processors, in a slow hour. After a load of six seconds it was 1,265/s, "
        "and 1,301/s with the code before; 1,665/s in an earlier run."
    ),
    "service, check and insert vs datasketch with Redis": (
        "the peer keeps bands in memory alone: no text, no fingerprint, nothing on a disk, no "
        "HTTP. By processor time a document takes 2.9 ms there and 0.7 to 0.9 here, of which 0.65 "
        "are the one thread that prepares, looks up and writes."
    ),
    "one query, from the pages, vs FAISS Flat, 10,000,000": (
        "most of a query from the file are the calls of SQLite and NumPy; 300 × would leave them "
        "18 µs. The resident index passes it."
    ),
    "plagdet of copies in English": (
        "by less than a hundredth, as with the kinds high and scan; what is missed there was "
        "not looked into."
    ),
    "ingest, two threads beside one": (
        "other work kept both processors busy while it was measured (what a plain loop gained "
        "stands beside it). Of its time .4 s are Numba's import, in which nothing else computes."
    ),
    "query of many samples, two processors": (
        "other work kept both processors busy while it was measured (what a plain loop gained "
        "stands beside it). Of its time .65 s are the load of kernels before the fork."
    ),
    "check of many papers, two processors": (
        "other work kept both processors busy while it was measured (what a plain loop gained "
        "stands beside it). Of its time .23 s come before the fork."
    ),
}

HEAD = """# Benchmarks

This page compares the speed and the size of simstore with those of other packages, and says
where simstore misses its own targets. It is made by

<!-- not run: it takes an hour -->
```bash
python benchmarks/run.py --big
```

The program makes an environment of its own with the other packages, runs each part in a process of
its own, and assembles this page. `--only PART` renews one part, `--quick` tries all in minutes.

Trust the ratios inside a table. A table is one run on one machine, and the methods were timed in
turn. Absolute figures are those of this machine. Every answer was checked before it was timed."""


def page(folder: Path, parts: Sequence[str]) -> str:
    """Return the page.

    Args:
        folder: Where the parts' JSON files are; a part that has none is left out, and named.
        parts: In the order of the page.
    """
    files = {part: folder / f"{part}.json" for part in parts}
    records: dict[str, dict[str, Any]] = {
        part: json.loads(file.read_text(encoding="utf-8"))
        for part, file in files.items()
        if file.is_file()
    }
    sections = [HEAD, _machines(records), _targets(records)]
    sections += [markdown_of(record) for record in records.values()]
    paper = on_paper(records)
    if paper:
        sections.append(paper)
    absent = [part for part in parts if part not in records]
    if absent:
        sections.append(f"## Not measured yet\n\n{', '.join(absent)}.")
    return "\n\n".join(section for section in sections if section) + "\n"


def _machines(records: dict[str, dict[str, Any]]) -> str:
    """Return what each part ran on: the machine once, where all ran on the same."""
    if not records:
        return ""
    machines = {
        f"{m['processor']}, {m['cores']} cores, {m['memory_bytes'] / 2**30:.0f} GiB, {m['system']}"
        for m in (record["machine"] for record in records.values())
    }
    versions: dict[str, set[str]] = {}
    for record in records.values():
        for name, version in record["versions"].items():
            versions.setdefault(name, set()).add(version)
    named = ", ".join(f"{name} {' and '.join(sorted(v))}" for name, v in versions.items())
    rows = [
        [
            f"`{record['command']}`",
            record["date"],
            f"{record['seconds']:,} s",
            f"{record['peak_bytes'] / 1e9:.1f} GB",
            f"{record['machine']['load_15_minutes']:.1f}",
        ]
        for record in records.values()
    ]
    columns = ("command", "when", "took", "peak memory", "load")
    return "\n\n".join(
        [
            f"Machine: {'; '.join(sorted(machines))}. {named}.",
            markdown_table(columns, rows),
            "*Load* is the average over the 15 minutes before the part's end: above the number of "
            "cores, other work took part of them.",
        ]
    )


def _targets(records: dict[str, dict[str, Any]]) -> str:
    """Return the table of what was asked for and what was reached, and why not."""
    targets = [Target(**given) for record in records.values() for given in record["targets"]]
    if not targets:
        return ""
    sections = [
        "## Asked for, and reached",
        "One thread, 64 bits, radius 3, where it speaks of fingerprints; *vs* is times as fast as.",
        markdown_table(("what", "asked", "reached", "met"), target_rows(targets)),
    ]
    missed = [target for target in targets if target.met is False]
    reasons = []
    for start, reason in WHY.items():
        names = [target.what for target in missed if target.what.startswith(start)]
        if names:
            reasons.append(f"- {'; '.join(names)}: {reason}")
    met = sum(target.met is True for target in targets)
    sections.append(f"{met} of the {met + len(missed)} that were measured are met.")
    return "\n\n".join([*sections, "\n".join(reasons)] if reasons else sections)
