// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/arrangement.hpp"

#include <QRectF>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/natural_order.hpp"
#include "base/units.hpp"
#include "designer/document/arrangement_blocks.hpp"
#include "designer/document/arrangement_parts.hpp"
#include "designer/document/measures.hpp"

namespace coppice::designer {
namespace arrangement {
namespace {

constexpr double kGpu = 56;
constexpr double kNic = 28;
constexpr double kBarHeight = 40;

}  // namespace

double Graph::width(int vertex) const {
  const Vertex& v = vertices[vertex];
  return v.kind == Kind::gpu ? kGpu : v.kind == Kind::nic ? kNic : v.barWidth;
}

double Graph::height(int vertex) const {
  const Vertex& v = vertices[vertex];
  return v.kind == Kind::gpu ? kGpu : v.kind == Kind::nic ? kNic : kBarHeight;
}

Graph graphOf(const Model& model, const std::vector<NodeId>& ids) {
  struct Key {
    int rank;
    const std::string* name;
    NodeId id;
  };
  std::vector<Key> order;
  order.reserve(ids.size());
  std::set<NodeId> known;
  for (const NodeId id : ids) {
    if (const Node* node = model.find(id); node != nullptr && known.insert(id).second) {
      order.push_back({node->facts.rank.value_or(std::numeric_limits<int>::max()), &node->facts.name, id});
    }
  }
  std::sort(order.begin(), order.end(), [](const Key& a, const Key& b) {
    if (a.rank != b.rank) {
      return a.rank < b.rank;
    }
    if (*a.name != *b.name) {
      return naturalLess(*a.name, *b.name);
    }
    return a.id < b.id;
  });
  Graph graph;
  std::unordered_map<NodeId, int> at;
  for (const Key& key : order) {
    const Node& node = *model.find(key.id);
    Graph::Vertex vertex;
    vertex.id = key.id;
    const auto kind = node.kind();
    vertex.kind = kind == fabric::NodeKind::nic          ? Kind::nic
                  : kind == fabric::NodeKind::switchNode ? Kind::bar
                                                         : Kind::gpu;
    vertex.box = node.facts.box;
    vertex.barWidth = vertex.kind == Kind::bar ? portsWidth(model, key.id) : 0;
    at[key.id] = static_cast<int>(graph.vertices.size());
    graph.vertices.push_back(std::move(vertex));
  }
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    Graph::Vertex& vertex = graph.vertices[i];
    std::map<int, Graph::Edge> edges;
    for (const LinkId id : model.linksOf(vertex.id)) {
      const Link& link = *model.find(id);
      const NodeId other = link.tail.node == vertex.id ? link.head.node : link.tail.node;
      const auto found = at.find(other);
      if (found == at.end()) {
        vertex.isLinkedOut = vertex.isLinkedOut || model.find(other) != nullptr;
        continue;
      }
      if (found->second == static_cast<int>(i)) {
        continue;
      }
      Graph::Edge& edge = edges[found->second];
      edge.to = found->second;
      const auto bandwidth = Bandwidth::parse(link.bandwidth);
      edge.bandwidth += bandwidth ? toGBps(*bandwidth) * link.count : 0;
    }
    for (const auto& [to, edge] : edges) {
      vertex.edges.push_back(edge);
    }
  }
  return graph;
}

void Block::add(const Block& other, const QPointF& at) {
  for (const auto& [vertex, place] : other.places) {
    places.emplace_back(vertex, place + at);
  }
  width = std::max(width, at.x() + other.width);
  height = std::max(height, at.y() + other.height);
}

void Block::flip() {
  for (auto& [vertex, place] : places) {
    place.setY(height - place.y());
  }
}

void Block::pad(double horizontal, double vertical) {
  for (auto& [vertex, place] : places) {
    place += QPointF(horizontal, vertical);
  }
  width += 2 * horizontal;
  height += 2 * vertical;
}

Block blockOf(const Graph& graph, int vertex) {
  Block block;
  block.width = graph.width(vertex);
  block.height = graph.height(vertex);
  block.places.emplace_back(vertex, QPointF(block.width / 2, block.height / 2));
  return block;
}

std::vector<double> spreadOut(const std::vector<double>& wanted, const std::vector<double>& widths, double gap) {
  // Relative to where each would be if all stood side by side, the wanted places must not fall.
  struct Pool {
    double sum = 0;
    std::size_t count = 0;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<double> offsets(wanted.size(), 0);
  for (std::size_t i = 1; i < wanted.size(); ++i) {
    offsets[i] = offsets[i - 1] + (widths[i - 1] + widths[i]) / 2 + gap;
  }
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    pools.push_back({wanted[i] - offsets[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() >= pools.back().mean()) {
      pools[pools.size() - 2].sum += pools.back().sum;
      pools[pools.size() - 2].count += pools.back().count;
      pools.pop_back();
    }
  }
  std::vector<double> result;
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.count; ++i) {
      result.push_back(pool.mean() + offsets[result.size()]);
    }
  }
  return result;
}

}  // namespace arrangement

