"""What is told where Spark cannot run, before a JVM is started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from simstore.errors import InvalidParameter, JobFailed, MissingExtra
from simstore.spark.options import DedupOptions
from simstore.spark.session import _reason, check_java, failures


def test_missing_pyspark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtra, match=r"extra 'spark'"):
        check_java()


def test_missing_java_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed (the extra spark)")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidParameter, match="openjdk-17-jre-headless") as told:
        check_java()
    assert "\n" not in str(told.value)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InvalidParameter, match="JAVA_HOME is"):
        check_java()


def test_reason_of_a_failed_job_is_the_error_of_the_executor() -> None:
    text = (
        "Job aborted due to stage failure: ...\n  Traceback (most recent call last):\n"
        '  File "worker.py", line 1\n'
        "simstore.errors.SchemeMismatch: web/1: known text 3 differs\n"
        "    at org.apache.spark.api.python.BasePythonRunner\n"
    )
    assert _reason(text) == "web/1: known text 3 differs"
    assert _reason("first\nsecond") == "first"
    assert _reason("") == "no reason was given"
    assert "begins again" in str(JobFailed("why"))


def test_an_executor_without_memory_is_told_with_a_remedy() -> None:
    for said in (
        "Job aborted due to stage failure: Task 0 failed 4 times: java.lang.OutOfMemoryError: Java",
        "Job aborted: ExecutorLostFailure (executor 3 exited caused by one of the running tasks)",
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
        "Traceback (most recent call last):\nMemoryError: Unable to allocate 3. GiB",
    ):
        assert "spark.executor.memory=4g" in _reason(said), said
        assert "\n" not in _reason(said), said


def test_an_answer_that_is_cut_says_that_java_has_ended() -> None:
    for answer, told in (
        ("x", "the process of Java that runs Spark has ended"),
        ("xsjava.lang.OutOfMemoryError: heap", "spark.driver.memory"),
        ("xsjava.lang.Exception: other", "An error occurred while calling o1.union"),
    ):
        pytest.importorskip("pyspark", reason="PySpark is not installed (the extra spark)")
        from py4j.protocol import get_return_value

        with pytest.raises(JobFailed, match=told), failures():
            get_return_value(answer, None, "o1", "union")


def test_rules_survive_json_and_say_what_differs() -> None:
    one, other = DedupOptions().recipe(), DedupOptions(radius=2).recipe()
    assert one.as_json() == DedupOptions().recipe().as_json()
    different = [name for name, value in one.as_json().items() if other.as_json()[name] != value]
    assert different == ["radius"]
    assert one.open()[0].record() == one.scheme


def test_a_wrong_option_is_refused() -> None:
    for options in (
        DedupOptions(min_resemblance=0),
        DedupOptions(radius=65),
        DedupOptions(policy="best"),
        DedupOptions(channels=()),
        DedupOptions(cell_rows=1),
    ):
        with pytest.raises(InvalidParameter):
            options.recipe()
