// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/layout/distance_layers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "designer/document/measures.hpp"

namespace coppice::designer {
namespace {

/// Who gets data from the node over one link; invalid where the link only leads into it.
NodeId headFrom(const Link& link, NodeId node) {
  if (link.tail.node == node) {
    return link.head.node;
  }
  return link.duplex ? link.tail.node : NodeId{};
}

/// A switch by its ports: what it spans now says nothing of what it will.
QSizeF sizeOf(const Model& model, NodeId id) {
  const QSizeF size = nodeSize(model, id);
  return model.find(id)->kind() == fabric::NodeKind::switchNode ? QSizeF(portsWidth(model, id), size.height()) : size;
}

}  // namespace

std::map<NodeId, int> distancesFrom(const Model& model, const std::vector<NodeId>& ids,
                                    const std::set<NodeId>& sources) {
  std::map<NodeId, int> distances;
  for (const NodeId id : ids) {
    distances.emplace(id, -1);
  }
  std::vector<NodeId> queue;
  for (const NodeId source : sources) {
    if (const auto found = distances.find(source); found != distances.end()) {
      found->second = 0;
      queue.push_back(source);
    }
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const int next = distances.at(queue[at]) + 1;
    for (const LinkId id : model.linksOf(queue[at])) {
      const auto found = distances.find(headFrom(*model.find(id), queue[at]));
      if (found != distances.end() && found->second < 0) {
        found->second = next;
        queue.push_back(found->first);
      }
    }
  }
  return distances;
}

std::map<NodeId, Point> layersByDistance(const Model& model, const std::vector<NodeId>& ids,
                                         const std::set<NodeId>& sources, const Progress& progress) {
  const std::map<NodeId, int> distances = distancesFrom(model, ids, sources);
  int last = 0;
  for (const auto& [id, distance] : distances) {
    last = std::max(last, distance);
  }
  std::vector<std::vector<NodeId>> rows(static_cast<std::size_t>(last) + 2);
  for (const NodeId id : ids) {
    const int distance = distances.at(id);
    rows[distance < 0 ? last + 1 : distance].push_back(id);
  }
  std::map<NodeId, Point> places;
  double y = 0;
  for (std::vector<NodeId>& row : rows) {
    throwIfCancelled(progress);
    // The mean place of the neighbours that have one, which all are above.
    std::vector<std::pair<double, NodeId>> order;
    double width = 0;
    double height = 0;
    constexpr double kGap = 44;
    for (const NodeId id : row) {
      double sum = 0;
      int count = 0;
      for (const LinkId link : model.linksOf(id)) {
        const Link& each = *model.find(link);
        if (const auto found = places.find(each.tail.node == id ? each.head.node : each.tail.node);
            found != places.end()) {
          sum += found->second.x;
          ++count;
        }
      }
      order.emplace_back(count > 0 ? sum / count : 0, id);
      const QSizeF size = sizeOf(model, id);
      width += size.width() + kGap;
      height = std::max(height, size.height());
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    double x = -(width - kGap) / 2;
    std::map<NodeId, Point> placed;
    for (const auto& [wanted, id] : order) {
      const double own = sizeOf(model, id).width();
      placed[id] = {std::round(x + own / 2), std::round(y + height / 2)};
      x += own + kGap;
    }
    places.merge(placed);
    // Wide rows need flatter links.
    constexpr double kDrop = 90;
    constexpr double kFlat = 0.08;
    y += row.empty() ? 0 : height + kDrop + kFlat * width;
  }
  return places;
}

}  // namespace coppice::designer
