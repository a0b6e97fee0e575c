// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/rational.hpp"
#include "finder/sampler.hpp"
#include "finder/values.hpp"

/// Searches what resources/finder/catalogue.txt holds; resources/scripts/finder_catalogue.sh runs it.
///   coppice-finder-catalogue draws DEGREE one-way|duplex N_MAX DRAWS
///   coppice-finder-catalogue kautz DEGREE N_MAX
namespace coppice::finder {
namespace {

struct Found {
  Rational time;
  Rational second;  ///< of equal times the smaller one wins
  std::uint32_t seed = 0;
};

/// By steps.
using Best = std::map<int, Found>;

/// Small graphs are cheap and few draws are good, so they get more.
std::uint32_t drawCount(int nodes, std::uint32_t draws) {
  constexpr int kSmall = 256;
  constexpr std::uint32_t kMore = 8;
  return nodes <= kSmall ? draws * kMore : draws;
}

bool isDominated(const Best& best, int steps, const Rational& time) {
  return std::any_of(best.begin(), best.end(), [&](const auto& entry) {
    return entry.first <= steps && (entry.first < steps ? entry.second.time <= time : entry.second.time < time);
  });
}

void keep(Best& best, int steps, const Found& found) {
  const auto known = best.find(steps);
  if (known == best.end() || found.time < known->second.time || found.second < known->second.second) {
    best[steps] = found;
  }
}

Rational reduceScatterTime(const CayleyDraw& draw, int nodes, int degree) {
  CayleySearch search;
  search.run(reversed(draw));
  return search.value().bandwidthTime(nodes, degree);
}

Rational lineTime(const CayleyDraw& draw, int nodes, int degree) {
  const auto graph = topology::cayley(draw.group, draw.generators);
  ProfileSearch search(*graph);
  return lineGraphValue(*graph, search.at(0), 1).bandwidthTime(std::int64_t{nodes} * degree, degree);
}

/// Of each number of steps the draws of minimum T_B: one whose reduce_scatter is best, and one whose line graph is.
std::string searchDraws(int nodes, int degree, bool isDuplex, std::uint32_t draws, int lastNodes) {
  Sampler sampler(nodes);
  CayleySearch search;
  Best best;
  Best lines;
  const Rational optimal(nodes - 1, nodes);
  for (std::uint32_t seed = 0; seed < drawCount(nodes, draws); ++seed) {
    const auto draw = sampler.draw(degree, isDuplex, seed);
    if (!draw || !search.run(*draw) || isDominated(best, search.steps(), optimal)) {
      continue;
    }
    const int steps = search.steps();
    const Rational time = search.value().bandwidthTime(nodes, degree);
    if (isDominated(best, steps, time)) {
      continue;
    }
    keep(best, steps, {time, reduceScatterTime(*draw, nodes, degree), seed});
    if (!isDuplex && nodes <= lastNodes / degree) {
      keep(lines, steps, {time, lineTime(*draw, nodes, degree), seed});
    }
  }
  std::vector<std::uint32_t> seeds;
  for (const Best* found : {&best, &lines}) {
    for (const auto& [steps, entry] : *found) {
      if (!isDominated(best, steps, entry.time) && std::find(seeds.begin(), seeds.end(), entry.seed) == seeds.end()) {
        seeds.push_back(entry.seed);
      }
    }
  }
  std::string text;
  for (const std::uint32_t seed : seeds) {
    text += (text.empty() ? "" : ",") + std::to_string(seed);
  }
  return text;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 5 && arguments[0] == "draws") {
    const int degree = std::atoi(arguments[1].c_str());
    for (int nodes = degree + 1; nodes <= std::atoi(arguments[3].c_str()); ++nodes) {
      const std::string seeds =
          searchDraws(nodes, degree, arguments[2] == "duplex",
                      static_cast<std::uint32_t>(std::atoi(arguments[4].c_str())), std::atoi(arguments[3].c_str()));
      if (!seeds.empty()) {
        std::printf("%d:%s\n", nodes, seeds.c_str());
      }
    }
    return 0;
  }
  if (arguments.size() == 3 && arguments[0] == "kautz") {
    const int degree = std::atoi(arguments[1].c_str());
    for (int nodes = degree + 1; nodes <= std::atoi(arguments[2].c_str()); ++nodes) {
      const Value value = kautzValue(degree, nodes, false);
      Rational sum;
      for (const Rational& load : value.stepLoads) {
        sum += load;
      }
      std::printf("%d:%d:%s\n", nodes, value.steps(), sum.toString().c_str());
    }
    return 0;
  }
  std::fputs("usage: coppice-finder-catalogue draws DEGREE one-way|duplex N_MAX DRAWS | kautz DEGREE N_MAX\n", stderr);
  return 2;
}

}  // namespace
}  // namespace coppice::finder

int main(int argc, char** argv) {
  return coppice::finder::run(std::vector<std::string>(argv + 1, argv + argc));
}
