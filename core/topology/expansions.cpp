// SPDX-License-Identifier: Apache-2.0
#include "topology/expansions.hpp"

#include <utility>

namespace coppice::topology {
namespace {

using std::size_t;

/// A name as a part of a longer one.
std::string bracketed(const std::string& name) {
  const bool isPlain = name.find(" x ") == std::string::npos && name.find('*') == std::string::npos;
  return isPlain ? name : "(" + name + ")";
}

Result<Digraph> sized(std::string name, std::int64_t nodes, std::int64_t degree) {
  if (Outcome checked = checkSize(name, nodes, degree); !checked) {
    return checked.error();
  }
  Digraph graph;
  graph.name = std::move(name);
  graph.nodes = static_cast<int>(nodes);
  graph.degree = static_cast<int>(degree);
  graph.heads.reserve(static_cast<size_t>(nodes) * static_cast<size_t>(degree));
  return graph;
}

}  // namespace

Result<Digraph> lineGraph(const Digraph& graph) {
  if (graph.degree < 2) {
    return Error{ErrorCode::badUsage, graph.name + " has degree 1, so its line graph is the same ring",
                 "expand a graph of degree 2 or more"};
  }
  auto result = sized("L(" + graph.name + ")", std::int64_t{graph.nodes} * graph.degree, graph.degree);
  if (!result) {
    return result;
  }
  for (const int head : graph.heads) {
    for (int j = 0; j < graph.degree; ++j) {
      result->heads.push_back(head * graph.degree + j);
    }
  }
  return result;
}

Result<Digraph> degreeExpansion(const Digraph& graph, int copies) {
  if (copies < 2) {
    return Error{ErrorCode::badUsage, "a degree expansion makes 2 or more copies, not " + std::to_string(copies),
                 "give 2 or more"};
  }
  if (const std::int64_t loops = selfLoopCount(graph); loops > 0) {
    return Error{
        ErrorCode::badUsage,
        graph.name + " has " + std::to_string(loops) + " self-loops, and a degree expansion is defined without them",
        "expand a graph without self-loops"};
  }
  auto result = sized(bracketed(graph.name) + "*" + std::to_string(copies), std::int64_t{graph.nodes} * copies,
                      std::int64_t{graph.degree} * copies);
  if (!result) {
    return result;
  }
  for (int v = 0; v < graph.nodes; ++v) {
    for (int i = 0; i < copies; ++i) {
      for (const int head : graph.out(v)) {
        for (int j = 0; j < copies; ++j) {
          result->heads.push_back(head * copies + j);
        }
      }
    }
  }
  return result;
}

Result<Digraph> product(const Digraph& first, const Digraph& second) {
  auto result = sized(bracketed(first.name) + " x " + bracketed(second.name), std::int64_t{first.nodes} * second.nodes,
                      std::int64_t{first.degree} + second.degree);
  if (!result) {
    return result;
  }
  for (int u = 0; u < first.nodes; ++u) {
    for (int v = 0; v < second.nodes; ++v) {
      for (const int head : first.out(u)) {
        result->heads.push_back(head * second.nodes + v);
      }
      for (const int head : second.out(v)) {
        result->heads.push_back(u * second.nodes + head);
      }
    }
  }
  result->grid = first.grid.empty() ? std::vector<int>{first.nodes} : first.grid;
  if (second.grid.empty()) {
    result->grid.push_back(second.nodes);
  } else {
    result->grid.insert(result->grid.end(), second.grid.begin(), second.grid.end());
  }
  return result;
}

Result<Digraph> power(const Digraph& graph, int exponent) {
  if (exponent < 2) {
    return Error{ErrorCode::badUsage, "a power has an exponent of 2 or more, not " + std::to_string(exponent),
                 "give 2 or more"};
  }
  Result<Digraph> result = graph;
  for (int i = 1; i < exponent && result; ++i) {
    result = product(*result, graph);
  }
  if (result) {
    result->name = bracketed(graph.name) + "^" + std::to_string(exponent);
  }
  return result;
}

Result<Digraph> bidirected(const Digraph& graph) {
  auto result = sized("Duplex(" + graph.name + ")", graph.nodes, std::int64_t{graph.degree} * 2);
  if (!result) {
    return result;
  }
  const Digraph back = transposed(graph);
  for (int v = 0; v < graph.nodes; ++v) {
    const auto out = graph.out(v);
    const auto in = back.out(v);
    result->heads.insert(result->heads.end(), out.begin(), out.end());
    result->heads.insert(result->heads.end(), in.begin(), in.end());
  }
  result->grid = graph.grid;
  return result;
}

}  // namespace coppice::topology
