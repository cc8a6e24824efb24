"""Near-duplicates of JSON Lines with datatrove: its default MinHash, four stages in one process."""

import json
import sys
import tempfile

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter

source, output = sys.argv[1:]
folder, _, name = source.rpartition("/")
config = MinhashConfig()
with tempfile.TemporaryDirectory() as work:
    read = JsonlReader(folder or ".", glob_pattern=name)
    stages = (
        ([read, MinhashDedupSignature(f"{work}/signatures", config=config)], 1),
        ([MinhashDedupBuckets(f"{work}/signatures", f"{work}/buckets", config=config)], 14),
        ([MinhashDedupCluster(f"{work}/buckets", f"{work}/removed", config=config)], 1),
        (
            [
                read,
                MinhashDedupFilter(f"{work}/removed"),
                JsonlWriter(f"{work}/kept", "${rank}.jsonl", compression=None),
            ],
            1,
        ),
    )
    for number, (pipeline, tasks) in enumerate(stages):
        LocalPipelineExecutor(
            pipeline, tasks=tasks, workers=1, logging_dir=f"{work}/log-{number}"
        ).run()
    with open(f"{work}/kept/00000.jsonl", encoding="utf-8") as file:
        # It writes no id where that is 0.
        kept = {json.loads(line).get("id", 0) for line in file}
with open(source, encoding="utf-8") as lines, open(output, "w", encoding="utf-8") as out:
    out.writelines(line for line in lines if json.loads(line)["id"] in kept)
