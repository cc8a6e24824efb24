"""Work done by threads and taken over in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Yield the result of each item in the order of the items.

    Args:
        work: What the threads do.
        items: Taken one by one, a few more than there are threads ahead of the last result.
        threads: How many; with 1, or a single item, all is done in the caller's thread.
    """
    items = iter(items)
    few = list(islice(items, 2))
    if threads == 1 or len(few) < 2:
        yield from map(work, chain(few, items))
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="prepare") as pool:
        ahead: deque[Future[Result]] = deque()
        try:
            for item in chain(few, items):
                ahead.append(pool.submit(work, item))
                if len(ahead) > threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


def with_last(items: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Yield each item, and whether it is the last."""
    iterator = iter(items)
    for held in iterator:
        for item in iterator:
            yield held, False
            held = item
        yield held, True
