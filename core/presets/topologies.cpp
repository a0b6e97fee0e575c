// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "topology/cayley.hpp"
#include "topology/distance_regular.hpp"
#include "topology/families.hpp"

#include "presets/generators.hpp"
#include "presets/presets.hpp"

namespace coppice::presets {
namespace {

using topology::Digraph;

constexpr int kMaxNumber = kMaxNodes;
constexpr int kMaxTopologyDegree = 512;

Rule listRule(const std::string& name, const std::string& value, const std::string& description) {
  return {.name = name,
          .kind = ValueKind::list,
          .defaultText = value,
          .description = description,
          .low = 0,
          .high = kMaxNumber};
}

/// A preset answers choices that cannot be made, sizes and unreachable GPUs included, as bad usage.
[[noreturn]] void refuse(Error error) {
  error.code = ErrorCode::badUsage;
  throw Failure{std::move(error)};
}

/// As a fabric without positions, which presets leave to those who draw them.
fabric::Description fabricOf(const Result<Digraph>& graph, const Arguments& arguments) {
  if (!graph) {
    refuse(graph.error());
  }
  if (graph->nodes > kMaxNodes || static_cast<std::int64_t>(graph->heads.size()) > kMaxLinks) {
    throw Failure{
        Error{ErrorCode::badUsage, graph->name + " is too large for a preset",
              "choose at most " + std::to_string(kMaxNodes) + " nodes and " + std::to_string(kMaxLinks) + " links"}};
  }
  auto description = topology::describe(*graph, arguments.bandwidth("bandwidth"));
  if (!description) {
    refuse(description.error());
  }
  for (fabric::NodeDescription& node : description->nodes) {
    node.position.reset();
  }
  return *std::move(description);
}

std::vector<int> numbersOf(const Arguments& arguments, std::string_view name) {
  const auto& list = arguments.integers(name);
  return {list.begin(), list.end()};
}

fabric::Description circulant(const Arguments& arguments) {
  return fabricOf(topology::circulant(arguments.integer("nodes"), numbersOf(arguments, "jumps")), arguments);
}

fabric::Description cayley(const Arguments& arguments) {
  const std::vector<int> numbers = numbersOf(arguments, "generators");
  if (numbers.size() % 2 != 0) {
    throw Failure{Error{ErrorCode::badUsage, "generators has " + std::to_string(numbers.size()) + " numbers",
                        "give pairs a,b: 0,1,1,0 stands for (0,1) and (1,0)",
                        Place{.element = {RefKind::parameter, "generators"}}}};
  }
  std::vector<topology::Element> generators;
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    generators.push_back({numbers[i], numbers[i + 1]});
  }
  return fabricOf(
      topology::cayley({arguments.integer("m"), arguments.integer("n"), arguments.integer("r")}, generators),
      arguments);
}

fabric::Description kautz(const Arguments& arguments) {
  return fabricOf(topology::generalizedKautz(arguments.integer("degree"), arguments.integer("nodes")), arguments);
}

fabric::Description deBruijn(const Arguments& arguments) {
  return fabricOf(topology::deBruijn(arguments.integer("degree"), arguments.integer("symbols")), arguments);
}

fabric::Description hamming(const Arguments& arguments) {
  return fabricOf(topology::hamming(arguments.integer("dimensions"), arguments.integer("side")), arguments);
}

fabric::Description twistedTorus(const Arguments& arguments) {
  return fabricOf(
      topology::twistedTorus(arguments.integer("width"), arguments.integer("height"), arguments.integer("twist")),
      arguments);
}

fabric::Description twistedCube(const Arguments& arguments) {
  return fabricOf(topology::twistedCube(arguments.integer("dimension")), arguments);
}

fabric::Description distanceRegular(const Arguments& arguments) {
  return fabricOf(topology::distanceRegular(arguments.text("graph")), arguments);
}

std::vector<std::string> distanceRegularNames() {
  std::vector<std::string> names;
  for (const auto& entry : topology::distanceRegularGraphs()) {
    names.push_back(entry.name);
  }
  return names;
}

const char* const kSources = "Dissertation, Chapter 3 and Table A.3. The default of 25 GB/s belongs to no machine.";

void addOneWay(std::vector<Recipe>& recipes) {
  recipes.push_back(
      {.name = "cayley",
       .title = "Cayley digraph",
       .description = "A node for every element of the metacyclic group M(m,n,r) of pairs (a,b) with product "
                      "(a,b)(c,e) = (a + r^b c mod m, b + e mod n), linked to its products with the generators.",
       .sources = "Standard construction; r^n = 1 mod m. The default of 25 GB/s belongs to no machine.",
       .rules = {integerRule("m", 8, 1, kMaxNumber, "order of the first part"),
                 integerRule("n", 2, 1, kMaxNumber, "order of the second part"),
                 integerRule("r", 7, 0, kMaxNumber, "how the second part acts on the first"),
                 listRule("generators", "0,1,1,0,3,1,6,0", "pairs a,b one after the other"), linkBandwidthRule()},
       .generate = cayley});
  recipes.push_back(
      {.name = "kautz",
       .title = "Generalized Kautz graph",
       .description = "One-way links from x to -dx-a modulo the number of nodes, a = 1 .. d; self-loops, "
                      "which appear unless d+1 divides the number of nodes, are left out.",
       .sources = std::string(kSources),
       .rules = {integerRule("nodes", 20, 2, kMaxNumber, "number of GPUs"),
                 integerRule("degree", 4, 1, kMaxTopologyDegree, "links out of each GPU"), linkBandwidthRule()},
       .generate = kautz});
  recipes.push_back({.name = "debruijn",
                     .title = "de Bruijn graph",
                     .description = "One-way links from x to dx+a modulo d^k, a = 0 .. d-1; self-loops are left out.",
                     .sources = std::string(kSources),
                     .rules = {integerRule("degree", 2, 2, kMaxTopologyDegree, "links out of each GPU"),
                               integerRule("symbols", 3, 1, 17, "k: degree to this power GPUs"), linkBandwidthRule()},
                     .generate = deBruijn});
}

}  // namespace

