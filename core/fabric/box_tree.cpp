// SPDX-License-Identifier: Apache-2.0
#include "fabric/box_tree.hpp"

#include <map>
#include <unordered_map>

namespace coppice::fabric {
namespace {

/// Calls use(path) for the box and the boxes around it, outermost first.
template <typename Use>
void forEachAround(std::string_view innermost, Use&& use) {
  std::size_t end = innermost.empty() ? std::string_view::npos : 0;
  while (end != std::string_view::npos) {
    end = innermost.find('/', end == 0 ? 0 : end + 1);
    use(innermost.substr(0, end));
  }
}

}  // namespace

BoxTree::BoxTree(std::span<const std::string_view> boxOfNode) {
  std::unordered_map<std::string_view, int> chains;
  std::vector<std::string_view> innermost;
  std::map<std::string_view, int> boxes;
  m_chainOf.reserve(boxOfNode.size());
  for (const std::string_view box : boxOfNode) {
    const auto [chain, isNew] = chains.try_emplace(box, static_cast<int>(innermost.size()));
    if (isNew) {
      innermost.push_back(box);
      forEachAround(box, [&](std::string_view path) { boxes.try_emplace(path, 0); });
    }
    m_chainOf.push_back(chain->second);
  }
  for (auto& [path, number] : boxes) {
    number = static_cast<int>(m_paths.size());
    m_paths.emplace_back(path);
  }
  m_chains.resize(innermost.size());
  for (std::size_t i = 0; i < innermost.size(); ++i) {
    forEachAround(innermost[i], [&](std::string_view path) { m_chains[i].push_back(boxes.at(path)); });
  }
}

}  // namespace coppice::fabric
