# SPDX-License-Identifier: Apache-2.0
"""Fabrics: GPUs, NICs, switches, and the links between them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence, Union

from . import _core
from .errors import Error

if TYPE_CHECKING:
    import networkx
    import numpy

Number = Union[int, str, float, Fraction]
"""An exact number: 25, "12.5", "25/2", Fraction(25, 2). A float stands for the decimal that it prints as."""


@dataclass(frozen=True)
class Node:
    """A GPU, NIC or switch. Ranks count the GPUs from 0; None for the others."""

    id: str
    kind: str = "gpu"
    box: str = ""
    rank: Optional[int] = None
    multicast: bool = False
    aggregation: bool = False


@dataclass(frozen=True)
class Link:
    """A link, or `count` parallel ones: GB/s of each, in each direction where it is duplex."""

    source: str
    target: str
    bandwidth: Fraction
    duplex: bool = True
    count: int = 1


@dataclass(frozen=True)
class Finding:
    """Something that was guessed, left out or wrong."""

    severity: str
    text: str
    fix: str = ""
    where: str = ""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a preset."""

    name: str
    description: str
    default: str
    allowed: str


@dataclass(frozen=True)
class Preset:
    """A known machine or family of fabrics."""

    name: str
    title: str
    description: str
    sources: str
    parameters: tuple[Parameter, ...]


def exact(value: Number) -> Fraction:
    """The number as a fraction: 12.5 is 25/2, and 0.1 is 1/10."""
    try:
        return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, TypeError, ZeroDivisionError):
        raise Error(f"{value!r} is not an exact number", "use an int, a Fraction, or a text such as 12.5 or 25/2")


class Fabric:
    """A valid fabric. It does not change: methods that edit it return another one."""

    def __init__(self, core: _core.Fabric) -> None:
        self._core = core

    @staticmethod
    def from_json(text: str, name: str = "") -> Fabric:
        """Reads the text of a .fabric.json. `name` is what messages call it."""
        return Fabric(_core.fabric_from_json(text, name))

    @staticmethod
    def build(nodes: Iterable[Node], links: Iterable[Link], name: str = "fabric") -> Fabric:
        """Makes a fabric of nodes and links."""
        return Fabric.from_json(json.dumps({"name": name, "nodes": [_node_json(node) for node in nodes],
                                            "links": [_link_json(link) for link in links]}))

    @staticmethod
    def from_networkx(graph: networkx.Graph, bandwidth: str = "bandwidth") -> Fabric:
        """Makes a fabric of a graph.

        Attributes of nodes: kind ("gpu" where there is none), box, rank, multicast, aggregation. Of edges: the
        bandwidth in GB/s, under the name given. Edges of a directed graph are links of one direction; parallel edges of
        a multigraph are parallel links.
        """
        nodes = []
        for node, data in graph.nodes(data=True):
            known = {key: data[key] for key in ("kind", "box", "rank", "multicast", "aggregation") if key in data}
            nodes.append(Node(str(node), **known))
        links = []
        for source, target, data in graph.edges(data=True):
            if bandwidth not in data:
                raise Error(f"the edge {source} - {target} has no {bandwidth!r}", "give each edge its bandwidth in GB/s")
            links.append(Link(str(source), str(target), exact(data[bandwidth]), duplex=not graph.is_directed()))
        return Fabric.build(nodes, links, name=str(graph.name or "graph"))

    @staticmethod
    def from_numpy(matrix: Any, name: str = "matrix") -> Fabric:
        """Makes a fabric of GPUs alone: entry [i, j] is the bandwidth from rank i to rank j in GB/s, 0 for none."""
        count = len(matrix)
        links = []
        for i in range(count):
            if len(matrix[i]) != count:
                raise Error(f"row {i} has {len(matrix[i])} entries and there are {count} rows", "use a square matrix")
            for j in range(count):
                value = matrix[i][j]
                number = exact(value.item() if hasattr(value, "item") else value)
                if i != j and number != 0:
                    links.append(Link(f"g{i}", f"g{j}", number, duplex=False))
        return Fabric.build([Node(f"g{i}", rank=i) for i in range(count)], links, name=name)

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def digest(self) -> str:
        """Equal for fabrics with equal facts."""
        return self._core.digest

    @property
    def gpu_count(self) -> int:
        return self._core.gpu_count

    @property
    def nodes(self) -> list[Node]:
        return [Node(*node) for node in self._core.nodes()]

    @property
    def links(self) -> list[Link]:
        """The links as they are stated."""
        return [Link(*link) for link in self._core.links()]

    @property
    def gpus(self) -> list[str]:
        """Ids of the GPUs by rank."""
        ranked = sorted((node.rank, node.id) for node in self.nodes if node.rank is not None)
        return [id for _, id in ranked]

    @property
    def findings(self) -> list[Finding]:
        """What the import guessed or left out."""
        return [Finding(**finding) for finding in self._core.findings]

    def to_json(self) -> str:
        """The text of a .fabric.json."""
        return self._core.json()

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    def to_networkx(self) -> networkx.DiGraph:
        """A directed graph: one edge for each direction, with the bandwidth of parallel links added up as a Fraction."""
        import networkx

        graph = networkx.DiGraph(name=self.name)
        for node in self.nodes:
            graph.add_node(node.id, kind=node.kind, box=node.box, rank=node.rank, multicast=node.multicast,
                           aggregation=node.aggregation)
        for source, target, bandwidth in self._core.arcs():
            graph.add_edge(source, target, bandwidth=bandwidth)
        return graph

    def to_numpy(self) -> numpy.ndarray:
        """Bandwidths in GB/s between all nodes, in the order of `nodes`; 0 where there is no link."""
        import numpy

        index = {node.id: i for i, node in enumerate(self.nodes)}
        matrix = numpy.zeros((len(index), len(index)))
        for source, target, bandwidth in self._core.arcs():
            matrix[index[source], index[target]] = float(bandwidth)
        return matrix

    def without(self, *ids: str) -> Fabric:
        """The fabric without these nodes and their links. GPUs that stay keep their order."""
        missing = set(ids) - {node.id for node in self.nodes}
        if missing:
            raise Error(f"there is no node {sorted(missing)[0]!r}", "use the ids of Fabric.nodes")
        return self._edited(lambda id: id not in ids, lambda source, target: True, None)

    def without_link(self, source: str, target: str) -> Fabric:
        """The fabric without the links between two nodes, in both directions."""
        self._require_link(source, target)
        return self._edited(lambda id: True, lambda a, b: {a, b} != {source, target}, None)

    def with_bandwidth(self, source: str, target: str, bandwidth: Number) -> Fabric:
        """The fabric with another bandwidth of each link between two nodes, in both directions, in GB/s."""
        self._require_link(source, target)
        return self._edited(lambda id: True, lambda a, b: True, ({source, target}, exact(bandwidth)))

    def __repr__(self) -> str:
        return f"<coppice.Fabric {self.name!r}: {self.gpu_count} GPUs, {len(self._core.nodes())} nodes>"

    def _require_link(self, source: str, target: str) -> None:
        if not any({link.source, link.target} == {source, target} for link in self.links):
            raise Error(f"there is no link between {source!r} and {target!r}", "use the ends of one of Fabric.links")

    def _edited(self, keeps: Any, keeps_link: Any, change: Any) -> Fabric:
        document = json.loads(self.to_json())
        loses = any(not keeps(node["id"]) for node in document["nodes"])
        document["nodes"] = [node for node in document["nodes"] if keeps(node["id"])]
        if loses:
            order = {id: rank for rank, id in enumerate(id for id in self.gpus if keeps(id))}
            for node in document["nodes"]:
                if node["id"] in order:
                    node["rank"] = order[node["id"]]
        links = []
        for link in document["links"]:
            ends = (link["src"], link["dst"])
            if keeps(ends[0]) and keeps(ends[1]) and keeps_link(*ends):
                if change and set(ends) == change[0]:
                    link["bandwidth"] = str(change[1])
                links.append(link)
        document["links"] = links
        document.pop("drawing", None)
        return Fabric.from_json(json.dumps(document), self.name)


