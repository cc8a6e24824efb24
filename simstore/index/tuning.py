"""The tuning constants of the indexes: what each trades, and the benchmark that shows it.

Results never depend on them. Modules read them when they need them, so that a test can set one.
"""

from __future__ import annotations

# Entries of a page, on average, from this to twice as many: fewer make a look-up read less, more
# save bytes of rows. `python benchmarks/neighbours.py`
PAGE_ENTRIES = 48
# Bits of a filter for each key: 8 let 3 in 100 absent keys read a page, 16 let 1 in 200, for 42
# bytes a document more. `python benchmarks/writes.py`
FILTER_KEY_BITS = 8
# Look-ups that miss pages of filters before all are read: one query reads few pages, a writer
# needs nearly all. `python benchmarks/writes.py`
LAZY_LOOK_UPS = 16
# Runs of a level that are not merged yet: more are written less often and read more often.
# `python benchmarks/growth.py`
LEVEL_RUNS = 7
# Entries that are merged at a time: memory (about 32 bytes each, and as many again while they are
# sorted) for fewer statements. `python benchmarks/growth.py`
MERGED_ENTRIES = 1 << 20
# The longest tail of sketches: a process reads it in some 20 ms before its first query; a shorter
# one is packed more often. `python benchmarks/living.py`
TAIL_SKETCHES = 4_096
# Distinct fingerprints up to which their segment columns are the index: four b-trees, of which an
# add changes a page each, for a store that is searched by SQL. `python benchmarks/packed.py`
COLUMN_FINGERPRINTS = 262_144
# The longest tail of fingerprints in larger stores: a shorter one is merged more often.
# `python benchmarks/packed.py`
TAIL_FINGERPRINTS = 65_536
# Fingerprints of a tail for each look-up so far, up to which a process reads the tail into memory
# instead of looking up its columns. `python benchmarks/living.py`
TAIL_EACH = 256
# A merge, or a resident index, drops what was removed when one entry in so many was: bytes and
# candidates for less work. `python benchmarks/growth.py`
GONE_SHARE = 8
