// SPDX-License-Identifier: Apache-2.0
#include "groups/tree_images.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/checked.hpp"
#include "groups/image.hpp"

namespace coppice::groups {
namespace {

using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;
using schedule::ConcurrentTree;
using std::int64_t;
using Paths = std::vector<std::vector<std::int32_t>>;

/// A tree without its weight; paths ascending.
using Shape = std::tuple<int, int, Paths, Paths>;

class TreeImages {
public:
  TreeImages(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const Optimum& optimum, std::size_t maxTrees,
             const Progress& progress)
      : m_fabric(fabric), m_demand(demand), m_maxTrees(maxTrees), m_progress(progress) {
    const Image same(fabric, {});
    for (std::size_t i = 0; i < demand.groups.size(); ++i) {
      m_groupAt.emplace(keyOf(fabric, demand.groups[i], same), static_cast<int>(i));
    }
    for (const auto& moved : optimum.proof.symmetries) {
      m_images.emplace_back(fabric, moved);
      m_groupOf.emplace_back();
      for (const ConcurrentGroup& group : demand.groups) {
        m_groupOf.back().push_back(m_groupAt.at(keyOf(fabric, group, m_images.back())));
      }
    }
  }

  /// Then images do not tell which of them a tree belongs to.
  [[nodiscard]] bool hasEqualGroups() const { return m_groupAt.size() < m_demand.groups.size(); }
  /// False where there are too many.
  bool add(const ConcurrentTree& tree) {
    std::set<Shape> known;
    std::vector<Shape> open{shapeOf(tree.group, tree.root, tree.outPaths, tree.inPaths)};
    known.insert(open.front());
    while (!open.empty()) {
      throwIfCancelled(m_progress);
      const Shape shape = std::move(open.back());
      open.pop_back();
      for (std::size_t i = 0; i < m_images.size(); ++i) {
        Shape image = imageOf(shape, i);
        if (known.insert(image).second) {
          open.push_back(std::move(image));
        }
      }
      if (m_count + known.size() > m_maxTrees) {
        return false;
      }
    }
    m_count += known.size();
    std::map<int, int64_t> countOf;
    for (const Shape& shape : known) {
      ++countOf[std::get<0>(shape)];
    }
    // All groups of a class have as many.
    m_orbits.push_back({tree.weight, countOf.begin()->second, {known.begin(), known.end()}});
    return true;
  }

  /// Throws OverflowError.
  [[nodiscard]] std::vector<std::vector<ConcurrentTree>> run() const {
    int64_t common = 1;
    for (const Orbit& orbit : m_orbits) {
      common = leastCommonMultiple(common, orbit.ofGroup);
    }
    std::vector<std::vector<ConcurrentTree>> trees(m_demand.groups.size());
    for (const Orbit& orbit : m_orbits) {
      const int64_t weight = checkedMul(orbit.weight, common / orbit.ofGroup);
      for (const auto& [group, root, outPaths, inPaths] : orbit.shapes) {
        trees[group].push_back({group, root, weight, outPaths, inPaths});
      }
    }
    return trees;
  }

private:
  struct Orbit {
    int64_t weight = 1;
    int64_t ofGroup = 1;  ///< images in one group
    std::vector<Shape> shapes;
  };

  [[nodiscard]] static Shape shapeOf(int group, int root, Paths outPaths, Paths inPaths) {
    std::sort(outPaths.begin(), outPaths.end());
    std::sort(inPaths.begin(), inPaths.end());
    return {group, root, std::move(outPaths), std::move(inPaths)};
  }

  [[nodiscard]] Shape imageOf(const Shape& shape, std::size_t image) const {
    const auto& [group, root, outPaths, inPaths] = shape;
    const int to = m_groupOf[image][group];
    const auto moved = [&](Paths paths) {
      for (auto& path : paths) {
        for (std::int32_t& arc : path) {
          arc = m_images[image].arc(arc);
        }
      }
      return paths;
    };
    const fabric::NodeIndex at = m_images[image].node(m_fabric.gpus()[m_demand.groups[group].ranks[root]]);
    const std::vector<fabric::Rank>& ranks = m_demand.groups[to].ranks;
    const auto place = std::find(ranks.begin(), ranks.end(), m_fabric.nodes()[at].rank);
    return shapeOf(to, static_cast<int>(place - ranks.begin()), moved(outPaths), moved(inPaths));
  }

  const fabric::Fabric& m_fabric;
  const ConcurrentDemand& m_demand;
  std::size_t m_maxTrees;
  const Progress& m_progress;
  std::map<GroupKey, int> m_groupAt;
  std::vector<Image> m_images;
  std::vector<std::vector<int>> m_groupOf;  ///< by image, by group: where it goes
  std::vector<Orbit> m_orbits;
  std::size_t m_count = 0;
};

}  // namespace

std::optional<std::vector<std::vector<ConcurrentTree>>> treesWithImages(const fabric::Fabric& fabric,
                                                                        const ConcurrentDemand& demand,
                                                                        const Optimum& optimum, std::size_t maxTrees,
                                                                        const Progress& progress) {
  try {
    TreeImages images(fabric, demand, optimum, maxTrees, progress);
    for (const ConcurrentTree& tree : optimum.proof.trees) {
      if (images.hasEqualGroups() || !images.add(tree)) {
        return std::nullopt;
      }
    }
    return images.run();
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace coppice::groups
