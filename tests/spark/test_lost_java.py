"""The process of Java that runs Spark ends in the middle of a job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from simstore.errors import SimstoreError
from simstore.spark.session import check_java

from .corpus import documents, write

pytestmark = pytest.mark.spark
ROOT = Path(__file__).resolve().parents[2]


def descendants(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == parent:
                found += [int(entry.name), *descendants(int(entry.name))]
    return found


def test_java_that_is_killed_is_told_in_one_line(tmp_path: Path) -> None:
    try:
        check_java()
    except SimstoreError as error:
        pytest.skip(str(error))
    names = write(tmp_path, documents(40, 1), 1)
    words = ["spark", "dedup", *names, "-o", "found", "--master", "local[1]"]
    small = ["--conf", "spark.driver.memory=600m", "--conf", "spark.sql.shuffle.partitions=1"]
    with subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), *words, *small],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as job:  # fmt: skip
        assert job.stderr is not None
        for line in job.stderr:
            if "looking for candidates" in line:
                break
        for number in descendants(job.pid):
            os.kill(number, signal.SIGKILL)
        output, errors = job.communicate(timeout=120)
    assert job.returncode == 1
    assert output == ""
    assert "Traceback" not in errors
    assert "the process of Java that runs Spark has ended" in errors
    assert "spark.driver.memory" in errors
    assert len(errors.splitlines()) == 1
