"""What billions of pages take: constants of this machine, curves of real text, and the plan.

Usage: python benchmarks/scale.py [--quick] [--text FOLDER ...] [--job DOCUMENTS] [--page]
       python benchmarks/scale.py --replan [--page]

Three steps. It measures what a document costs here (processor seconds and bytes); counts how
often fingerprints and sketches of real text meet, at growing numbers of texts; and puts both into
a model of a run on many machines, whose arithmetic is checked by a simulation with planted pairs.
With ``--job`` the bytes that Spark shuffles are measured on a real run of so many documents (it
needs the extra ``spark`` and Java). ``--page`` renews the tables in docs/explanation/scale.md;
``--replan`` measures nothing and computes the plan of what was measured last.

The real texts are pieces of 700 characters of what lies on this machine: Python's library,
installed packages and the documentation in /usr/share, or the folders that are named.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from corpus import documents
from results import Report, Table, figure, markdown_of, parser

from simstore.fingerprint.channels import Channels, signatures
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.web import WebScheme
from simstore.search.all_pairs import resemblances
from simstore.search.block_keys import BlockKeys, block_keys
from simstore.search.hamming import verify
from simstore.search.table_lookup import expanded

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "scale.md"
BEGIN, END = "<!-- scale: begin -->", "<!-- scale: end -->"
PIECE = 700
SUFFIXES = {".py", ".txt", ".md", ".rst", ".html", ".gz", ".h", ".pyi"}
RADIUS = 3
# Texts whose meetings are counted; what is farther than this met by chance.
ASKED = 5_000
FAR_BITS = 8
FAR_SHARE = 0.2
NEAR_SHARE = 0.5
# Keys whose meetings are counted; and layouts of bands.
PLANS = [BlockKeys(64, 4, 1), BlockKeys(64, 5, 2), BlockKeys(64, 6, 3), BlockKeys(64, 7, 4)]
LAYOUTS = [BandLayout(42, 3), BandLayout(32, 4), BandLayout(21, 6), BandLayout(16, 8),
           BandLayout(12, 10)]  # fmt: skip
SIZES = (10**6, 10**7, 5 * 10**7, 10**8, 10**9, 8 * 10**9)
# What the plan goes by; each is a line of its own in docs/explanation/scale.md.
PAGE_BYTES = 3_500
CORE_SECONDS_PRICE = 0.045 / 3600  # dollars a core and hour, on demand, memory and disk with it
CORES = 2_000
EXTRACTION_SECONDS = 1 / 240  # a page of 96 kB of HTML to its main text; components.md
SPARK_FACTOR = 2.0  # processor seconds of Spark to those of the work alone
# Pages that one is alike, and is compared with by its text: of a crawl whose copies are taken out,
# and of templates and copies as they are on the disk of a machine (*near a text*, of a million).
NEAR_PAGES = (1, 150)
SKETCH_BYTES = 256  # that a candidate carries before its text does
MOST_CHANCE = 20  # chance candidates a page that are worth longer bands
DAILY = 0.01  # share of pages that are new each day


def texts_of(folders: Sequence[Path], most: int) -> list[str]:
    """Return distinct pieces of the texts below folders, drawn from all of them."""
    seen: set[int] = set()
    pieces: list[str] = []
    for path in _files(folders):
        try:
            data = path.read_bytes() if path.suffix != ".gz" else gzip.decompress(path.read_bytes())
        except (OSError, EOFError, ValueError):
            continue
        text = data[: 1 << 20].decode("utf-8", "ignore")
        for start in range(0, len(text) - PIECE // 2, PIECE):
            piece = text[start : start + PIECE]
            if hash(piece) not in seen:
                seen.add(hash(piece))
                pieces.append(piece)
    order = np.random.default_rng(3).permutation(len(pieces))[:most]
    return [pieces[place] for place in order.tolist()]


def _files(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        found = [path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file()]
        yield from sorted(found)


def keys_of(words: np.ndarray, keys: BlockKeys) -> np.ndarray:
    return words[:, :1] & np.array(keys.masks(), np.uint64)


def meetings(values: np.ndarray) -> int:
    """Return how many pairs of rows have an equal value, over all columns."""
    total = 0
    for column in range(values.shape[1]):
        ordered = np.sort(values[:, column])
        bounds = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        sizes = np.diff(np.append(bounds, len(ordered)))
        total += int((sizes * (sizes - 1) // 2).sum())
    return total


def met_by(
    columns: Iterable[np.ndarray], asked: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield which rows share a value with the rows that are asked for, some at a time."""
    for column in columns:
        order = np.argsort(column, kind="stable")
        ordered = column[order]
        starts = np.searchsorted(ordered, column[asked], "left")
        lengths = np.searchsorted(ordered, column[asked], "right") - starts
        for rows, places in expanded(starts, lengths):
            one, other = asked[rows], order[places]
            yield one[one != other], other[one != other]


