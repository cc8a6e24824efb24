"""Provide a Spark session: the active one, or one started with simstore's settings and stopped."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from simstore.errors import InvalidParameter, JobFailed, MissingExtra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RAISED = re.compile(r"^(simstore\.errors\.\w+|\w*Error): (.*)$")
_SHOWN_CHARACTERS = 500
_LOST = (
    "the process of Java that runs Spark has ended, killed or out of memory (--conf "
    "spark.driver.memory=4g gives it more)"
)
# What Spark says where a process has no memory left, or the system has killed it for want of it.
_OUT_OF_MEMORY = (
    "OutOfMemoryError",
    "MemoryError",
    "ExecutorLostFailure",
    "Python worker exited unexpectedly",
)
_MORE_MEMORY = (
    "an executor was out of memory or was killed, again and again: give each more with --conf "
    "spark.executor.memory=4g (spark.driver.memory on one machine), or smaller tasks with --conf "
    "spark.sql.shuffle.partitions=400"
)
# What PySpark says of a version of pandas; none of our data go through it.
_PANDAS = "PySpark does not yet fully support pandas"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Texts are long: what goes to Python at a time is bounded by both.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(32 << 20),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.io.compression.codec": "zstd",
}


def check_java() -> None:
    """Raise MissingExtra or InvalidParameter where PySpark or Java is not there."""
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise MissingExtra("Spark", "spark") from error
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None or not os.access(java, os.X_OK):
        where = f"JAVA_HOME is {home}, where there is no bin/java" if home else "there is no java"
        raise InvalidParameter(
            f"Spark needs Java 17 or newer, and {where}: install it "
            "(apt-get install openjdk-17-jre-headless), or point JAVA_HOME at it"
        )


@contextmanager
def make_session(
    master: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Yield a session, and stop it at the end unless it was there before.

    Args:
        master: As of Spark: ``local[2]``, ``spark://HOST:7077``, ``yarn``; None: that of the
            session that is there, of ``spark-submit``, or ``local[*]``.
        settings: Settings of Spark.

    Raises:
        MissingExtra: PySpark is not installed.
        InvalidParameter: There is no Java, or Spark refuses the settings.
    """
    check_java()
    with quiet():
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession

        there = SparkSession.getActiveSession()
        if there is not None and master is None and not settings:
            yield there
            return
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder: Any = SparkSession.builder.appName("simstore")
        if master is not None:
            builder = builder.master(master)
        elif "SPARK_ENV_LOADED" not in os.environ:
            builder = builder.master("local[*]")
        if master is None or master.startswith("local"):
            # All on this machine: no name of it has to be known to a network.
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            for name in ("spark.driver.host", "spark.driver.bindAddress"):
                builder = builder.config(name, "127.0.0.1")
            # As many as there are cores to do them, not the 200 of a cluster.
            tasks = str(2 * (os.cpu_count() or 1))
            builder = builder.config("spark.sql.shuffle.partitions", tasks)
        for name, value in (_SETTINGS | dict(settings or {})).items():
            builder = builder.config(name, value)
        try:
            session = builder.getOrCreate()
        except (PySparkRuntimeError, OSError) as error:
            raise InvalidParameter(
                f"Spark does not start ({' '.join(str(error).split())[:200]}); "
                "is Java 17 or newer installed, and are the settings right?"
            ) from error
        server = getattr(session.sparkContext, "_accumulatorServer", None)
        if server is not None:
            # A thread that has lost Java writes a traceback; who asks Java something is told.
            server.handle_error = lambda *_: None
        try:
            yield session
        finally:
            _stop(session)


def _stop(session: SparkSession) -> None:
    """Stop a session; one whose Java has ended has stopped."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, ConnectionError), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unable to cleanly shutdown", RuntimeWarning)
        session.stop()


@contextmanager
def quiet() -> Iterator[None]:
    """Silence PySpark's warnings about pandas, and the errors that py4j logs before raising."""
    root, logger = logging.getLogger(), logging.getLogger("py4j")
    level = logger.level
    root.addFilter(_is_of_others)
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _PANDAS, FutureWarning)
            yield
    finally:
        logger.setLevel(level)
        root.removeFilter(_is_of_others)


def _is_of_others(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


@contextmanager
def failures() -> Iterator[None]:
    """Turn what Spark raises into one line.

    Raises:
        JobFailed: A stage failed: an executor's own error, if there was one, names the reason. Or
            the process of Java has ended.
    """
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        with quiet():
            yield
    except (Py4JNetworkError, ConnectionError) as error:
        raise JobFailed(_LOST) from error
    except (PySparkException, Py4JError) as error:
        # Py4J tells so of an answer that ends before it says more: Java ended while it gave it.
        is_cut = type(error) is Py4JError and "Trace:" not in str(error)
        raise JobFailed(_LOST if is_cut else _reason(str(error))) from error


def _reason(text: str) -> str:
    """Return the line of a traceback that says why; the first line, where there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(word in text for word in _OUT_OF_MEMORY):
        return _MORE_MEMORY
    raised = [line for line in lines if _RAISED.match(line)]
    chosen = raised[-1] if raised else lines[0] if lines else "no reason was given"
    return _RAISED.sub(r"\2", chosen)[:_SHOWN_CHARACTERS]
