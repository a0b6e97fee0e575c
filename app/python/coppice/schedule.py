# SPDX-License-Identifier: Apache-2.0
"""Schedules: made, checked, played and exported."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Iterable, Optional, Sequence, Union

from . import _core
from .fabric import Fabric, Finding
from .questions import Amounts, Group, Listener, _amounts, _groups, _options, _root


@dataclass(frozen=True)
class Edge:
    """One hop of a tree between two ranks. The data goes along `route`, ids of nodes with both ends.

    Of the route the first `pruned` hops (of reductions, the last) carry nothing, where switches copy or sum.
    """

    parent: int
    child: int
    route: tuple[str, ...]
    pruned: int = 0


@dataclass(frozen=True)
class Tree:
    """`multiplicity` equal spanning trees. Edges list parents before children."""

    root: int
    multiplicity: int
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Transfer:
    """In a step, one rank sends the part [begin, end) of a shard to another, which stores it or adds it."""

    step: int
    source: int
    target: int
    shard: int
    begin: Fraction
    end: Fraction
    reduces: bool
    route: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """What the verifier says; it shares no computation with the generators."""

    ok: bool
    algbw: Fraction
    bound_proved: bool
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Row:
    """One size of a simulation: bytes of the whole collective, microseconds, GB/s."""

    bytes: int
    time_us: float
    algbw: float
    busbw: float
    pieces: int


@dataclass(frozen=True)
class Option:
    """An option of a method, as the command line names it."""

    name: str
    help: str
    default: str


@dataclass(frozen=True)
class Method:
    """A way to make schedules."""

    id: str
    title: str
    description: str
    collectives: tuple[str, ...]
    options: tuple[Option, ...]


class Schedule:
    """A verified schedule of one collective on one fabric: trees, or transfers in steps."""

    def __init__(self, core: _core.Schedule) -> None:
        self._core = core

    @property
    def fabric(self) -> Fabric:
        return Fabric(self._core.fabric)

    @property
    def collective(self) -> str:
        return self._core.collective

    @property
    def method(self) -> str:
        """The id of the method; empty where a file does not say it."""
        return self._core.method

    @property
    def root(self) -> Optional[int]:
        return self._core.root

    @property
    def algbw(self) -> Fraction:
        """GB/s where only bandwidth counts."""
        return self._core.algbw

    @property
    def bound(self) -> Optional[Fraction]:
        """What no schedule of `scope` exceeds, in GB/s; None where it is not known."""
        return self._core.bound

    @property
    def scope(self) -> str:
        """Which schedules are not faster than the bound, as a sentence; empty where it is not known."""
        return self._core.scope

    @property
    def trees(self) -> list[Tree]:
        """The trees that carry data from their roots: of allgather, broadcast and the second half of allreduce."""
        return self._trees("broadcast")

    @property
    def reduce_trees(self) -> list[Tree]:
        """The trees that add data towards their roots: of reduce_scatter, reduce and the first half of allreduce."""
        return self._trees("reduce")

    @property
    def transfers(self) -> list[Transfer]:
        """The transfers of a schedule in steps; empty for trees."""
        return [Transfer(*entry[:7], tuple(entry[7])) for entry in self._core.transfers() or ()]

    def to_json(self) -> str:
        """The text of a .forest.json or .schedule.json."""
        return self._core.json()

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    def __repr__(self) -> str:
        by = f" by {self.method}" if self.method else ""
        return f"<coppice.Schedule {self.collective}{by}: {self.algbw} GB/s on {self._core.fabric.name!r}>"

    def _trees(self, half: str) -> list[Tree]:
        trees = (self._core.forests() or {}).get(half)
        return [Tree(root, multiplicity, tuple(Edge(parent, child, tuple(route), pruned)
                                               for parent, child, route, pruned in edges))
                for root, multiplicity, edges in trees or ()]


def methods(collective: Optional[str] = None) -> list[Method]:
    """All methods, or those that make a collective."""
    all_methods = [Method(id, title, description, tuple(collectives), tuple(Option(*option) for option in options))
                   for id, title, description, collectives, options in _core.methods()]
    return [method for method in all_methods if collective is None or collective in method.collectives]


def generate(fabric: Fabric, collective: str = "allgather", *, method: str = "forestcoll",
             root: Union[None, int, str] = None, amounts: Amounts = None, progress: Listener = None,
             **options: Any) -> Schedule:
    """Makes a schedule and verifies it.

    Args:
        method: an id of methods().
        options: those of the method, as the command line has them: max_height=3 is --max-height 3.
    """
    return Schedule(_core.generate(fabric._core, collective, _root(root), _amounts(amounts), method,
                                   _options(options), progress))


def generate_groups(fabric: Fabric, groups: Optional[Sequence[Group]] = None, *, mesh: str = "",
                    axis: Union[None, int, Sequence[int]] = None, collective: str = "allgather", relay: bool = False,
                    progress: Listener = None) -> list[Schedule]:
    """Generates a verified schedule for each of several groups, all of which can run at the same time.

    Each schedule has its group's part of the fabric: its GPUs, what relays, and its shares of the links. The arguments
    are those of optimum_of_groups().
    """
    cores = _core.generate_groups(fabric._core, *_groups(groups, mesh, axis), collective, relay, progress)
    return [Schedule(core) for core in cores]


def read_schedule(path: Union[str, os.PathLike[str]]) -> Schedule:
    """Reads a .forest.json or .schedule.json. It is not verified: see verify()."""
    with open(path, encoding="utf-8") as file:
        return Schedule(_core.read_schedule(file.read(), os.fspath(path)))


def verify(schedule: Schedule, *, progress: Listener = None) -> Verdict:
    """Checks every tree or transfer, route and load, and proves the stated bound again."""
    verdict = _core.verify(schedule._core, progress)
    return Verdict(verdict["ok"], verdict["algbw"], verdict["bound_proved"],
                   tuple(Finding(**finding) for finding in verdict["findings"]))


def simulate(schedule: Schedule, sizes: Union[int, Iterable[int]], *, link_latency: Optional[float] = None,
             message_overhead: Optional[float] = None, addition_time: Optional[float] = None, window: int = 1,
             pieces: Optional[int] = None, progress: Listener = None) -> list[Row]:
    """Plays a schedule message by message, once for each size in bytes of the whole collective.

    Args:
        link_latency: microseconds of every link; by default as the fabric states, or by the kinds of its ends.
        message_overhead: microseconds of a message at its sender.
        addition_time: picoseconds that a GPU takes to add one byte.
        window: messages of a connection that may be under way.
        pieces: of each tree; by default the number with the minimum time.
    """
    wanted = [sizes] if isinstance(sizes, int) else [int(size) for size in sizes]
    rows = _core.simulate(schedule._core, wanted, link_latency, message_overhead, addition_time, window, pieces,
                          progress)
    return [Row(*row) for row in rows]


def as_array(rows: Sequence[Row]) -> Any:
    """Rows of a simulation as a structured numpy array with the fields bytes, time_us, algbw, busbw and pieces."""
    import numpy

    return numpy.array([(row.bytes, row.time_us, row.algbw, row.busbw, row.pieces) for row in rows],
                       dtype=[("bytes", "i8"), ("time_us", "f8"), ("algbw", "f8"), ("busbw", "f8"), ("pieces", "i8")])


def export(schedule: Schedule, path: Union[None, str, os.PathLike[str]] = None, *, target: str = "msccl",
           in_place: bool = True, instances: int = 1, protocol: Optional[str] = None, min_bytes: int = 0,
           max_bytes: Optional[int] = None, progress: Listener = None) -> str:
    """Makes a program that a runtime executes, verified by symbolic execution; writes it where a path is given.

    Args:
        target: a runtime of `coppice-cli export --target`, or "trees" for ForestColl's tree XML.
        protocol: Simple, LL or LL128; by default Simple, or LL where a broadcast or reduce crosses boxes.
        min_bytes, max_bytes: the sizes for which the runtime takes it.
    """
    text = _core.export(schedule._core, target, in_place, instances, protocol, min_bytes, max_bytes, progress)
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text