def curves(report: Report, folders: Sequence[Path], sizes: Sequence[int]) -> tuple[dict, dict]:
    """Count meetings of real text; return how likely two different texts meet."""
    texts = texts_of(folders, sizes[-1])
    sizes = [*(size for size in sizes if size < len(texts)), len(texts)]
    scheme, channels = WebScheme(), Channels()
    made = [
        signatures(scheme, channels, part, sum(len(text.encode()) for text in part))
        for part in (texts[n : n + 5_000] for n in range(0, len(texts), 5_000))
    ]
    kept = np.concatenate([one.shingle_counts for one in made]) > 0
    words = np.concatenate([one.words for one in made if one.words is not None])[kept]
    sketches = np.concatenate([one.sketches["minhash"] for one in made])[kept]
    titles = [str(keys) for keys in PLANS] + [str(layout) for layout in LAYOUTS]
    table = report.table(
        "Candidates a text by chance, of real text",
        ["texts", *titles, "near a text"],
        f"Texts that share a key, or agree in a band, and are not alike: more than {FAR_BITS} bits "
        f"apart, or of a resemblance below {FAR_SHARE}, estimated. Each key and band counts. The "
        f"mean of at most {ASKED:,} texts; what is near them is counted apart. The row below: how "
        "many times as often two such texts share a key as two random fingerprints do.",
    )
    likely: dict[str, float] = {}
    for size in sizes:
        size = min(size, len(words))
        asked = np.arange(min(size, ASKED))
        chance = []
        near = 0
        for keys in PLANS:
            far = 0
            for one, other in met_by(keys_of(words[:size], keys).T, asked):
                away = np.bitwise_count(words[one] ^ words[other]).sum(axis=1)
                far += int((away > FAR_BITS).sum())
            chance.append(far / len(asked))
        for layout in LAYOUTS:
            far = 0
            for one, other in met_by(band_values(sketches[:size], layout).T, asked):
                share = (sketches[one] == sketches[other]).mean(axis=1)
                far += int((share < FAR_SHARE).sum())
                near += int((share >= NEAR_SHARE).sum()) if layout.bands == 42 else 0
            chance.append(far / len(asked))
        # A pair of a resemblance of a half and more agrees in a number of bands; roughly so many.
        table.add(f"{size:,}", *map(figure, chance), figure(near / len(asked) / 42 / 0.35))
        likely = {title: one / size for title, one in zip(titles, chance, strict=True)}
    crowding = {str(keys): likely[str(keys)] / random_share(keys) for keys in PLANS}
    times = [figure(crowding[str(keys)]) for keys in PLANS]
    table.add("times random", *times, *[""] * (len(LAYOUTS) + 1))
    report.values |= {"likely": likely, "crowding": crowding, "real_texts": len(texts)}
    return likely, crowding


