"""Near-duplicates of JSON Lines with rensa: words as they stand, 128 values, threshold 0.8."""

import json
import sys

from rensa import RMinHash, RMinHashLSH

lsh = RMinHashLSH(threshold=0.8, num_perm=128, num_bands=32)
kept = {}
with open(sys.argv[1], encoding="utf-8") as source, open(sys.argv[2], "w", encoding="utf-8") as out:
    for number, line in enumerate(source):
        text = json.loads(line)["text"].lower()
        sketch = RMinHash(num_perm=128, seed=42)
        sketch.update(text.split() if " " in text else [text[n : n + 3] for n in range(len(text))])
        if all(sketch.jaccard(kept[other]) < 0.8 for other in lsh.query(sketch)):
            lsh.insert(number, sketch)
            kept[number] = sketch
            out.write(line)
