"""Near-duplicates of JSON Lines with SemHash, as its README shows it."""

import json
import sys

from semhash import SemHash

with open(sys.argv[1], encoding="utf-8") as source:
    lines = list(source)
records = [{"text": json.loads(line)["text"], "line": line} for line in lines]
made = SemHash.from_records(records=records, columns=["text"]).self_deduplicate()
with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.writelines(record["line"] for record in made.selected)