def load(source: Union[str, os.PathLike[str]], format: str = "", gpus: Union[str, Sequence[int]] = "") -> Fabric:
    """Loads a fabric: a file of any format that `coppice-cli import` reads, or "preset:dgx-a100,boxes=4".

    Args:
        format: as `--from` of the command line; by default recognised by name and content.
        gpus: ids, ranks and ranges of ranks of the GPUs to keep, as "0-7,12"; by default all.
    """
    chosen = gpus if isinstance(gpus, str) else ",".join(str(rank) for rank in gpus)
    return Fabric(_core.load_fabric(os.fspath(source), format, chosen))


def preset(name: str, **parameters: Any) -> Fabric:
    """A known machine or family: preset("dgx-a100", boxes=4). See presets()."""
    return load("preset:" + ",".join([name] + [f"{key}={value}" for key, value in parameters.items()]))


def presets() -> list[Preset]:
    """All presets, with their parameters and the sources of their numbers."""
    return [Preset(*entry[:4], tuple(Parameter(*parameter) for parameter in entry[4])) for entry in _core.presets()]


def _node_json(node: Node) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": node.id, "kind": node.kind}
    if node.box:
        entry["box"] = node.box
    if node.rank is not None:
        entry["rank"] = node.rank
    for ability in ("multicast", "aggregation"):
        if getattr(node, ability):
            entry[ability] = True
    return entry


def _link_json(link: Link) -> dict[str, Any]:
    entry: dict[str, Any] = {"src": link.source, "dst": link.target, "bandwidth": str(exact(link.bandwidth)),
                             "duplex": link.duplex}
    if link.count != 1:
        entry["count"] = link.count
    return entry
