// SPDX-License-Identifier: Apache-2.0
#include "finder/time_model.hpp"

namespace coppice::finder {

Cost operator+(const Cost& a, const Cost& b) {
  return {a.steps + b.steps, a.bandwidthTime + b.bandwidthTime};
}

ExactMicroseconds timeOf(const Cost& cost, const TimeModel& model, const Rational& bytes) {
  return Rational(cost.steps) * model.alpha + cost.bandwidthTime * transferTime(bytes, model.bandwidth);
}

std::vector<SizeRange> fastestBySize(std::span<const Cost> costs, const TimeModel& model) {
  std::vector<SizeRange> ranges;
  // At size 0 only latency counts; of equals the one that stays ahead.
  std::size_t current = 0;
  for (std::size_t i = 1; i < costs.size(); ++i) {
    const ExactMicroseconds a = Rational(costs[i].steps) * model.alpha;
    const ExactMicroseconds b = Rational(costs[current].steps) * model.alpha;
    if (a < b || (a == b && costs[i].bandwidthTime < costs[current].bandwidthTime)) {
      current = i;
    }
  }
  ranges.push_back({Rational(0), current});
  for (;;) {
    // The line that crosses the current one first has a smaller slope; of several the flattest stays ahead.
    std::optional<std::size_t> next;
    Rational at;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (costs[i].bandwidthTime >= costs[current].bandwidthTime) {
        continue;
      }
      const Rational crossing =
          bytesIn(Rational(costs[i].steps - costs[current].steps) * model.alpha, model.bandwidth) /
          (costs[current].bandwidthTime - costs[i].bandwidthTime);
      if (!next || crossing < at || (crossing == at && costs[i].bandwidthTime < costs[*next].bandwidthTime)) {
        next = i;
        at = crossing;
      }
    }
    if (!next) {
      return ranges;
    }
    ranges.push_back({at, *next});
    current = *next;
  }
}

std::size_t fastestFor(std::span<const Cost> costs, const TimeModel& model, std::span<const WeightedSize> sizes) {
  std::size_t best = 0;
  std::optional<ExactMicroseconds> min;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    ExactMicroseconds sum(0);
    for (const WeightedSize& size : sizes) {
      sum += size.weight * timeOf(costs[i], model, size.bytes);
    }
    if (!min || sum < *min) {
      min = sum;
      best = i;
    }
  }
  return best;
}

}  // namespace coppice::finder
