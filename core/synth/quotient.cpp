// SPDX-License-Identifier: Apache-2.0
#include "synth/quotient.hpp"

#include <algorithm>
#include <numeric>

#include "base/disjoint_sets.hpp"

namespace coppice::synth {

std::int64_t roundsFor(const Rational& rate, std::int64_t load) {
  return -(-(Rational(load) / rate)).floor();
}

std::vector<std::int64_t> wholeRounds(const std::vector<double>& wished, std::int64_t total) {
  const int steps = static_cast<int>(wished.size());
  double sum = 0;
  for (const double each : wished) {
    sum += each;
  }
  std::vector<std::int64_t> rounds(steps, 1);
  std::vector<double> exact(steps);
  for (int step = 0; step < steps; ++step) {
    exact[step] = sum > 0 ? wished[step] * static_cast<double>(total) / sum : static_cast<double>(total) / steps;
    rounds[step] = std::max<std::int64_t>(1, static_cast<std::int64_t>(exact[step]));
  }
  while (std::accumulate(rounds.begin(), rounds.end(), std::int64_t{0}) != total) {
    const bool isShort = std::accumulate(rounds.begin(), rounds.end(), std::int64_t{0}) < total;
    int chosen = -1;
    for (int step = 0; step < steps; ++step) {
      if (!isShort && rounds[step] == 1) {
        continue;
      }
      const auto lack = [&](int at) { return exact[at] - static_cast<double>(rounds[at]); };
      if (chosen < 0 || (isShort ? lack(step) > lack(chosen) : lack(step) < lack(chosen))) {
        chosen = step;
      }
    }
    if (chosen < 0) {
      break;  // fewer rounds than steps
    }
    rounds[chosen] += isShort ? 1 : -1;
  }
  return rounds;
}

Quotient::Quotient(const Problem& whole, std::span<const Symmetry> symmetries) : problem(&whole), group(symmetries) {
  const Topology& topology = whole.topology;
  for (int c = 0; c < static_cast<int>(whole.classes.size()); ++c) {
    if (std::all_of(group.begin(), group.end(), [c](const Symmetry& each) { return each.chunkClass[c] >= c; })) {
      classes.push_back(c);
    }
  }
  const auto limits = static_cast<int>(topology.limits.size());
  DisjointSets joined(limits);
  for (const Symmetry& each : group) {
    for (int limit = 0; limit < limits; ++limit) {
      joined.join(limit, each.limit[limit]);
    }
  }
  std::vector<int> numberOf(limits, -1);
  std::vector<int> orbitOf;
  for (int limit = 0; limit < limits; ++limit) {
    int& number = numberOf[joined.find(limit)];
    if (number < 0) {
      number = orbits();
      min.push_back(limit);
      size.push_back(0);
    }
    orbitOf.push_back(number);
    ++size[number];
  }
  for (const std::int64_t each : size) {
    weight.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(group.size())) / each);
  }
  orbitsOf.resize(topology.arcs.size());
  for (std::size_t arc = 0; arc < orbitsOf.size(); ++arc) {
    for (const int limit : topology.limitsOf[arc]) {
      orbitsOf[arc].push_back(orbitOf[limit]);
    }
  }
}

Steps Quotient::expanded(std::int64_t n, int steps, std::span<const Send> sends) const {
  const Topology& topology = problem->topology;
  Steps result{std::vector<std::int64_t>(steps, 1), {}};
  for (const Send& send : sends) {
    const int c = classes[send.chunk / n];
    const auto add = [&](int ofClass, int arc) {
      result.sends.push_back({static_cast<int>(ofClass * n + send.chunk % n), arc, send.step});
    };
    if (group.empty()) {
      add(c, send.arc);
    }
    for (const Symmetry& each : group) {
      add(each.chunkClass[c], each.arc[send.arc]);
    }
  }
  prune(*problem, n, result);
  std::vector<std::vector<std::int64_t>> loads(steps, std::vector<std::int64_t>(topology.limits.size(), 0));
  for (const Send& send : result.sends) {
    for (const int limit : topology.limitsOf[send.arc]) {
      ++loads[send.step][limit];
    }
  }
  for (int step = 0; step < steps; ++step) {
    for (std::size_t limit = 0; limit < loads[step].size(); ++limit) {
      result.rounds[step] =
          std::max(result.rounds[step], roundsFor(topology.limits[limit].perRound, loads[step][limit]));
    }
  }
  return result;
}

}  // namespace coppice::synth
