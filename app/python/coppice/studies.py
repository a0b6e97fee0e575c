# SPDX-License-Identifier: Apache-2.0
"""Failures with repair, comparisons, uneven all-to-alls, and runs of NCCL."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from . import _core
from .errors import Error
from .fabric import Fabric, exact
from .questions import Amounts, Listener, PricedLink, _amounts, _options, _root
from .schedule import Row, Schedule

Table = Union[str, os.PathLike[str], Sequence[Sequence[Any]]]
"""The path of a CSV file, or rows of exact numbers, such as a numpy array."""


@dataclass(frozen=True)
class RankTraffic:
    """Bytes that a rank sends and receives, and the ns that this takes over all its links alone."""

    sent: Fraction
    received: Fraction
    alone: Fraction


@dataclass(frozen=True)
class Exchange:
    """How long an uneven all-to-all takes.

    Attributes:
        time: ns that the verified routes take; least: no routes are faster; exact: both are equal.
        direct: ns where GPUs pass nothing on for others; None where that is impossible or was not asked.
        network_gbps: GB/s that a GPU sends out of its box meanwhile, on average; box_gbps: that it receives from it.
        worst: the rank that needs the longest alone.
        limits: the links that limit it; bandwidth times price adds up to the rate of a unit of the demand.
    """

    time: Fraction
    least: Fraction
    exact: bool
    direct: Optional[Fraction]
    network_gbps: float
    box_gbps: float
    worst: int
    ranks: tuple[RankTraffic, ...]
    limits: tuple[PricedLink, ...]


@dataclass(frozen=True)
class ExpertLayer:
    """Dispatch and combine of a layer of experts. `placement`: the rank of each expert; `before`: the dispatch with the
    placement that was given, where it was improved."""

    dispatch: Exchange
    combine: Exchange
    placement: tuple[int, ...]
    before: Optional[Exchange]


def table(rows: Sequence[Sequence[Any]]) -> str:
    """Rows of numbers as the text of a table: generate(fabric, "alltoall", method="alltoall", demand=table(rows))."""
    return "".join(",".join(str(exact(value.item() if hasattr(value, "item") else value)) for value in row) + "\n"
                   for row in rows)


def uneven_alltoall(fabric: Fabric, demand: Table, *, seconds: int = 8, progress: Listener = None) -> Exchange:
    """Computes how long given bytes of each pair take at least, and the routes that reach it.

    Args:
        demand: bytes that each GPU (row) sends to each GPU (column).
        seconds: work of the search where the answer is not exact sooner.
    """
    answer = _core.exchange(fabric._core, {"demand": _table(demand), "seconds": str(seconds)}, progress)
    return _exchange(answer["exchanges"]["exchange"])


def moe(fabric: Fabric, *, counts: Optional[Table] = None, placement: Union[None, Sequence[Union[int, str]]] = None,
        progress: Listener = None, **options: Any) -> ExpertLayer:
    """Computes how fast the tokens of a mixture-of-experts layer can be sent to their experts and back.

    Args:
        counts: tokens that each GPU (row) sends to each expert (column), in place of tokens and top_k.
        placement: the GPU of each expert, by rank or id; by default as many on each, in order.
        options: those of `coppice-cli moe`: experts=256, top_k=8, tokens=4096, max_boxes=4, token_bytes=7168,
            combine_bytes=14336, once_per_box=True, improve_placement=True.
    """
    given = _options(options)
    if counts is not None:
        given["counts"] = _table(counts)
    if placement is not None:
        given["placement"] = "".join(f"{gpu}\n" for gpu in placement)
    answer = _core.exchange(fabric._core, given, progress)
    if "dispatch" not in answer["exchanges"]:
        raise Error("a demand is not a layer of experts", "use uneven_alltoall")
    before = answer["before"]
    return ExpertLayer(_exchange(answer["exchanges"]["dispatch"]), _exchange(answer["exchanges"]["combine"]),
                       tuple(answer["placement"]), _exchange(before) if before else None)


@dataclass(frozen=True)
class Drilled:
    """A class of failures that are alike, by one of them, with the repaired schedule.

    Attributes:
        part: link, nic, switch, gpu, box or group; alike: failures of its class; gpus: that are left.
        reason: why no schedule is left; then the figures are 0.
        bound, algbw: GB/s that are left, and that the repaired schedule reaches; keeping_all: where every tree stays
            that did not use the part.
        unaffected, kept, rerouted: shares of the data.
        schedule: the repaired one, with the damaged fabric, where schedules=True.
    """

    part: str
    name: str
    alike: int
    gpus: int
    reason: str
    bound: Fraction
    algbw: Fraction
    keeping_all: Fraction
    from_nothing: bool
    unaffected_trees: int
    kept_trees: int
    rerouted_trees: int
    new_trees: int
    unaffected: Fraction
    kept: Fraction
    rerouted: Fraction
    schedule: Optional[Schedule]

    @property
    def moved(self) -> Fraction:
        """The share of the data that goes over new trees."""
        return 1 - self.kept - self.rerouted


def drill(base: Union[Fabric, Schedule], collective: str = "allgather", *, root: Union[None, int, str] = None,
          amounts: Amounts = None, parts: Sequence[str] = ("link", "nic", "switch", "gpu", "box"), group: str = "",
          pairs: bool = False, within: Union[None, str, Fraction] = None, keep_all: bool = False,
          schedules: bool = False, progress: Listener = None) -> list[Drilled]:
    """Repairs a schedule after every failure, one of each class; the largest loss first. Each repair is verified.

    Args:
        base: a schedule of trees, or a fabric, for which one is generated.
        group: what fails together: "leaf", "rail" or the path of a file of groups, in place of parts.
        pairs: two parts at once, one pair of each class.
        within: keep more trees where that loses no more than this of the bound: "1%".
        keep_all: keep every tree that did not use the failed part, whatever is lost.
        schedules: also return the repaired schedules.
    """
    rows = _core.drill(base._core, collective, _root(root), _amounts(amounts), [] if group else list(parts), group,
                       pairs, "" if within is None else str(within), keep_all, schedules, progress)
    return [Drilled(**{**row, "schedule": Schedule(row["schedule"]) if row["schedule"] else None}) for row in rows]


@dataclass(frozen=True)
class Contender:
    """One schedule of a comparison. `rows`: what it takes at each size, simulated; `scope`: of the bound."""

    name: str
    method: str
    algbw: Optional[Fraction]
    bound: Optional[Fraction]
    scope: str
    steps: int
    traffic: Union[Fraction, float]
    least_traffic: Optional[Fraction]
    busiest_link: Optional[tuple[str, str]]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Comparison:
    """Schedules held against each other.

    Attributes:
        best: index of the fastest contender, by size.
        bands: (bytes, index of the contender that is fastest from there on, bytes within which that is known).
        refused: (method, why it made no schedule).
    """

    contenders: tuple[Contender, ...]
    best: tuple[int, ...]
    bands: tuple[tuple[int, int, int], ...]
    refused: tuple[tuple[str, str], ...]


def compare(given: Union[Fabric, Mapping[str, Schedule], Sequence[Schedule]], collective: str = "allgather", *,
            methods: Sequence[str] = (), root: Union[None, int, str] = None, sizes: Iterable[int] = (),
            schedules: Optional[Mapping[str, Schedule]] = None, resolution: Optional[int] = None,
            best_pieces: bool = False, time_limit: float = 60, progress: Listener = None) -> Comparison:
    """Compares schedules: exact figures, simulated times, and from which size on which one is the fastest.

    Args:
        given: a fabric, for which schedules are generated; or schedules of one fabric and collective, with their names.
        methods: ids of methods(); by default all that make the collective.
        schedules: further schedules beside those of the fabric.
        sizes: bytes, ascending; by default from 1 MiB to 1 GiB by factors of 4.
        resolution: bytes within which switch-over sizes are found; by default 1/1024 of the size.
        time_limit: seconds of each method.
    """
    fabric = given if isinstance(given, Fabric) else None
    named = dict(schedules or {})
    if fabric is None:
        named.update(given if isinstance(given, Mapping) else
                     {f"{schedule.method or schedule.collective} {i}": schedule for i, schedule in enumerate(given)})
    wanted = [int(size) for size in sizes] or [1 << power for power in range(20, 31, 2)]
    rooted = collective in ("broadcast", "reduce", "gather", "scatter")
    answer = _core.compare(fabric._core if fabric else None, collective, _root(0 if root is None and rooted else root),
                           list(methods), [(name, schedule._core) for name, schedule in named.items()], wanted,
                           resolution, best_pieces, time_limit, progress)
    contenders = tuple(Contender(**{**each, "rows": tuple(Row(*row) for row in each["rows"])})
                       for each in answer["contenders"])
    return Comparison(contenders, tuple(answer["best"]), tuple(answer["bands"]), tuple(answer["refused"]))


@dataclass(frozen=True)
class Choice:
    """What NCCL chose for a size, as its log says."""

    collective: str
    bytes: int
    algorithm: str
    protocol: str
    channels: Optional[int]


@dataclass(frozen=True)
class Communicator:
    """A communicator of a log. `rings`: ranks in order; `trees`: the parent of each rank, -1 for the root."""

    id: str
    ranks: int
    hosts: tuple[str, ...]
    channels: int
    rings: tuple[tuple[int, ...], ...]
    trees: tuple[tuple[int, ...], ...]
    choices: tuple[Choice, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class RunSize:
    """One size of a run: microseconds that NCCL expected and that were measured, and the algbw that its choice can reach
    here by the links that it uses. `faster`: what is expected to take less time."""

    collective: str
    bytes: int
    algorithm: str
    protocol: str
    channels: Optional[int]
    estimated_us: Optional[float]
    measured_us: Optional[float]
    reachable: Optional[Fraction]
    faster: str
    slowest_rank: Optional[int]


@dataclass(frozen=True)
class RunOnFabric:
    """What a run reaches on a fabric. `rings`, `trees`: (algbw, the link that limits them); None where not known.

    `schedule`: the rings as a schedule, for verify(), simulate() and compare().
    """

    collective: str
    bound: Fraction
    rings: Optional[tuple[Fraction, tuple[str, str]]]
    trees: Optional[tuple[Fraction, tuple[str, str]]]
    sizes: tuple[RunSize, ...]
    schedule: Optional[Schedule]


@dataclass(frozen=True)
class ImportedRun:
    """What the files of a run say. `missing`: what to set so that they say more."""

    version: str
    library: str
    communicators: tuple[Communicator, ...]
    topologies: tuple[str, ...]
    missing: tuple[str, ...]
    warnings: tuple[str, ...]
    on: Optional[RunOnFabric]


def import_run(*files: Union[str, os.PathLike[str]], fabric: Optional[Fabric] = None, collective: str = "",
               progress: Listener = None) -> ImportedRun:
    """Reads what NCCL or RCCL chose in a run, and what that reaches on a fabric.

    Args:
        files: logs of NCCL_DEBUG=INFO, graph and topology dumps, output of nccl-tests, lines of the Inspector.
        collective: that is compared; by default the one with the most sizes.
    """
    texts = []
    for path in files:
        with open(path, encoding="utf-8", errors="replace") as file:
            texts.append((os.fspath(path), file.read()))
    answer = _core.import_run(texts, fabric._core if fabric else None, collective, progress)
    on = answer.pop("on")
    communicators = tuple(_communicator(*each) for each in answer.pop("communicators"))
    return ImportedRun(communicators=communicators, on=_run_on(*on) if on else None,
                       **{key: tuple(value) if isinstance(value, list) else value for key, value in answer.items()})


def _communicator(id: str, ranks: int, hosts: Sequence[str], channels: int, rings: Sequence[Sequence[int]],
                  trees: Sequence[Sequence[int]], choices: Sequence[Sequence[Any]], missing: Sequence[str],
                  notes: Sequence[str]) -> Communicator:
    return Communicator(id, ranks, tuple(hosts), channels, tuple(tuple(ring) for ring in rings),
                        tuple(tuple(tree) for tree in trees), tuple(Choice(*choice) for choice in choices),
                        tuple(missing), tuple(notes))


def _run_on(collective: str, bound: Fraction, rings: Any, trees: Any, sizes: Sequence[Sequence[Any]],
            schedule: Any) -> RunOnFabric:
    return RunOnFabric(collective, bound, rings, trees, tuple(RunSize(*size) for size in sizes),
                       Schedule(schedule) if schedule else None)


def _exchange(answer: Sequence[Any]) -> Exchange:
    *figures, ranks, limits = answer
    return Exchange(*figures, ranks=tuple(RankTraffic(*each) for each in ranks),
                    limits=tuple(PricedLink(*link) for link in limits))


def _table(given: Table) -> str:
    return os.fspath(given) if isinstance(given, (str, os.PathLike)) else table(given)
