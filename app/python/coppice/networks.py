# SPDX-License-Identifier: Apache-2.0
"""What a network costs, which topologies there are, and which GPU should get which rank."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from . import _core
from .errors import Error
from .fabric import Fabric
from .questions import Listener, _axes, _options


@dataclass(frozen=True)
class BillLine:
    """All pieces of one part. `kind`: switch, nic, copper, aoc or transceiver; `metres` of cables alone."""

    kind: str
    part: str
    pieces: int
    metres: Optional[Fraction]
    price: Fraction
    watts: Fraction


@dataclass(frozen=True)
class Cable:
    """`count` cables side by side between two nodes, of `metres` each."""

    source: str
    target: str
    count: int
    metres: Fraction
    part: str


@dataclass(frozen=True)
class Bill:
    """What the network of a fabric is bought of. `csv` and `cable_csv` are the tables that the command line writes.

    `port_rate` is that of switch ports towards boxes, `uplink_rate` of those towards other switches.
    """

    price: Fraction
    watts: Fraction
    port_rate: Fraction
    uplink_rate: Fraction
    lines: tuple[BillLine, ...]
    cables: tuple[Cable, ...]
    boxes: int
    racks: int
    network_racks: int
    csv: str
    cable_csv: str


@dataclass(frozen=True)
class NetworkPoint:
    """A network with its bill and what it reaches.

    Attributes:
        chosen_for: parts for the lowest "price" or the fewest "watts".
        on_front: no other network is as good in everything and better in something.
        allreduce, alltoall: algbw in GB/s that is known to be reached, and at most what `_at_most` says.
        step: ns of the best known plan of a training step; None where none fits or none was asked for.
    """

    name: str
    chosen_for: str
    on_front: bool
    allreduce: Fraction
    allreduce_at_most: Fraction
    alltoall: Fraction
    alltoall_at_most: Fraction
    step: Optional[Fraction]
    fabric: Fabric
    bill: Bill


@dataclass(frozen=True)
class Frontier:
    """Networks by price. `variants` were priced; of `not_built` (name, reason) none can be built; `sample`: with the
    round numbers of the sample of parts."""

    points: tuple[NetworkPoint, ...]
    not_built: tuple[tuple[str, str], ...]
    variants: int
    sample: bool

    @property
    def front(self) -> tuple[NetworkPoint, ...]:
        return tuple(point for point in self.points if point.on_front)


def bom(fabric: Fabric, parts: Union[None, str, os.PathLike[str]] = None, *, fewest_watts: bool = False,
        progress: Listener = None, **options: Any) -> Bill:
    """Makes the bill of materials of the network between boxes.

    Args:
        parts: the table of parts, a CSV or JSON file; by default the sample.
        fewest_watts: choose parts for the fewest watts instead of the lowest price.
        options: where boxes stand, as `coppice-cli bom` has them: boxes_per_rack=4, top_of_rack=True.
    """
    return _bill(_core.bom(fabric._core, _with_parts(parts, options), fewest_watts, progress))


def frontier(parts: Union[None, str, os.PathLike[str]] = None, *, progress: Listener = None,
             **options: Any) -> Frontier:
    """Holds the price and watts of networks that can join boxes against what they reach.

    Args:
        parts: the table of parts, a CSV or JSON file; by default the sample.
        options: those of `coppice-cli frontier`: box="dgx-h100", gpus=64, network="leaf-spine,rails", nic="50,100",
            oversubscription="1,2", model="llama-3-70b".
    """
    answer = _core.frontier(_with_parts(parts, options), progress)
    points = tuple(NetworkPoint(**{**point, "fabric": Fabric(point["fabric"]), "bill": _bill(point["bill"])})
                   for point in answer["points"])
    return Frontier(points, tuple(answer["not_built"]), answer["variants"], answer["sample"])


@dataclass(frozen=True)
class Topology:
    """A way to cable N nodes of d ports each.

    Attributes:
        steps: of an allgather, the diameter; bandwidth_time: T_B of it in units of M/B.
        reduce_scatter_time: T_B of a reduce_scatter; None where it was not computed.
        alltoall: (at least, reached) of an all-to-all in units of M/B; `reached` is None where routes were not sought.
        construction: how the graph is made.
        exact: the values are those of the graph; checked: BFB on the built graph has them.
        saved: of a change from the present topology: (microseconds of a step as it is, after the change, steps from
            which the change pays or None, microseconds gained over the job or None); None where it was not asked.
        built: what fabric() reads.
    """

    steps: int
    bandwidth_time: Fraction
    reduce_scatter_time: Optional[Fraction]
    diameter: Optional[int]
    alltoall: Optional[tuple[Fraction, Optional[Fraction]]]
    construction: str
    duplex: bool
    exact: bool
    checked: bool
    saved: Optional[tuple[Fraction, Fraction, Optional[int], Optional[Fraction]]]
    built: _core.Topology = field(repr=False, compare=False)

    def fabric(self) -> Fabric:
        """The graph as a fabric with the bandwidth that was asked for."""
        return Fabric(self.built.fabric())


@dataclass(frozen=True)
class TopologyFront:
    """The Pareto front of steps against bandwidth time. `fastest`: index of the best for the sizes that were given.

    `least_steps`, `least_t_b` and `least_t_a`: no graph of as many nodes and ports goes below.
    """

    topologies: tuple[Topology, ...]
    fastest: Optional[int]
    least_steps: int
    least_t_b: Fraction
    least_t_a: Fraction
    notes: tuple[str, ...]


def find_topologies(nodes: int, degree: int, *, duplex: bool = False, paper: bool = False, max_steps: int = 0,
                    optimal: bool = False, goal: str = "allreduce", alpha: Union[str, float] = "10",
                    bandwidth: Union[str, int] = "100", sizes: Union[Iterable[int], Mapping[int, int]] = (),
                    collective: str = "allreduce", present: Optional[Fabric] = None, reconfiguration: str = "",
                    job_steps: int = 0, progress: Listener = None) -> TopologyFront:
    """Finds the best topologies for a number of nodes with `degree` ports each.

    Args:
        goal: "allreduce" (steps and bandwidth time), or "alltoall": its time as well.
        alpha: microseconds of a step; bandwidth: of all ports of a node together.
        sizes: bytes of the calls of a step, or how often there is each.
        present, reconfiguration, job_steps: the fabric as it is wired, the time of a change such as "10ms" (optical
            switch) or "5min" (patch panel), and the steps of the job: what a change gains.
    """
    if goal not in ("allreduce", "alltoall"):
        raise Error(f"{goal!r} is not a goal", 'use "allreduce" or "alltoall"')
    calls = [f"{size}={weight}" for size, weight in sizes.items()] if isinstance(sizes, Mapping) else [
        str(size) for size in sizes]
    answer = _core.find_topologies(nodes, degree, duplex, paper, max_steps, optimal, goal, str(alpha), str(bandwidth),
                                   calls, collective, present._core if present else None, reconfiguration, job_steps,
                                   progress)
    changes = answer.pop("changes") or [None] * len(answer["topologies"])
    topologies = tuple(Topology(**{key: value for key, value in entry.items() if key != "core"}, saved=change,
                                built=entry["core"])
                       for entry, change in zip(answer.pop("topologies"), changes))
    return TopologyFront(topologies, notes=tuple(answer.pop("notes")), **answer)


@dataclass(frozen=True)
class RankOrder:
    """Which GPU should get which rank.

    Attributes:
        given, best: algbw in GB/s of the order as it is and of the best one found, verified.
        busiest: the busiest link of the best order.
        bound: no order exceeds it; None where none is known. `proved`: the best order cannot be beaten.
        hosts: (name, CUDA_VISIBLE_DEVICES) in the order of their first ranks.
        gpus: ids by new rank.
    """

    algorithm: str
    collective: str
    given: Fraction
    best: Fraction
    busiest: tuple[str, str]
    bound: Optional[Fraction]
    proved: bool
    hosts: tuple[tuple[str, str], ...]
    gpus: tuple[str, ...]


def rank_order(fabric: Fabric, algorithm: str = "multi-ring", *, collective: str = "", mesh: str = "",
               axis: Union[None, int, Sequence[int]] = None, present: Sequence[str] = (), free: bool = False,
               work: int = 200, seed: int = 1, folder: Union[None, str, os.PathLike[str]] = None,
               progress: Listener = None) -> RankOrder:
    """Finds the order of hosts and GPUs that relieves the busiest link under an algorithm of NCCL or MPI.

    Args:
        algorithm: ring, multi-ring, double-binary-tree, recursive-halving, … as `coppice-cli rank-order`.
        mesh, axis: the algorithm runs in all groups of an axis of a mesh of the ranks.
        present: hosts in the order as it is; by default that of the fabric.
        free: ranks of a host need not be consecutive.
        work: limit of the search, in millions of links looked at.
        folder: a new folder for hostfile, rankfile and what torchrun and Slurm read.
    """
    answer = _core.rank_order(fabric._core, algorithm, collective, mesh, _axes(axis),
                              "".join(host + "\n" for host in present), free, work, seed,
                              os.fspath(folder) if folder else "", progress)
    best, busiest = answer.pop("best")
    return RankOrder(best=best, busiest=busiest, given=answer.pop("given")[0], hosts=tuple(answer.pop("hosts")),
                     gpus=tuple(answer.pop("gpus")), **answer)


def _with_parts(parts: Union[None, str, os.PathLike[str]], options: Mapping[str, Any]) -> dict[str, str]:
    return {**_options(options), **({"parts": os.fspath(parts)} if parts else {})}


def _bill(answer: Mapping[str, Any]) -> Bill:
    return Bill(**{**answer, "lines": tuple(BillLine(*line) for line in answer["lines"]),
                   "cables": tuple(Cable(*cable) for cable in answer["cables"])})