namespace {

using arrangement::Block;
using arrangement::Graph;
using arrangement::Kind;

constexpr double kClear = 200;  // between what is new and what is placed already

std::map<NodeId, Point> toPlaces(const Graph& graph, const Block& block) {
  std::map<NodeId, Point> result;
  for (const auto& [vertex, place] : block.places) {
    // Whole units keep files short; halves stay, as columns are that far apart.
    result[graph.vertices[vertex].id] = {std::round(place.x() * 2) / 2, std::round(place.y() * 2) / 2};
  }
  return result;
}

/// Outermost boxes with their contents as the tiers place them, and nodes in none, in their natural order.
std::vector<Block> outermost(const Model& model, const Graph& graph, const Progress& progress) {
  std::vector<Block> blocks;
  std::map<BoxId, std::size_t> seen;
  arrangement::Tiers tiers(model, graph, progress);
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    BoxId box = graph.vertices[i].box;
    for (const Box* at = model.find(box); at != nullptr && at->parent.isValid(); at = model.find(box)) {
      box = at->parent;
    }
    if (!box.isValid()) {
      blocks.push_back(arrangement::blockOf(graph, static_cast<int>(i)));
    } else if (seen.try_emplace(box, blocks.size()).second) {
      blocks.push_back(tiers.inside(box));
      blocks.back().pad(28, 42);
    }
  }
  return blocks;
}

Block onCircle(const std::vector<Block>& blocks) {
  double largest = 0;
  for (const Block& block : blocks) {
    largest = std::max(largest, std::hypot(block.width, block.height));
  }
  const auto count = static_cast<double>(blocks.size());
  const double radius =
      blocks.size() < 2 ? 0 : (largest + 40) / (2 * std::sin(std::numbers::pi / std::max(2.0, count)));
  Block result;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / count;
    const QPointF centre(radius + largest / 2 + radius * std::sin(angle),
                         radius + largest / 2 - radius * std::cos(angle));
    Block block = blocks[i];
    if (centre.y() < radius + largest / 2 - 1 && block.places.size() > 1) {
      block.flip();
    }
    result.add(block, centre - QPointF(block.width / 2, block.height / 2));
  }
  return result;
}

Block onGrid(const Graph& graph, const std::vector<Block>& blocks) {
  std::vector<Block> relays;
  std::vector<Block> rest;
  for (const Block& block : blocks) {
    const bool isRelay = block.places.size() == 1 && graph.vertices[block.places.front().first].kind != Kind::gpu;
    (isRelay ? relays : rest).push_back(block);
  }
  Block result;
  double y = 0;
  for (const std::vector<Block>* part : {&relays, &rest}) {
    if (part->empty()) {
      continue;
    }
    double width = 0;
    double height = 0;
    for (const Block& block : *part) {
      width = std::max(width, block.width);
      height = std::max(height, block.height);
    }
    const double cellX = width + 44;
    const double cellY = height + 44;
    const auto columns = static_cast<std::size_t>(
        std::max(1.0, std::ceil(std::sqrt(static_cast<double>(part->size()) * 1.4 * cellY / cellX))));
    for (std::size_t i = 0; i < part->size(); ++i) {
      const Block& block = (*part)[i];
      result.add(block, {cellX * static_cast<double>(i % columns) + (width - block.width) / 2,
                         y + cellY * static_cast<double>(i / columns) + (height - block.height) / 2});
    }
    y = result.height + 120;
  }
  return result;
}

