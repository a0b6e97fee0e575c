// SPDX-License-Identifier: Apache-2.0
#include "symmetry/free_group.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "symmetry/groups.hpp"

namespace coppice::symmetry {
namespace {

/// Random products that are looked at, and images of nodes in them.
constexpr int kMaxProducts = 3000;
constexpr std::int64_t kMaxImages = std::int64_t{1} << 24;
/// Free symmetries that are kept to build groups from, and how many of these a group is begun with for each group that
/// is wanted.
constexpr std::size_t kMaxCandidates = 200;
constexpr std::size_t kStartsOfGroup = 8;

/// A free symmetry, and how often it must be applied to become the identity.
struct Candidate {
  Permutation image;
  int order = 1;
};

/// The power of the symmetry that takes all points round cycles of one length, the longest such length.
std::optional<Candidate> freePower(const Permutation& image, std::span<const int> points) {
  const std::vector<int> lengths = cycleLengths(image, points);
  const std::int64_t all = commonMultiple(lengths).value_or(0);
  if (all == 0) {
    return std::nullopt;
  }
  for (int order = lengths.front(); order > 1; --order) {
    const bool isFree = std::all_of(lengths.begin(), lengths.end(), [&](int length) {
      return all % order == 0 && length / std::gcd(std::int64_t{length}, all / order) == order;
    });
    if (isFree) {
      return Candidate{power(image, all / order), order};
    }
  }
  return std::nullopt;
}

bool isFree(std::span<const Permutation> elements, std::span<const int> points) {
  return std::all_of(elements.begin() + 1, elements.end(), [&](const Permutation& element) {
    return std::none_of(points.begin(), points.end(), [&](int point) { return element[point] == point; });
  });
}

std::vector<Candidate> candidatesOf(std::span<const Permutation> symmetries, std::span<const int> points,
                                    std::size_t max, const Progress& progress) {
  std::vector<Candidate> candidates;
  std::size_t regular = 0;
  const auto add = [&](const Permutation& image) {
    if (auto found = freePower(image, points)) {
      const bool isNew = std::none_of(candidates.begin(), candidates.end(),
                                      [&](const Candidate& each) { return each.image == found->image; });
      if (isNew) {
        regular += found->order == static_cast<int>(points.size()) ? 1 : 0;
        candidates.push_back(*std::move(found));
      }
    }
  };
  // Product replacement (Celler et al., Generating random elements of a finite group, Comm. Algebra 23, 1995). A fixed
  // seed, and numbers that are the same everywhere.
  std::vector<Permutation> pool(symmetries.begin(), symmetries.end());
  for (std::size_t i = 0; pool.size() < 10; ++i) {
    pool.push_back(symmetries[i % symmetries.size()]);
  }
  Permutation product = pool.front();
  std::minstd_rand random(1);
  const auto pick = [&] { return static_cast<std::size_t>(random()) % pool.size(); };
  const auto nodes = static_cast<std::int64_t>(product.size());
  for (int i = 0; i < kMaxProducts && (i + 1) * nodes < kMaxImages && candidates.size() < kMaxCandidates; ++i) {
    throwIfCancelled(progress);
    const std::size_t changed = pick();
    const std::size_t other = pick();
    if (changed != other) {
      pool[changed] = composed(pool[changed], pool[other]);
    }
    product = composed(product, pool[changed]);
    add(product);
    if (regular >= max) {
      break;
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.order > b.order; });
  return candidates;
}

}  // namespace

std::vector<std::vector<Permutation>> freeGroups(std::span<const Permutation> symmetries, std::span<const int> points,
                                                 std::size_t max, const Progress& progress) {
  if (symmetries.empty() || points.empty()) {
    return {};
  }
  struct Group {
    std::vector<Permutation> generators;
    std::vector<Permutation> elements;  // sorted
  };
  const std::vector<Candidate> candidates = candidatesOf(symmetries, points, max, progress);
  std::vector<Group> groups;
  std::size_t regular = 0;
  for (std::size_t start = 0; start < std::min(kStartsOfGroup * max, candidates.size()) && regular < max; ++start) {
    Group group;
    for (std::size_t i = start; i < candidates.size() && group.elements.size() < points.size(); ++i) {
      throwIfCancelled(progress);
      group.generators.push_back(candidates[i].image);
      auto elements = closure(group.generators, points.size());
      if (elements && elements->size() > group.elements.size() && isFree(*elements, points)) {
        group.elements = *std::move(elements);
      } else {
        group.generators.pop_back();
      }
    }
    std::sort(group.elements.begin(), group.elements.end());
    const bool isNew =
        std::none_of(groups.begin(), groups.end(), [&](const Group& each) { return each.elements == group.elements; });
    if (!group.elements.empty() && isNew) {
      regular += group.elements.size() == points.size() ? 1 : 0;
      groups.push_back(std::move(group));
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.elements.size() > b.elements.size(); });
  std::vector<std::vector<Permutation>> found;
  for (std::size_t i = 0; i < std::min(max, groups.size()); ++i) {
    found.push_back(std::move(groups[i].generators));
  }
  return found;
}

}  // namespace coppice::symmetry
