// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "topology/cayley.hpp"
#include "topology/digraph.hpp"

namespace coppice::finder {

enum class Operation {
  complete,           ///< {m}
  multiComplete,      ///< {d, m}
  completeBipartite,  ///< {d}
  directedCirculant,  ///< {d}
  uniRing,            ///< {d, m}
  biRing,             ///< {d, m}
  denseCirculant,     ///< {n, copies}
  kautz,              ///< {d, m}
  deBruijn,           ///< {d, k}
  cayley,             ///< {m, n, r, a, b, a, b, …}
  distanceRegular,    ///< label: its name
  quoted,             ///< label: a graph that the dissertation only draws (drawn.hpp)
  lineGraph,          ///< {k}, one part
  degreeExpansion,    ///< {n}, one part
  power,              ///< {n}, one part
  product,            ///< two parts
  duplex              ///< one part: the graph and its transpose
};

/// "line_graph": the word for an operation in JSON.
[[nodiscard]] std::string_view word(Operation operation);

/// How a topology is made: a tree of operations over base graphs.
struct Construction;
using ConstructionPtr = std::shared_ptr<const Construction>;
struct Construction {
  Operation operation = Operation::complete;
  std::vector<int> numbers = {};
  std::vector<ConstructionPtr> parts = {};
  std::string label = {};
};

[[nodiscard]] ConstructionPtr base(Operation operation, std::vector<int> numbers);
[[nodiscard]] ConstructionPtr named(Operation operation, std::string label);
[[nodiscard]] ConstructionPtr expanded(Operation operation, int number, ConstructionPtr part);
[[nodiscard]] ConstructionPtr productOf(ConstructionPtr first, ConstructionPtr second);
[[nodiscard]] ConstructionPtr cayleyOf(const topology::Metacyclic& group,
                                       const std::vector<topology::Element>& generators);
/// @pre operation is cayley
[[nodiscard]] std::vector<topology::Element> generatorsOf(const Construction& construction);

/// "L^3(M(8,2,7){(0,1),(1,0),(3,1),(6,0)})"
[[nodiscard]] std::string nameOf(const Construction& construction);
/// Number of operations in the tree, base graphs included.
[[nodiscard]] int operationCount(const Construction& construction);
/// Of a graph that is only drawn in the dissertation, its stand-in. Errors: those of core/topology.
[[nodiscard]] Result<topology::Digraph> build(const Construction& construction);

}  // namespace coppice::finder
