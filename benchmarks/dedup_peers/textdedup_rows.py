"""Near-duplicates of JSON Lines with text-dedup: its MinHash command, by runs of three words."""

import json
import sys
import tempfile

import datasets
from text_dedup.minhash import main

source, output = sys.argv[1:]
with tempfile.TemporaryDirectory() as work:
    options = (
        f"--path json --data_files {source} --cache_dir {work}/cache --output {work}/out "
        "--split train --column text --batch_size 10000 --ngram 3 --min_length 1 --threshold 0.7 "
        "--num_proc 1"
    )
    main(options.split(), standalone_mode=False)
    kept = set(datasets.load_from_disk(f"{work}/out")["id"])
with open(source, encoding="utf-8") as lines, open(output, "w", encoding="utf-8") as out:
    out.writelines(line for line in lines if json.loads(line)["id"] in kept)
