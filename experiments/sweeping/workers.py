"""Who does the work: this process, processes beside it, or a cluster that exists already.

Each takes items and yields (item, outcome) as they come. A worker that dies takes nothing with
it but what it was at: that is tried again alone, and given up after `DEATHS` deaths.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from statebound.errors import StateboundError, UsageError
from statebound.experiments.sweeping.work import (
    Failure,
    Item,
    Outcome,
    work,
    work_apart,
    work_on_cluster,
)

DEATHS = 3

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
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    left = {i: replace(item, claim=str(folder / str(i))) for i, item in enumerate(items)}
    deaths = dict.fromkeys(left, 0)
    alone: list[int] = []
    while left:
        batch = [alone.pop()] if alone else list(left)
        try:
            for number, outcome in _parallel([(i, left[i]) for i in batch], jobs):
                del left[number]
                yield items[number], outcome
        except TerminatedWorkerError:
            claimed = [i for i in batch if i in left and Path(left[i].claim or "").exists()]
            for number in claimed:
                Path(left[number].claim or "").unlink(missing_ok=True)
                deaths[number] += 1
                if len(batch) == 1 and deaths[number] >= DEATHS:
                    reason = f"its worker died {deaths[number]} times (killed, or out of memory)"
                    del left[number]
                    yield items[number], Failure(reason)
                else:
                    notice(f"a worker died at {items[number].task.label}: it is tried again")
                    alone.append(number)
            if not claimed:
                notice("a worker died between two tasks: going on with another")


def _parallel(items: Sequence[tuple[int, Item]], jobs: int) -> Iterator[tuple[int, Outcome]]:
    import joblib

    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        pool = joblib.Parallel(
            n_jobs=max(2, jobs), return_as="generator_unordered", batch_size=1, pre_dispatch=jobs
        )
        yield from pool(joblib.delayed(_numbered)(number, item) for number, item in items)


def _numbered(number: int, item: Item) -> tuple[int, Outcome]:
    return number, work_apart(item)


def cluster(address: str) -> Run:
    """Return what does items on a running dask cluster.

    Raises
    ------
    UsageError
        When distributed is not installed.
    StateboundError
        When the scheduler does not answer.
    """
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
            for future in finished(list(futures)):
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