std::vector<Recipe> topologyRecipes() {
  std::vector<Recipe> recipes;
  recipes.push_back({.name = "circulant",
                     .title = "Circulant graph",
                     .description = "GPUs in a circle, each linked to those that are one of the jumps before and after "
                                    "it. A jump of half the GPUs is one link.",
                     .sources = std::string(kSources),
                     .rules = {integerRule("nodes", 16, 3, kMaxNumber, "number of GPUs"),
                               listRule("jumps", "3,4", "distances along the circle"), linkBandwidthRule()},
                     .generate = circulant});
  addOneWay(recipes);
  recipes.push_back({.name = "hamming",
                     .title = "Hamming graph",
                     .description = "Points of a grid of equal sides, linked where one coordinate differs.",
                     .sources = std::string(kSources),
                     .rules = {integerRule("dimensions", 2, 1, 16, "number of coordinates"),
                               integerRule("side", 3, 2, kMaxTopologyDegree, "values of each"), linkBandwidthRule()},
                     .generate = hamming});
  recipes.push_back(
      {.name = "twisted-torus",
       .title = "Twisted torus",
       .description = "Torus of two dimensions whose columns close with a shift.",
       .sources = "Standard graph: the integer grid modulo the vectors (width, 0) and (twist, height). "
                  "The default of 25 GB/s belongs to no machine.",
       .rules = {integerRule("width", 8, 3, kMaxNumber, "GPUs along a row"),
                 integerRule("height", 4, 2, kMaxNumber, "rows"),
                 integerRule("twist", 4, 0, kMaxNumber, "shift at the end of a column"), linkBandwidthRule()},
       .generate = twistedTorus});
  recipes.push_back({.name = "twisted-cube",
                     .title = "Twisted cube",
                     .description = "Hypercube of odd dimension with exchanged links and about half its diameter.",
                     .sources =
                         "Hilbers, Koopman and van de Snepscheut, The twisted cube (1987). The default of 25 GB/s "
                         "belongs to no machine.",
                     .rules = {integerRule("dimension", 3, 3, 17, "odd number of bits"), linkBandwidthRule()},
                     .generate = twistedCube});
  recipes.push_back({.name = "distance-regular",
                     .title = "Distance-regular graph",
                     .description = "Incidence graphs of projective and affine planes, generalized quadrangles and "
                                    "hexagons, odd graphs, line graphs of cages and others.",
                     .sources =
                         "Dissertation, Table A.2, and Brouwer, Cohen and Neumaier, Distance-Regular Graphs. The "
                         "default of 25 GB/s belongs to no machine.",
                     .rules = {{.name = "graph",
                                .kind = ValueKind::choice,
                                .defaultText = "pg-2",
                                .description = "which one",
                                .words = distanceRegularNames()},
                               linkBandwidthRule()},
                     .generate = distanceRegular});
  return recipes;
}

}  // namespace coppice::presets
