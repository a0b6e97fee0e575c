// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "bfb/bfb.hpp"
#include "bfb/survey.hpp"

namespace coppice::bfb {
namespace {

using std::int64_t;

std::optional<Error> faultOf(const Digraph& digraph, const LoadOptions& options) {
  if (digraph.nodeCount < 2) {
    return Error{ErrorCode::badUsage, "A collective needs at least two nodes", "add nodes"};
  }
  if (options.onlyTarget && (*options.onlyTarget < 0 || *options.onlyTarget >= digraph.nodeCount)) {
    return Error{ErrorCode::badUsage, "There is no node " + std::to_string(*options.onlyTarget)};
  }
  for (std::size_t i = 0; i < digraph.links.size(); ++i) {
    const Link& link = digraph.links[i];
    const ElementRef name{RefKind::link, i};
    if (std::min(link.tail, link.head) < 0 || std::max(link.tail, link.head) >= digraph.nodeCount) {
      return Error{
          ErrorCode::badUsage, "It ends at a node that does not exist", "number nodes from 0", {.element = name}};
    }
    if (link.width < 1) {
      return Error{
          ErrorCode::badUsage, "Its width is " + std::to_string(link.width), "leave the link out", {.element = name}};
    }
  }
  return std::nullopt;
}

}  // namespace

int64_t Digraph::degree() const {
  std::vector<int64_t> in(nodeCount, 0);
  std::vector<int64_t> out(nodeCount, 0);
  for (const Link& link : links) {
    in[link.head] = checkedAdd(in[link.head], link.width);
    out[link.tail] = checkedAdd(out[link.tail], link.width);
  }
  const auto largest = [](const std::vector<int64_t>& sums) {
    return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
  };
  return std::max(largest(in), largest(out));
}

Rational Loads::bandwidthTime() const {
  return std::accumulate(stepLoads.begin(), stepLoads.end(), Rational()) * Rational(degree, nodeCount);
}

bool Loads::isBandwidthOptimal() const {
  return bandwidthTime() == Rational(nodeCount - 1, nodeCount);
}

int64_t Loads::denominator() const {
  int64_t common = 1;
  for (const Rational& load : stepLoads) {
    common = leastCommonMultiple(common, load.denominator());
  }
  return common;
}

Result<Loads> loads(const Digraph& digraph, const LoadOptions& options, const Progress& progress) {
  if (auto fault = faultOf(digraph, options)) {
    return *std::move(fault);
  }
  return guarded(
      [&]() -> Result<Loads> {
        const int first = options.onlyTarget.value_or(0);
        const int last = options.onlyTarget ? first + 1 : digraph.nodeCount;
        auto found = survey(Deliveries(digraph, std::nullopt), first, last, progress);
        if (!found) {
          return found.error();
        }
        for (int64_t& pairs : found->pairs) {
          pairs *= digraph.nodeCount / (last - first);
        }
        return Loads{digraph.nodeCount, digraph.degree(), std::move(found->stepLoads), std::move(found->tight),
                     std::move(found->pairs)};
      },
      {.overflow = "The loads leave the 64-bit range", .overflowFix = "use link widths with fewer digits"});
}

Digraph transposed(const Digraph& digraph) {
  Digraph turned = digraph;
  for (Link& link : turned.links) {
    std::swap(link.tail, link.head);
  }
  return turned;
}

}  // namespace coppice::bfb
