"""Run work in threads, and yield the results in the order of the items."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import TypeVar

# Transactions after which everything is looked through, not only what is new.
_EVERYTHING = 64


@contextmanager
def collected_between() -> Iterator[Callable[[], None]]:
    """Pause Python's own collections; yield the function that collects instead.

    Documents hold no cycles, so they are freed without a collection, but their number starts one
    every few hundred of them. Each looks through all that lives, modules and compiled kernels
    too, which takes a fifth of a bulk ingest. Where collections are off already, none is made.

    >>> import gc
    >>> with collected_between() as collect:
    ...     gc.isenabled()
    ...     collect()
    False
    >>> gc.isenabled()
    True
    """
    if not gc.isenabled():
        yield lambda: None
        return
    count = 0

    def collect() -> None:
        nonlocal count
        count += 1
        gc.collect(2 if count % _EVERYTHING == 0 else 1)

    gc.disable()
    try:
        yield collect
    finally:
        gc.enable()


Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    *,
    share: Callable[[Item], float],
) -> Generator[Result]:
    """Yield the result of each item in the order of the items.

    Args:
        work: What the threads do.
        items: Taken one by one, as the results before them are asked for.
        threads: How many; with 1, or a single item, all is done in the caller's thread.
        share: How much an item takes of the room for those ahead of the last result, which is 1.
    """
    failures: list[Exception] = []

    def taken() -> Iterator[Item]:
        try:
            yield from items
        except Exception as error:
            # What was taken before it comes first.
            failures.append(error)

    source = taken()
    few = list(islice(source, 2))
    if threads == 1 or len(few) < 2:
        yield from map(work, chain(few, source))
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="prepare") as pool:
            ahead: deque[tuple[float, Future[Result]]] = deque()
            try:
                for item in chain(few, source):
                    ahead.append((share(item), pool.submit(work, item)))
                    while sum(taken for taken, _ in ahead) > 1:
                        yield ahead.popleft()[1].result()
                while ahead:
                    yield ahead.popleft()[1].result()
            finally:
                for _, future in ahead:
                    future.cancel()
    if failures:
        raise failures[0]


def with_last(items: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Yield each item, and whether it is the last; those before an error too."""
    iterator = iter(items)
    for held in iterator:
        while True:
            try:
                item = next(iterator)
            except StopIteration:
                yield held, True
                return
            except Exception:
                yield held, False
                raise
            yield held, False
            held = item
