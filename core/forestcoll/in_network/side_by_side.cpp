// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/side_by_side.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.hpp"

namespace coppice::forestcoll {

GrownTree inFabric(const GrownTree& tree, const NodeOf& nodeOf) {
  GrownTree mapped;
  for (const GrownTree::Edge& edge : tree.edges) {
    std::vector<fabric::NodeIndex> path;
    for (std::size_t i = 0; i < edge.path.size(); ++i) {
      const int beside = edge.path[i == 0 ? 1 : i - 1];
      if (const int node = nodeOf(edge.path[i], beside); node >= 0) {
        path.push_back(node);
      }
    }
    mapped.edges.push_back({path.front(), path.back(), path});
  }
  return mapped;
}

std::vector<TreePiece> sequenceOf(const TreePacking& packing, const Rational& rate, const NodeOf& nodeOf) {
  std::vector<TreePiece> sequence;
  Rational end;
  for (const TreePacking::Part& part : packing.parts) {
    end += packing.unit.gigabytesPerSecond() * Rational(part.count);
    sequence.push_back({inFabric(part.tree, nodeOf), std::min(end, rate)});
    if (end >= rate) {
      break;
    }
  }
  return sequence;
}

std::vector<TreePiece> roundedSequence(const TreePacking& packing, std::int64_t length, const NodeOf& nodeOf) {
  std::vector<TreePiece> pieces;
  const double all = toGBps(packing.algbw());
  double sum = 0;
  for (const TreePacking::Part& part : packing.parts) {
    sum += toGBps(packing.unit) * static_cast<double>(part.count) / all;
    const Rational end(std::min(length, static_cast<std::int64_t>(std::llround(sum * static_cast<double>(length)))));
    if (pieces.empty() ? end.isPositive() : end > pieces.back().end) {
      pieces.push_back({inFabric(part.tree, nodeOf), end});
    }
  }
  pieces.back().end = Rational(length);
  return pieces;
}

void addSideBySide(const std::vector<std::vector<TreePiece>>& sequences, int root, const Rational& rate,
                   const Progress& progress, WholeTrees& trees) {
  std::vector<std::size_t> place(sequences.size(), 0);
  for (Rational from; from < rate;) {
    throwIfCancelled(progress);
    Rational to = rate;
    for (std::size_t part = 0; part < sequences.size(); ++part) {
      to = std::min(to, sequences[part][place[part]].end);
    }
    GrownTree whole;
    whole.root = root;
    for (std::size_t part = 0; part < sequences.size(); ++part) {
      const TreePiece& piece = sequences[part][place[part]];
      whole.edges.insert(whole.edges.end(), piece.tree.edges.begin(), piece.tree.edges.end());
      place[part] += piece.end == to ? 1 : 0;
    }
    trees.emplace_back(std::move(whole), to - from);
    from = to;
  }
}

std::optional<TreePacking> packingOf(WholeTrees trees) {
  std::int64_t denominator = 1;
  for (const auto& [tree, rate] : trees) {
    denominator = leastCommonMultiple(denominator, rate.denominator());
  }
  std::int64_t divisor = 0;
  std::vector<std::int64_t> counts;
  for (const auto& [tree, rate] : trees) {
    counts.push_back(checkedMul(rate.numerator(), denominator / rate.denominator()));
    divisor = std::gcd(divisor, counts.back());
  }
  if (divisor == 0) {
    return std::nullopt;
  }
  TreePacking packing{.unit = Bandwidth(divisor, denominator)};
  for (std::size_t i = 0; i < trees.size(); ++i) {
    packing.parts.push_back({std::move(trees[i].first), counts[i] / divisor});
  }
  return packing;
}

}  // namespace coppice::forestcoll