class Constants:
    """What a document, and a pair, cost on this machine."""

    def __init__(self, report: Report, count: int) -> None:
        scheme, channels = WebScheme(), Channels()
        texts = [text for _, text in documents(count)]
        size = sum(map(len, texts))
        signatures(scheme, channels, texts[:200], size)  # kernels are compiled before
        self.sign = best(lambda: signatures(scheme, channels, texts, size)) / count
        sets = channels.sketching.sets(texts)
        rng = np.random.default_rng(1)
        pairs = rng.integers(0, count, (2, 2 * count))
        self.verify = best(lambda: resemblances(sets, pairs[0], pairs[1])) / (2 * count)
        # The sets of both texts are made for it.
        self.verify += 2 * best(lambda: channels.sketching.sets(texts)) / count
        words = rng.integers(0, 1 << 64, (3_000, 1), dtype=np.uint64)
        left, right = np.triu_indices(3_000, 1)
        self.meet = best(lambda: verify(words[left], words[right], RADIUS)) / len(left)
        table = report.table(
            "What it costs here", ["", "processor seconds"], "One core; best of three."
        )
        table.add(f"fingerprint and sketch of a text of {size // count:,} bytes", figure(self.sign))
        table.add("shingle sets and resemblance of a pair", figure(self.verify))
        table.add("distance of two fingerprints that share a key", figure(self.meet))
        report.values["constants"] = vars(self).copy()


