# SPDX-License-Identifier: Apache-2.0
"""Coppice: the exact best throughput of collective communication on a GPU cluster, and schedules that reach it.

    >>> import coppice
    >>> fabric = coppice.preset("dgx-a100", boxes=2)
    >>> coppice.optimum(fabric, "allgather").algbw
    Fraction(1040, 3)
    >>> schedule = coppice.generate(fabric, "allgather")
    >>> coppice.verify(schedule).ok
    True
    >>> xml = coppice.export(schedule, target="msccl")

Rates are exact fractions.Fraction in GB/s (10^9 bytes a second); simulated times and rates are floats.
"""

from ._core import version as __version__
from .errors import Error
from .fabric import Fabric, Finding, Link, Node, Parameter, Preset, load, preset, presets
from .networks import (Bill, BillLine, Cable, Frontier, NetworkPoint, RankOrder, Topology, TopologyFront, bom,
                       find_topologies, frontier, rank_order)
from .questions import (Cut, Failure, Group, GroupsOptimum, Moved, Optimum, PlainSwitches, Price, PricedLink,
                        TrainingPlan, TreeBound, n_minus_one, optimum, optimum_of_groups, prices, train)
from .schedule import (Edge, Method, Option, Row, Schedule, Transfer, Tree, Verdict, as_array, export, generate,
                       generate_groups, methods, read_schedule, simulate, verify)
from .studies import (Choice, Communicator, Comparison, Contender, Drilled, Exchange, ExpertLayer, ImportedRun,
                      RankTraffic, RunOnFabric, RunSize, compare, drill, import_run, moe, table, uneven_alltoall)

__all__ = [
    "Bill", "BillLine", "Cable", "Choice", "Communicator", "Comparison", "Contender", "Cut", "Drilled", "Edge", "Error",
    "Exchange", "ExpertLayer", "Fabric", "Failure", "Finding", "Frontier", "Group", "GroupsOptimum", "ImportedRun",
    "Link", "Method", "Moved", "NetworkPoint", "Node", "Optimum", "Option", "Parameter", "PlainSwitches", "Preset",
    "Price", "PricedLink", "RankOrder", "RankTraffic", "Row", "RunOnFabric", "RunSize", "Schedule", "Topology",
    "TopologyFront", "TrainingPlan", "Transfer", "Tree", "TreeBound", "Verdict", "as_array", "bom", "compare", "drill",
    "export", "find_topologies", "frontier", "generate", "generate_groups", "import_run", "load", "methods", "moe",
    "n_minus_one", "optimum", "optimum_of_groups", "preset", "presets", "prices", "rank_order", "read_schedule",
    "simulate", "table", "train", "uneven_alltoall", "verify", "__version__",
]
