"""Who does the work: this process, processes beside it, or a cluster that exists already.

Each takes items and yields (item, outcome) as they come. A worker that dies takes nothing with
it but what it was at: that is tried again alone, and given up after `DEATHS` deaths.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from statebound.errors import StateboundError, UsageError
from statebound.experiments.sweeping.work import (
    Failure,
    Item,
    Outcome,
    settle_in,
    work,
    work_on_cluster,
)

DEATHS = 3
IDLE_DEATHS = 8  # in a row, of workers that had begun nothing

Notice = Callable[[str], None]
Run = Callable[[Sequence[Item]], Iterator[tuple[Item, Outcome]]]


def here(items: Sequence[Item]) -> Iterator[tuple[Item, Outcome]]:
    """Do items one after another in this process."""
    for item in items:
        yield item, work(item)


def beside(jobs: int, notice: Notice) -> Run:
    """Return what does items in `jobs` processes of this machine (joblib's loky)."""

    def run(items: Sequence[Item]) -> Iterator[tuple[Item, Outcome]]:
        with tempfile.TemporaryDirectory(prefix="statebound-") as folder:
            yield from _survive(items, jobs, Path(folder), notice)

    return run


def _survive(
    items: Sequence[Item], jobs: int, folder: Path, notice: Notice
) -> Iterator[tuple[Item, Outcome]]:
    from joblib.externals.loky.process_executor import BrokenProcessPool

    left = {i: replace(item, claim=str(folder / str(i))) for i, item in enumerate(items)}
    deaths = dict.fromkeys(left, 0)
    alone: list[int] = []
    idle = 0
    while left:
        batch = [alone.pop()] if alone else list(left)
        try:
            for number, outcome in _parallel([(i, left[i]) for i in batch], jobs):
                idle = 0
                del left[number]
                yield items[number], outcome
        except BrokenProcessPool as error:
            claimed = [i for i in batch if i in left and Path(left[i].claim or "").exists()]
            idle = 0 if claimed else idle + 1
            if idle == IDLE_DEATHS:
                raise StateboundError(
                    f"workers die before they begin ({error}); use fewer --jobs, or 1 to measure "
                    "in this process"
                ) from error
            for number in claimed:
                Path(left[number].claim or "").unlink(missing_ok=True)
                deaths[number] += len(batch) == 1 or not deaths[number]
                if deaths[number] < DEATHS:
                    notice(f"a worker died at {items[number].task.label}: it is tried again")
                    alone.append(number)
                    continue
                reason = f"its worker died {DEATHS} times (killed, or out of memory)"
                task = items[number].task.id
                for other in [i for i in left if items[i].task.id == task]:
                    del left[other]
                    yield items[other], Failure(reason)
            alone = [number for number in alone if number in left]


def _parallel(items: Sequence[tuple[int, Item]], jobs: int) -> Iterator[tuple[int, Outcome]]:
    import joblib

    about: Any = {"initializer": settle_in, "initargs": (os.getpid(),)}
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1, **about):
        pool = joblib.Parallel(
            n_jobs=max(2, jobs), return_as="generator_unordered", batch_size=1, pre_dispatch=jobs
        )
        with _interrupts_held():
            outcomes = pool(joblib.delayed(_numbered)(number, item) for number, item in items)
        yield from outcomes


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let ctrl-C wait; processes and threads started meanwhile never hear it.

    These inherit that it is blocked. That alone would not do here: another thread may be given
    the signal, and Python then raises in the main one.
    """
    blocks = hasattr(signal, "pthread_sigmask")
    if threading.current_thread() is not threading.main_thread() or not blocks:
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as joblibs

    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for tracker in (resource_tracker, joblibs):  # started later they would unblock it
            tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
    if came and callable(handler):
        handler(signal.SIGINT, None)


def _numbered(number: int, item: Item) -> tuple[int, Outcome]:
    return number, work(item)


def cluster(address: str) -> Run:
    """Return what does items on a running dask cluster.

    Raises
    ------
    UsageError
        When that is no address, or distributed is not installed.
    StateboundError
        When the scheduler does not answer.
    """
    if re.fullmatch(r"((tcp|tls|ws|wss|ucx)://)?\S+:\d+", address) is None:
        raise UsageError("dask", address, "is no address", "pass tcp://HOST:8786, say")
    try:
        import distributed
    except ImportError as error:
        raise UsageError(
            "dask", address, "needs the package distributed", "pip install 'statebound[cluster]'"
        ) from error

    scheduler: Any = distributed.Client
    finished: Any = distributed.as_completed

    def run(items: Sequence[Item]) -> Iterator[tuple[Item, Outcome]]:
        try:
            client: Any = scheduler(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise StateboundError(
                f"{address}: no dask scheduler answers there ({error}); start one with "
                "dask scheduler"
            ) from error
        with client:
            futures = {
                client.submit(work_on_cluster, item, pure=False, retries=DEATHS - 1): item
                for item in items
            }
            for future in finished(list(futures), loop=client.loop):
                item = futures.pop(future)
                try:
                    outcome = future.result()
                except distributed.KilledWorker:
                    outcome = Failure("its workers died again and again (killed, or out of memory)")
                except Exception as error:  # noqa: BLE001  (whatever the far side raised)
                    outcome = Failure(f"{type(error).__name__}: {error}")
                yield item, outcome
                future.release()

    return run


def count(jobs: int) -> int:
    """Return how many processes are meant; 0 is one a core that this process may use.

    Raises
    ------
    UsageError
        When the number is negative.
    """
    if jobs < 0:
        raise UsageError("jobs", jobs, "must not be negative", "pass 0 for one a core")
    import joblib

    return jobs or int(joblib.cpu_count())
