// SPDX-License-Identifier: Apache-2.0
#include "finder/construction.hpp"

#include <array>
#include <utility>

#include "finder/drawn.hpp"
#include "topology/distance_regular.hpp"
#include "topology/expansions.hpp"
#include "topology/families.hpp"

namespace coppice::finder {
namespace {

using topology::Digraph;
using topology::Element;
using topology::Metacyclic;

std::string pair(const std::vector<int>& numbers) {
  return std::to_string(numbers[0]) + "," + std::to_string(numbers[1]);
}

/// A part's name inside a longer one.
std::string nested(const Construction& part) {
  const bool isPlain = part.operation != Operation::product && part.operation != Operation::power &&
                       part.operation != Operation::degreeExpansion;
  return isPlain ? nameOf(part) : "(" + nameOf(part) + ")";
}

std::string titleOf(const std::string& name) {
  for (const auto& entry : topology::distanceRegularGraphs()) {
    if (entry.name == name) {
      return "DistReg(" + std::to_string(entry.degree) + "," + std::to_string(entry.nodes) + "): " + entry.title;
    }
  }
  return name;
}

Metacyclic groupOf(const Construction& construction) {
  return {construction.numbers[0], construction.numbers[1], construction.numbers[2]};
}

Result<Digraph> buildBase(const Construction& construction) {
  const std::vector<int>& numbers = construction.numbers;
  switch (construction.operation) {
    case Operation::complete:
      return topology::complete(numbers[0]);
    case Operation::multiComplete:
      return topology::multiComplete(numbers[1], numbers[0]);
    case Operation::completeBipartite:
      return topology::completeBipartite(numbers[0]);
    case Operation::directedCirculant:
      return topology::directedCirculant(numbers[0]);
    case Operation::uniRing:
      return topology::uniRing(numbers[0], numbers[1]);
    case Operation::biRing:
      return topology::biRing(numbers[0], numbers[1]);
    case Operation::denseCirculant:
      return topology::denseCirculant(numbers[0], numbers[1]);
    case Operation::kautz:
      return topology::generalizedKautz(numbers[0], numbers[1]);
    case Operation::deBruijn:
      return topology::deBruijn(numbers[0], numbers[1]);
    case Operation::cayley:
      return topology::cayley(groupOf(construction), generatorsOf(construction));
    case Operation::distanceRegular:
      return topology::distanceRegular(construction.label);
    default:
      return build(*standIn(construction.label));
  }
}

Result<Digraph> expand(const Construction& construction, Digraph part) {
  Result<Digraph> result = std::move(part);
  switch (construction.operation) {
    case Operation::lineGraph:
      for (int i = 0; i < construction.numbers[0] && result; ++i) {
        result = topology::lineGraph(*result);
      }
      return result;
    case Operation::degreeExpansion:
      return topology::degreeExpansion(*result, construction.numbers[0]);
    case Operation::power:
      return topology::power(*result, construction.numbers[0]);
    default:
      return topology::bidirected(*result);
  }
}

}  // namespace

std::string_view word(Operation operation) {
  static constexpr std::array kWords = {
      "complete",         "multi_complete", "complete_bipartite", "directed_circulant", "uni_ring",
      "bi_ring",          "circulant",      "generalized_kautz",  "de_bruijn",          "cayley",
      "distance_regular", "quoted",         "line_graph",         "degree_expansion",   "power",
      "product",          "duplex"};
  return kWords[static_cast<std::size_t>(operation)];
}

ConstructionPtr base(Operation operation, std::vector<int> numbers) {
  return std::make_shared<Construction>(Construction{operation, std::move(numbers)});
}

ConstructionPtr named(Operation operation, std::string label) {
  return std::make_shared<Construction>(Construction{operation, {}, {}, std::move(label)});
}

ConstructionPtr expanded(Operation operation, int number, ConstructionPtr part) {
  return std::make_shared<Construction>(Construction{operation, {number}, {std::move(part)}});
}

ConstructionPtr productOf(ConstructionPtr first, ConstructionPtr second) {
  return std::make_shared<Construction>(Construction{Operation::product, {}, {std::move(first), std::move(second)}});
}

ConstructionPtr cayleyOf(const Metacyclic& group, const std::vector<Element>& generators) {
  std::vector<int> numbers = {group.m, group.n, group.r};
  for (const Element& s : generators) {
    numbers.push_back(s.a);
    numbers.push_back(s.b);
  }
  return base(Operation::cayley, std::move(numbers));
}

std::vector<Element> generatorsOf(const Construction& construction) {
  std::vector<Element> generators;
  for (std::size_t i = 3; i + 1 < construction.numbers.size(); i += 2) {
    generators.push_back({construction.numbers[i], construction.numbers[i + 1]});
  }
  return generators;
}

std::string nameOf(const Construction& construction) {
  const std::vector<int>& numbers = construction.numbers;
  switch (construction.operation) {
    case Operation::complete:
      return "K_" + std::to_string(numbers[0]);
    case Operation::multiComplete:
      return "K(" + pair(numbers) + ")";
    case Operation::completeBipartite:
      return "K_{" + std::to_string(numbers[0]) + "," + std::to_string(numbers[0]) + "}";
    case Operation::directedCirculant:
      return "DirectedCirculant(" + std::to_string(numbers[0]) + ")";
    case Operation::uniRing:
      return "UniRing(" + pair(numbers) + ")";
    case Operation::biRing:
      return "BiRing(" + pair(numbers) + ")";
    case Operation::denseCirculant: {
      const int m = topology::denseCirculantSteps(numbers[0]);
      return (numbers[1] > 1 ? std::to_string(numbers[1]) + "-fold " : "") + "C(" + std::to_string(numbers[0]) + ",{" +
             std::to_string(m) + "," + std::to_string(m + 1) + "})";
    }
    case Operation::kautz:
      return "Pi_{" + pair(numbers) + "}";
    case Operation::deBruijn:
      return "DBJ(" + pair(numbers) + ")";
    case Operation::cayley:
      return topology::nameOf(groupOf(construction), generatorsOf(construction));
    case Operation::distanceRegular:
      return titleOf(construction.label);
    case Operation::quoted:
      return construction.label;
    case Operation::lineGraph:
      return (numbers[0] > 1 ? "L^" + std::to_string(numbers[0]) : std::string("L")) + "(" +
             nameOf(*construction.parts[0]) + ")";
    case Operation::degreeExpansion:
      return nested(*construction.parts[0]) + "*" + std::to_string(numbers[0]);
    case Operation::power:
      return nested(*construction.parts[0]) + "^" + std::to_string(numbers[0]);
    case Operation::product:
      return nested(*construction.parts[0]) + " x " + nested(*construction.parts[1]);
    case Operation::duplex:
      return "Duplex(" + nameOf(*construction.parts[0]) + ")";
  }
  return {};
}

int operationCount(const Construction& construction) {
  int count = 1;
  for (const ConstructionPtr& part : construction.parts) {
    count += operationCount(*part);
  }
  return count;
}

Result<Digraph> build(const Construction& construction) {
  if (construction.parts.empty()) {
    return buildBase(construction);
  }
  auto result = build(*construction.parts[0]);
  if (!result) {
    return result;
  }
  if (construction.operation == Operation::product) {
    const auto second = build(*construction.parts[1]);
    if (!second) {
      return second;
    }
    result = topology::product(*result, *second);
  } else {
    result = expand(construction, *std::move(result));
  }
  if (result) {
    result->name = nameOf(construction);
  }
  return result;
}

}  // namespace coppice::finder
