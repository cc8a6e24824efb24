"""Near-duplicates of JSON Lines with datasketch: words as they stand, 128 values, threshold 0.8."""

import json
import sys

from datasketch import MinHash, MinHashLSH

lsh = MinHashLSH(threshold=0.8, num_perm=128)
with open(sys.argv[1], encoding="utf-8") as source, open(sys.argv[2], "w", encoding="utf-8") as out:
    for number, line in enumerate(source):
        text = json.loads(line)["text"].lower()
        sketch = MinHash(num_perm=128)
        words = text.split() if " " in text else [text[n : n + 3] for n in range(len(text))]
        sketch.update_batch([word.encode() for word in set(words)])
        if not lsh.query(sketch):
            lsh.insert(number, sketch)
            out.write(line)
