"""Gauges and counters of the server's queues and processes, for ``/metrics``."""

from __future__ import annotations

from collections.abc import Iterator

from simstore.server.gauges import gauge
from simstore.server.metrics import family
from simstore.server.service import Service


def queue_lines(service: Service) -> Iterator[str]:
    """Yield what there is to tell of what waits."""
    writes = service.writes
    done = writes.counters
    yield from gauge(
        "simstore_write_queue_documents", "Documents that wait to be written.", writes.depth
    )
    yield from gauge("simstore_writer_up", "1 while the writer works.", int(writes.failure is None))
    yield from gauge(
        "simstore_query_processes",
        "Processes that answer queries; 0 where none is up, or the one that listens does.",
        service.query_processes,
    )
    yield from family(
        "simstore_process_restarts_total",
        "counter",
        "Processes that had died and were started again.",
        (({"process": name}, count) for name, count in service.restarts.items()),
    )
    for name, told, value in (
        ("groups", "Transactions of the writer.", done.groups),
        ("requests", "Requests that the writer answered.", done.requests),
        ("failed_requests", "Requests that failed in the writer.", done.failed),
        ("refused_requests", "Requests that found the queue full.", done.refused),
        ("seconds", "Time that commits took.", done.seconds),
    ):
        yield from family(f"simstore_writer_{name}_total", "counter", told, [({}, value)])
    lanes = (("reader", service.readers), ("heavy", service.heavy))
    yield from family(
        "simstore_lane_requests",
        "gauge",
        "Requests that run or wait in threads.",
        (({"lane": name}, lane.taken) for name, lane in lanes),
    )
