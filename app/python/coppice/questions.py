# SPDX-License-Identifier: Apache-2.0
"""How fast a collective can be, what limits it, and what changes it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from . import _core
from .errors import Error
from .fabric import Fabric

Listener = Optional[Callable[[str, float], None]]
"""Called about 20 times a second with the stage and how much of it is done, from 0 to 1. What it raises stops the work."""

Amounts = Union[None, str, Sequence[int], Mapping[str, int]]
"""Relative data of each rank: a sequence by rank, or by id of the GPU, where * stands for any characters and the others
have 1."""


@dataclass(frozen=True)
class Cut:
    """A set of nodes that limits a collective: its data can only leave it (for reductions, enter it) over `bandwidth`.

    `demand` is the data that must pass: GPUs inside, or their amounts; 1 for broadcast and reduce.
    """

    nodes: tuple[str, ...]
    demand: int
    bandwidth: Fraction


@dataclass(frozen=True)
class TreeBound:
    """What no allreduce by trees can beat, in GB/s."""

    algbw: Fraction
    exact: bool
    reached: bool


@dataclass(frozen=True)
class Optimum:
    """The best throughput of a collective on a fabric; all rates in GB/s.

    Attributes:
        algbw: the size of the whole collective by its time.
        busbw: as nccl-tests counts it.
        exact: nothing of the scope is faster, proved.
        scope: which schedules are not faster, as a sentence.
        reached: what the best known schedule has; algbw itself but for an all-to-all that is not solved exactly.
        trees_per_root: the fewest trees of each root that reach it; 0 where roots have different numbers.
        cuts: tight cuts, the smallest first, at most 64 of `cut_count`.
        allreduce_bound: of an allreduce: what no trees can beat, where it was computed.
        plain_switches: what is left where no switch copies or sums; None where none of them matters.
    """

    collective: str
    gpus: int
    algbw: Fraction
    busbw: Fraction
    exact: bool
    reached: Fraction
    scope: str = ""
    trees_per_root: int = 0
    note: str = ""
    cuts: tuple[Cut, ...] = ()
    cut_count: int = 0
    cut_count_exact: bool = True
    allreduce_bound: Optional[TreeBound] = None
    plain_switches: Optional[PlainSwitches] = None

    @property
    def cut(self) -> Optional[Cut]:
        """The first tight cut; None where no cut is the limit."""
        return self.cuts[0] if self.cuts else None


@dataclass(frozen=True)
class PlainSwitches:
    """The same collective where no switch copies or sums."""

    algbw: Fraction
    allreduce_bound: Optional[TreeBound] = None


@dataclass(frozen=True)
class Price:
    """What one more GB/s on a link, or on every link of a class, is worth.

    Attributes:
        gain: GB/s of algbw for each GB/s more; `loss` for each GB/s less. They differ where cuts are tied.
        change_above: up to how many GB/s more the gain holds; None = always.
        change_below: the same for less, a negative number.
    """

    name: str
    links: tuple[tuple[str, str], ...]
    gain: Fraction
    loss: Fraction
    change_above: Optional[Fraction]
    change_below: Optional[Fraction]


@dataclass(frozen=True)
class Failure:
    """One part that fails, alone.

    Attributes:
        part: link, nic, switch, gpu or box.
        algbw: what is left, in GB/s; 0 where GPUs are cut off, with the reason.
        loss: the part of algbw that is lost.
        gpus: that still take part.
    """

    part: str
    name: str
    algbw: Fraction
    loss: Fraction
    gpus: int
    reason: str = ""


def optimum(fabric: Fabric, collective: str = "allgather", *, root: Union[None, int, str] = None,
            amounts: Amounts = None, progress: Listener = None, **limits: Any) -> Optimum:
    """Computes the exact best throughput of a collective, and what limits it.

    Args:
        collective: allgather, reduce_scatter, allreduce, broadcast, reduce, gather, scatter or alltoall.
        root: rank or id, where the collective has a root.
        limits: as the options of `coppice-cli optimum`: k, k_max, within, plain_switches, allreduce_time.
    """
    answer = _core.optimum(fabric._core, collective, _root(root), _amounts(amounts), _options(limits), progress)
    reached = answer.pop("reached", answer["algbw"])
    cuts = tuple(Cut(tuple(cut["nodes"]), cut["demand"], cut["bandwidth"]) for cut in answer.pop("cuts", ()))
    plain = answer.pop("plain_switches", None)
    return Optimum(
        **{key: value for key, value in answer.items() if key != "allreduce_bound"},
        reached=reached,
        cuts=cuts,
        allreduce_bound=_bound(answer.get("allreduce_bound")),
        plain_switches=PlainSwitches(plain["algbw"], _bound(plain["allreduce_bound"])) if plain else None)


@dataclass(frozen=True)
class Group:
    """GPUs, by rank, that run a collective among themselves. `weight`: its algbw relative to that of other groups."""

    ranks: tuple[int, ...]
    collective: str = "allgather"
    weight: Union[int, str, Fraction] = 1
    root: Optional[int] = None


@dataclass(frozen=True)
class PricedLink:
    """A link of a shared cut, in one direction: what one more GB/s adds to the rate."""

    source: str
    target: str
    bandwidth: Fraction
    price: Fraction


@dataclass(frozen=True)
class GroupsOptimum:
    """The largest rate at which all groups run at the same time: each has its weight times `rate` as algbw, in GB/s.

    The bandwidth of the links of the cut times their prices adds up to the rate. `reached` is what trees are known for;
    less than `rate` where the search ended early.
    """

    rate: Fraction
    reached: Fraction
    exact: bool
    cut: tuple[PricedLink, ...]


def optimum_of_groups(fabric: Fabric, groups: Optional[Sequence[Group]] = None, *, mesh: str = "",
                      axis: Union[None, int, Sequence[int]] = None, collective: str = "allgather",
                      relay: bool = False, progress: Listener = None) -> GroupsOptimum:
    """Computes how fast several collectives can be that run at the same time, and the cut that they share.

    Args:
        groups: the groups; or none, and the groups of a mesh:
        mesh: "8x16", ranks in the order of the fabric, the last axis fastest.
        axis: the axis whose groups run, or several that run at the same time; by default all.
        collective: of the groups of a mesh.
        relay: GPUs pass on data of other groups.
    """
    answer = _core.optimum_of_groups(fabric._core, *_groups(groups, mesh, axis), collective, relay, progress)
    return GroupsOptimum(answer["rate"], answer["reached"], answer["exact"],
                         tuple(PricedLink(*link) for link in answer["cut"]))


def prices(fabric: Fabric, collective: str = "allgather", *, by: str = "link", root: Union[None, int, str] = None,
           amounts: Amounts = None, progress: Listener = None, **limits: Any) -> list[Price]:
    """The exact gain of one more GB/s on each link (by="link") or on all links of a kind (by="class"), best first."""
    if by not in ("link", "class"):
        raise Error(f"{by!r} is not known", 'use "link" or "class"')
    rows = _core.prices(fabric._core, collective, _root(root), _amounts(amounts), _options(limits), by == "class",
                        progress)
    return [Price(name, tuple(links), *figures) for name, links, *figures in rows]


def n_minus_one(fabric: Fabric, collective: str = "allgather", *,
                parts: Sequence[str] = ("link", "nic", "switch", "gpu"), root: Union[None, int, str] = None,
                amounts: Amounts = None, progress: Listener = None, **limits: Any) -> list[Failure]:
    """All single failures by the bound that remains, the worst first."""
    known = ("link", "nic", "switch", "gpu", "box")
    for part in parts:
        if part not in known:
            raise Error(f"{part!r} is not a part that can fail", "use " + ", ".join(known))
    rows = _core.failures(fabric._core, collective, _root(root), _amounts(amounts), _options(limits), list(parts),
                          progress)
    return [Failure(*row) for row in rows]


@dataclass(frozen=True)
class Moved:
    """What a training step moves along one axis: `time` in ns of the step, at `rate` GB/s, limited by `links`."""

    axis: str
    collective: str
    time: Fraction
    rate: Fraction
    links: str


@dataclass(frozen=True)
class TrainingPlan:
    """A way to divide a training step over the GPUs.

    Attributes:
        layout: the axes from the fastest rank on, such as "tp8 dp16".
        sizes: of dp, cp, ep, tp and pp.
        step: ns, if communication hides behind computation where it can; nothing is faster in this model.
        compute, bubble, communication: ns; memory: bytes of a GPU.
        tokens_per_second, mfu: at most.
        axes: (axis, size, stride of the ranks, what it is used for).
        moved: the collectives, the longest first.
    """

    layout: str
    sizes: dict[str, int]
    micro_batches: int
    step: Fraction
    compute: Fraction
    bubble: Fraction
    communication: Fraction
    memory: Fraction
    tokens_per_second: Fraction
    mfu: Fraction
    axes: tuple[tuple[str, int, int, str], ...]
    moved: tuple[Moved, ...]


def train(fabric: Fabric, model: Union[str, os.PathLike[str]], *, progress: Listener = None,
          **options: Any) -> list[TrainingPlan]:
    """Finds the best ways to divide a training step of a model over all GPUs, best first.

    Args:
        model: a preset such as "llama-3-70b", or the path of a config.json.
        options: those of `coppice-cli train`, with underscores: gpu="h100", batch=512, sequence=8192,
            memory="80GB", efficiency="0.6", recompute=True, plan="tp=8,pp=4".
    """
    rows = _core.train(fabric._core, {"model": os.fspath(model), **_options(options)}, progress)
    return [TrainingPlan(*figures, tuple(axes), tuple(Moved(*each) for each in parts)) for *figures, axes, parts in rows]


def _groups(groups: Optional[Sequence[Group]], mesh: str,
            axis: Union[None, int, Sequence[int]]) -> tuple[str, str, str]:
    """The text of a file of groups, the mesh and its axes."""
    if (groups is None) == (not mesh):
        raise Error("either groups or a mesh is needed", 'give groups=[...] or mesh="8x16"')
    entries = []
    for group in groups or ():
        entry: dict[str, Any] = {"ranks": list(group.ranks), "collective": group.collective}
        if group.weight != 1:
            entry["weight"] = group.weight if isinstance(group.weight, int) else str(group.weight)
        if group.root is not None:
            entry["root"] = group.root
        entries.append(entry)
    return (json.dumps(entries) if entries else "", mesh, _axes(axis))


def _axes(axis: Union[None, int, Sequence[int]]) -> str:
    return "" if axis is None else str(axis) if isinstance(axis, int) else ",".join(str(each) for each in axis)


def _root(root: Union[None, int, str]) -> str:
    return "" if root is None else str(root)


def _amounts(amounts: Amounts) -> str:
    if amounts is None or isinstance(amounts, str):
        return amounts or ""
    if isinstance(amounts, Mapping):
        return ",".join(f"{id}={amount}" for id, amount in amounts.items())
    return ",".join(str(amount) for amount in amounts)


def _options(options: Mapping[str, Any]) -> dict[str, str]:
    """As the command line has them: max_height=3 is --max-height 3. False and None leave an option out."""
    texts = {}
    for name, value in options.items():
        if value is None or value is False:
            continue
        texts[name.replace("_", "-")] = "true" if value is True else str(value)
    return texts


def _bound(answer: Optional[Mapping[str, Any]]) -> Optional[TreeBound]:
    return TreeBound(**answer) if answer else None