def best(act: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        started = time.process_time()
        act()
        seconds.append(time.process_time() - started)
    return max(min(seconds), 1e-9)


def simulation(report: Report, count: int) -> None:
    """Check the arithmetic, and that no planted pair is missed, on random fingerprints."""
    rng = np.random.default_rng(9)
    words = rng.integers(0, 1 << 64, count, dtype=np.uint64)
    planted = count // 100
    for place in range(planted):
        flips = rng.choice(64, place % (RADIUS + 1), replace=False)
        mask = sum(1 << int(bit) for bit in flips)
        words[count // 2 + place] = words[place] ^ np.uint64(mask)
    table = report.table(
        f"The arithmetic, checked with {count:,} random fingerprints",
        ["keys", "meetings expected", "meetings counted", "planted pairs found"],
    )
    differences = (words[:planted] ^ words[count // 2 : count // 2 + planted])[:, None]
    for keys in PLANS[:3]:
        expected = keys.meetings(count)
        counted = meetings(keys_of(words[:, None], keys))
        agreeing = ~(differences & keys.mask_words()[:, 0]).astype(np.bool_)
        found = int(agreeing.any(axis=1).sum())
        table.add(str(keys), f"{expected:,.0f}", f"{counted:,}", f"{found:,} of {planted:,}")
        assert found == planted, "a planted pair was missed"
        # A planted pair meets in most keys: those are no chance.
        assert (
            abs(counted - planted * keys.count - expected) < 0.1 * expected + planted * keys.count
        )


def plan(
    report: Report, constants: Constants | SimpleNamespace, likely: dict, crowding: dict, job: dict
) -> None:
    """Put it together for each size, in one shot and a day's increment."""
    titles = ["pages", "keys", "bits", "bands", "candidates a page", "shuffled, TB", "core-hours",
              "hours", "dollars"]  # fmt: skip
    note = f"Where a page is alike to {NEAR_PAGES[0]} and to {NEAR_PAGES[1]} others."
    once = report.table(f"One shot, {CORES:,} cores", titles, note)
    daily = report.table(f"{DAILY:.0%} new in a day, against all, {CORES:,} cores", titles, note)
    for count in SIZES:
        keys = block_keys(64, RADIUS, count)
        layout = bands_for(count, likely)
        for share, table in ((1.0, once), (DAILY, daily)):
            new = count * share
            # Pairs with at least one new page.
            pairs = new * (count - new) + new * new / 2
            met = pairs * crowding.get(str(keys), max(crowding.values())) * random_share(keys)
            # By their sketches; chance candidates go no further.
            chance = pairs * likely[str(layout)]
            rows = count * (keys.count + layout.bands)
            once_seconds = new * (EXTRACTION_SECONDS + constants.sign) + rows * job["row_seconds"]
            once_seconds += met * constants.meet
            ends = []
            for near in NEAR_PAGES:
                alike = new * near
                seconds = (once_seconds + alike * constants.verify) * SPARK_FACTOR
                shuffled = rows * job["row_bytes"] + 2 * (chance + alike) * SKETCH_BYTES
                shuffled += 2 * alike * job["pair_bytes"]
                ends.append(
                    (
                        figure((chance + alike) / new),
                        figure(shuffled / 1e12),
                        f"{seconds / 3600:,.0f}",
                        figure(seconds / 3600 / CORES),
                        f"{seconds * CORE_SECONDS_PRICE:,.0f}",
                    )
                )
            table.add(
                f"{count:.0e}".replace("e+0", "e").replace("e+", "e"),
                keys,
                min(mask.bit_count() for mask in keys.masks()),
                layout,
                *(" to ".join(dict.fromkeys(both)) for both in zip(*ends, strict=True)),
            )


def random_share(keys: BlockKeys) -> float:
    """Return how likely two random fingerprints share a key, each key counted."""
    return sum(2.0 ** -mask.bit_count() for mask in keys.masks())


def key_widths(report: Report, constants: Constants, crowding: dict, job: dict) -> None:
    """Show what each kind of key would cost at each size: processor seconds a page."""
    table = report.table(
        "Seconds a page, by the keys",
        ["pages", *(f"{keys} ({min(m.bit_count() for m in keys.masks())} bits)" for keys in PLANS)],
        "Sorting the keys of a page, and comparing what shares one; processor seconds.",
    )
    for count in SIZES:
        cells = []
        for keys in PLANS:
            met = count / 2 * crowding[str(keys)] * random_share(keys)
            cells.append(figure(keys.count * job["row_seconds"] + met * constants.meet))
        table.add(f"{count:.0e}".replace("e+0", "e").replace("e+", "e"), *cells)


def bands_for(count: int, likely: dict) -> BandLayout:
    """Return the bands that miss least of those with few enough chance candidates a page."""
    for layout in LAYOUTS:
        if likely[str(layout)] * count / 2 <= MOST_CHANCE:
            return layout
    return LAYOUTS[-1]


def job_bytes(report: Report, count: int) -> dict:
    """Run the job on the benchmark's corpus; return bytes and seconds of a shuffled row."""
    given = {"row_bytes": 45.0, "row_seconds": 2e-6, "pair_bytes": 2_000.0}
    if not count:
        return given
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("spark_job.py"), "--corpus",
             "--documents", str(count), "--json"],
            check=True, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": folder},
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    facts = json.loads(done.stdout.splitlines()[-1])
    shuffled, seconds, pairs = facts["shuffled"], facts["seconds"], facts["compared"]
    size = facts["output"]
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    table = report.table(
        f"A real run, {count:,} documents of the benchmark's corpus, local[2]",
        ["", "in all", "a document"],
        "Starting Spark is in the seconds, so few documents cost more each.",
    )
    table.add("bytes shuffled", f"{shuffled:,.0f}", f"{shuffled / count:,.0f}")
    table.add("bytes of the output", f"{size:,}", f"{size / count:,.0f}")
    table.add("seconds", f"{seconds:,.0f}", figure(seconds / count))
    table.add("processor seconds", f"{spent:,.0f}", figure(spent / count))
    table.add("pairs compared", f"{pairs:,.0f}", figure(pairs / count))
    report.values["job"] = {"shuffled": shuffled, "documents": count, "processor_seconds": spent}
    rows = block_keys(64, RADIUS, count).count + LAYOUTS[0].bands
    return given | {"row_bytes": shuffled / count / rows}


def found_by_bands(report: Report) -> None:
    shares = np.array([0.5, 0.65, 0.8, 0.9])
    table = report.table(
        "Pairs that bands find",
        ["bands", *map(str, shares.tolist())],
        "Of pairs of such a resemblance. What a radius of 3 finds besides is not in it.",
    )
    for layout in LAYOUTS:
        table.add(layout, *(f"{share:.1%}" for share in layout.probability(shares).tolist()))


def assumptions(report: Report, job: dict) -> None:
    table: Table = report.table("What is assumed", ["", ""])
    table.add("text of a page", f"{PAGE_BYTES:,} bytes")
    table.add("main text of a page of HTML, processor seconds", figure(EXTRACTION_SECONDS))
    table.add("Spark's processor seconds, times those of the work", figure(SPARK_FACTOR))
    table.add("a row of a shuffle, processor seconds to sort it", figure(job["row_seconds"]))
    table.add("a row of a shuffle, bytes; measured where there is a run", figure(job["row_bytes"]))
    table.add("a text of a compared pair in a shuffle, bytes", figure(job["pair_bytes"]))
    table.add("cores", f"{CORES:,}")
    table.add("a core and hour", f"{CORE_SECONDS_PRICE * 3600:.3f} dollars")
    table.add("a sketch of a candidate in a shuffle, bytes", SKETCH_BYTES)
    table.add("pages that a page is alike to", f"{NEAR_PAGES[0]} to {NEAR_PAGES[1]}")
    table.add("new pages a day", f"{DAILY:.0%}")


def replan(folder: Path) -> dict:
    """Compute the plan anew from the constants and curves that were measured last."""
    record = json.loads((folder / "scale.json").read_text("utf-8"))
    values = record["values"]
    job = job_bytes(Report("scale", ""), 0)
    rows = block_keys(64, RADIUS, values["job"]["documents"]).count + LAYOUTS[0].bands
    job["row_bytes"] = values["job"]["shuffled"] / values["job"]["documents"] / rows
    report = Report("scale", "")
    assumptions(report, job)
    constants = SimpleNamespace(**values["constants"])
    plan(report, constants, values["likely"], values["crowding"], job)
    made = {table["title"]: table for table in report.record()["tables"]}
    record["tables"] = [made.get(table["title"], table) for table in record["tables"]]
    (folder / "scale.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return record


def write_page(record: dict) -> None:
    text = PAGE.read_text("utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    tables = markdown_of(record).split("\n\n", 1)[1]
    PAGE.write_text(f"{head}{BEGIN}\n\n{tables}\n\n{END}{tail}", "utf-8")


def main() -> None:
    given = parser(__doc__)
    given.add_argument("--text", type=Path, nargs="*", help="folders of real text")
    given.add_argument("--job", type=int, default=0, metavar="DOCUMENTS")
    given.add_argument("--replan", action="store_true", help="of what was measured last")
    given.add_argument("--page", action="store_true", help="renew docs/explanation/scale.md")
    options = given.parse_args()
    if options.replan:
        record = replan(options.results)
        if options.page:
            write_page(record)
        return
    folders = options.text or [
        Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib")), Path("/usr/share"),
    ]  # fmt: skip
    intro = "docs/explanation/scale.md says what the tables mean."
    report = Report("scale", "Billions of pages", intro)
    # First what may fail for want of Java.
    job = job_bytes(report, options.job)
    constants = Constants(report, 300 if options.quick else 2_000)
    sizes = [1_000, 5_000] if options.quick else [10_000, 100_000, 300_000, 1_000_000]
    likely, crowding = curves(report, folders, sizes)
    simulation(report, 200_000 if options.quick else 3_000_000)
    found_by_bands(report)
    assumptions(report, job)
    key_widths(report, constants, crowding, job)
    plan(report, constants, likely, crowding, job)
    report.finish(options.results)
    if options.page:
        write_page(report.record())


if __name__ == "__main__":
    main()
