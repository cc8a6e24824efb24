"""One Spark for all tests: two executors in processes of their own, and real shuffles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from simstore.errors import SimstoreError
from simstore.spark.session import check_java, make_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local-cluster[2,1,1024]"
SETTINGS = {
    "spark.driver.memory": "700m",
    "spark.executor.memory": "800m",
    "spark.sql.shuffle.partitions": "4",
    # What JVMs need besides: as little as that.
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    try:
        check_java()
    except SimstoreError as error:
        pytest.skip(str(error))
    with make_session(MASTER, SETTINGS) as session:
        yield session
