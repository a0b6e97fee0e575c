// SPDX-License-Identifier: Apache-2.0
#include "finder/finder.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "finder/catalogue.hpp"
#include "finder/paper.hpp"
#include "finder/search.hpp"
#include "topology/expansions.hpp"

namespace coppice::finder {
namespace {

using topology::Digraph;

/// Allgather on the graph, or on its transpose.
Result<Value> valueOf(const Entry& entry, bool isReduceScatter, const Progress& progress) {
  const Construction& construction = *entry.construction;
  if (construction.operation == Operation::kautz) {
    return kautzValue(construction.numbers[0], construction.numbers[1], isReduceScatter, progress);
  }
  const bool isLine = construction.operation == Operation::lineGraph;
  auto graph = build(isLine ? *construction.parts[0] : construction);
  if (!graph) {
    return graph.error();
  }
  const Digraph searched = isReduceScatter ? topology::transposed(*graph) : *std::move(graph);
  ProfileSearch search(searched);
  if (isLine) {
    return lineGraphValue(searched, search.at(0), construction.numbers[0]);
  }
  return entry.isSymmetric ? finder::valueOf(search.at(0)) : valueOfAll(searched, progress);
}

}  // namespace

Outcome check(const Query& query) {
  if (query.nodes < 2) {
    return Error{ErrorCode::badUsage, std::to_string(query.nodes) + " nodes have nothing to send to each other",
                 "give 2 nodes or more", Place{.element = {RefKind::option, "--nodes"}}};
  }
  if (query.degree < 1) {
    return Error{ErrorCode::badUsage, "nodes without ports cannot be cabled", "give a degree of 1 or more",
                 Place{.element = {RefKind::option, "--degree"}}};
  }
  if (query.nodes > topology::kMaxNodes || query.degree > kMaxDegree ||
      query.degree > topology::kMaxArcs / query.nodes) {
    return Error{ErrorCode::limit,
                 std::to_string(query.nodes) + " nodes of degree " + std::to_string(query.degree) +
                     " exceed the range of the search",
                 "give at most " + std::to_string(topology::kMaxNodes) + " nodes, degree " +
                     std::to_string(kMaxDegree) + " and " + std::to_string(topology::kMaxArcs) + " links"};
  }
  if (query.maxSteps && *query.maxSteps < 1) {
    return Error{ErrorCode::badUsage, "a topology has one step or more", "give 1 or more",
                 Place{.element = {RefKind::option, "--max-steps"}}};
  }
  if (query.hasAlltoall && query.isPaper) {
    return Error{ErrorCode::badUsage, "the formulas of the dissertation have no all-to-all",
                 "search among all topologies, or leave the all-to-all out",
                 Place{.element = {RefKind::option, "--goal"}}};
  }
  return Done{};
}

bool isSimpler(const Entry& a, const Entry& b) {
  if (a.isDuplex != b.isDuplex) {
    return a.isDuplex;
  }
  return operationCount(*a.construction) < operationCount(*b.construction);
}

std::vector<Entry> paretoFront(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.steps != b.steps) {
      return a.steps < b.steps;
    }
    return a.bandwidthTime != b.bandwidthTime ? a.bandwidthTime < b.bandwidthTime : isSimpler(a, b);
  });
  std::vector<Entry> front;
  for (Entry& entry : entries) {
    if (front.empty() || entry.bandwidthTime < front.back().bandwidthTime) {
      front.push_back(std::move(entry));
    }
  }
  return front;
}

Finder::Finder() : m_search(std::make_unique<Search>()), m_paper(std::make_unique<Paper>()) {}
Finder::~Finder() = default;

Result<std::vector<Entry>> Finder::front(const Query& query, const Progress& progress,
                                         std::vector<std::string>* notes) {
  if (const Outcome checked = check(query); !checked) {
    return checked.error();
  }
  return guarded(
      [&]() -> Result<std::vector<Entry>> {
        std::vector<Entry> entries = query.isPaper ? m_paper->front(query.nodes, query.degree, progress)
                                                   : m_search->front(query, progress, notes);
        std::erase_if(entries, [&](const Entry& entry) {
          return (query.maxSteps && entry.steps > *query.maxSteps) ||
                 (query.onlyOptimal && !entry.isBandwidthOptimal()) || (query.isDuplex && !entry.isDuplex);
        });
        return entries;
      },
      {.overflowFix = "give fewer nodes",
       .memory = "not enough memory for so large a search",
       .memoryFix = "give fewer nodes",
       .cancelled = "interrupted"});
}

Result<Value> reduceScatterValue(const Entry& entry, const Progress& progress) {
  return valueOf(entry, true, progress);
}

Result<Value> allgatherValue(const Entry& entry, const Progress& progress) {
  return valueOf(entry, false, progress);
}

std::vector<Growth> growths(const Entry& entry) {
  std::vector<Growth> all;
  const auto add = [&](const std::string& by, std::int64_t nodes, std::int64_t degree) {
    if (nodes <= topology::kMaxNodes && degree <= kMaxDegree && degree <= topology::kMaxArcs / nodes) {
      all.push_back({by, nodes, degree});
    }
  };
  constexpr int kShown = 3;
  std::int64_t nodes = entry.nodes;
  for (int k = 1; k <= kShown && entry.degree > 1 && nodes <= topology::kMaxNodes; ++k) {
    nodes *= entry.degree;
    add("line graph", nodes, entry.degree);
  }
  for (int n = 2; n <= kShown; ++n) {
    add("degree expansion", std::int64_t{entry.nodes} * n, std::int64_t{entry.degree} * n);
  }
  add("power", std::int64_t{entry.nodes} * entry.nodes, std::int64_t{entry.degree} * 2);
  return all;
}

}  // namespace coppice::finder