/// Boxes under each other with their GPUs in columns; a free relay is above the column it serves.
Block onRails(const Model& model, const Graph& graph, const Progress& progress) {
  std::vector<Block> boxes;
  std::vector<int> relays;
  for (Block& block : outermost(model, graph, progress)) {
    const int first = block.places.front().first;
    if (block.places.size() == 1 && !graph.vertices[first].box.isValid() && graph.vertices[first].kind != Kind::gpu) {
      relays.push_back(first);
    } else {
      boxes.push_back(std::move(block));
    }
  }
  Block result;
  double y = 0;
  for (const Block& box : boxes) {
    result.add(box, {0, y});
    y = result.height + 100;
  }
  std::map<int, QPointF> placed(result.places.begin(), result.places.end());
  std::vector<std::pair<double, int>> order;
  std::vector<int> above;
  for (const int relay : relays) {
    double sum = 0;
    double count = 0;
    for (const Graph::Edge& edge : graph.vertices[relay].edges) {
      if (const auto found = placed.find(edge.to); found != placed.end()) {
        sum += found->second.x();
        ++count;
      }
    }
    if (count > 0) {
      order.emplace_back(sum / count, relay);
    } else {
      above.push_back(relay);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  double top = -140;
  for (int row = 0; row < 2; ++row) {
    std::vector<double> wanted;
    std::vector<double> widths;
    std::vector<int> members;
    for (const auto& [x, relay] : order) {
      wanted.push_back(row == 0 ? x : result.width / 2);
      widths.push_back(graph.width(relay));
      members.push_back(relay);
    }
    const std::vector<double> x = arrangement::spreadOut(wanted, widths, 32);
    for (std::size_t i = 0; i < x.size(); ++i) {
      result.places.emplace_back(members[i], QPointF(x[i], top));
    }
    order.clear();
    for (const int relay : above) {
      order.emplace_back(0, relay);
    }
    above.clear();
    top -= 140;
  }
  return result;
}

QRectF extentOf(const Model& model, const std::map<NodeId, Point>& places) {
  QRectF rect;
  for (const auto& [id, place] : places) {
    const QSizeF size = nodeSize(model, id);
    rect |= QRectF(place.toPointF() - QPointF(size.width() / 2, size.height() / 2), size);
  }
  return rect;
}

void shift(std::map<NodeId, Point>& places, const QPointF& by) {
  for (auto& [id, place] : places) {
    place = {place.x + by.x(), place.y + by.y()};
  }
}

}  // namespace

std::map<NodeId, Point> arranged(const Model& model, const std::vector<NodeId>& ids, ArrangementStyle style,
                                 const Progress& progress) {
  const Graph graph = arrangement::graphOf(model, ids);
  if (graph.vertices.empty()) {
    return {};
  }
  progress.report("arranging", 0.2);
  switch (style) {
    case ArrangementStyle::tiered:
      return toPlaces(graph, arrangement::Tiers(model, graph, progress).all());
    case ArrangementStyle::rails:
      return toPlaces(graph, onRails(model, graph, progress));
    case ArrangementStyle::circle:
      return toPlaces(graph, onCircle(outermost(model, graph, progress)));
    case ArrangementStyle::grid:
      break;
  }
  return toPlaces(graph, onGrid(graph, outermost(model, graph, progress)));
}

std::map<NodeId, Point> rearranged(const Model& model, const std::vector<NodeId>& ids, ArrangementStyle style,
                                   const Progress& progress) {
  return fitted(model, ids, arranged(model, ids, style, progress));
}

std::map<NodeId, Point> fitted(const Model& model, const std::vector<NodeId>& ids, std::map<NodeId, Point> places) {
  // Where the pinned ones would have gone tells how all of it has to be moved.
  QPointF by;
  int pinned = 0;
  QRectF now;
  for (const NodeId id : ids) {
    const Node* node = model.find(id);
    const auto place = places.find(id);
    if (node == nullptr || place == places.end()) {
      continue;
    }
    if (node->drawing.isPinned) {
      by += node->drawing.position.toPointF() - place->second.toPointF();
      ++pinned;
    }
    now |= nodeRect(model, id);
  }
  const QRectF then = extentOf(model, places);
  if (pinned > 0) {
    by /= pinned;
  } else if (places.size() == model.nodes().size()) {
    by = -then.topLeft();
  } else {
    by = now.center() - then.center();
  }
  if (!std::isfinite(by.x()) || !std::isfinite(by.y()) || std::abs(by.x()) > 1e9 || std::abs(by.y()) > 1e9) {
    by = -then.topLeft();
  }
  shift(places, {std::round(by.x()), std::round(by.y())});
  if (pinned == 0) {
    return places;
  }
  std::vector<QRectF> fixed;
  for (auto place = places.begin(); place != places.end();) {
    if (model.find(place->first)->drawing.isPinned) {
      fixed.push_back(nodeRect(model, place->first).adjusted(-12, -12, 12, 12));
      place = places.erase(place);
    } else {
      ++place;
    }
  }
  // What would cover a pinned node moves aside.
  for (auto& [id, place] : places) {
    const QSizeF size = nodeSize(model, id);
    for (int i = 0; i < 40; ++i) {
      const QRectF rect(place.toPointF() - QPointF(size.width() / 2, size.height() / 2), size);
      const auto hit =
          std::find_if(fixed.begin(), fixed.end(), [&](const QRectF& other) { return other.intersects(rect); });
      if (hit == fixed.end()) {
        break;
      }
      place.x = std::round(hit->right() + size.width() / 2 + 1);
    }
    const QRectF rect(place.toPointF() - QPointF(size.width() / 2, size.height() / 2), size);
    fixed.push_back(rect);
  }
  return places;
}

std::map<NodeId, Point> quickArrangement(const Model& model, const std::vector<NodeId>& ids) {
  std::map<NodeId, Point> result = arranged(model, ids, ArrangementStyle::tiered);
  const std::set<NodeId> wanted(ids.begin(), ids.end());
  double bottom = -std::numeric_limits<double>::infinity();
  double leftmost = std::numeric_limits<double>::infinity();
  for (const auto& [id, node] : model.nodes()) {
    if (!wanted.contains(id)) {
      bottom = std::max(bottom, node.drawing.position.y);
      leftmost = std::min(leftmost, node.drawing.position.x);
    }
  }
  if (std::isfinite(bottom) && std::isfinite(leftmost) && !result.empty()) {
    const QRectF rect = extentOf(model, result);
    shift(result, QPointF(leftmost - rect.left(), bottom + kClear - rect.top()));
  }
  return result;
}

}  // namespace coppice::designer
