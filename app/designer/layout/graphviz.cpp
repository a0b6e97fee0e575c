// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/layout/graphviz.hpp"

#include <QRectF>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "designer/document/measures.hpp"

namespace coppice::designer {
namespace {

constexpr double kPointsPerInch = 72;
constexpr double kBoxMargin = 36;

std::string inches(double units) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.3f", units / kPointsPerInch);
  return buffer.data();
}

std::string textOf(const PlainGraph& graph, io::DotLayout layout) {
  const bool isLayered = layout == io::DotLayout::layered;
  std::string text = isLayered ? "digraph g {\n" : "graph g {\n";
  text += "graph [nodesep=" + inches(graph.nodeGap) + ", ranksep=" + inches(graph.layerGap) +
          ", overlap=prism, overlap_scaling=4, splines=false, outputorder=nodesfirst, start=7, maxiter=" +
          std::to_string(layout == io::DotLayout::energy ? 400 : 900) + ", sep=\"+" +
          std::to_string(static_cast<int>(graph.nodeGap / 2)) + "\", mindist=" + inches(graph.nodeGap * 2) +
          ", newrank=true];\n";
  text += "node [shape=box, fixedsize=true, label=\"\"];\nedge [arrowhead=none, len=" + inches(140) + "];\n";
  for (std::size_t i = 0; i < graph.sizes.size(); ++i) {
    text += "n" + std::to_string(i) + " [width=" + inches(graph.sizes[i].width()) +
            ", height=" + inches(graph.sizes[i].height()) + "];\n";
  }
  if (isLayered || layout == io::DotLayout::force) {
    for (std::size_t i = 0; i < graph.clusters.size(); ++i) {
      text +=
          "subgraph cluster" + std::to_string(i) + " { margin=" + std::to_string(static_cast<int>(kBoxMargin)) + ";";
      for (const int node : graph.clusters[i]) {
        text += " n" + std::to_string(node) + ";";
      }
      text += " }\n";
    }
  }
  for (const auto& [from, to] : graph.edges) {
    text += "n" + std::to_string(from) + (isLayered ? " -> n" : " -- n") + std::to_string(to) + ";\n";
  }
  return text + "}\n";
}

std::optional<std::vector<QPointF>> placesIn(std::string_view answer, std::size_t count) {
  std::vector<QPointF> places(count);
  std::size_t known = 0;
  while (!answer.empty()) {
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    const std::string_view line = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    if (line.empty() || line.front() != 'n') {
      return std::nullopt;
    }
    const char* last = line.data() + line.size();
    std::size_t index = 0;
    double x = 0;
    double y = 0;
    auto read = std::from_chars(line.data() + 1, last, index);
    if (read.ec != std::errc() || index >= count || read.ptr == last) {
      return std::nullopt;
    }
    read = std::from_chars(read.ptr + 1, last, x);
    if (read.ec != std::errc() || read.ptr == last) {
      return std::nullopt;
    }
    read = std::from_chars(read.ptr + 1, last, y);
    constexpr double kMax = 1e8;
    if (read.ec != std::errc() || !(std::abs(x) < kMax) || !(std::abs(y) < kMax)) {
      return std::nullopt;
    }
    places[index] = {x, -y};
    ++known;
  }
  return known == count ? std::optional(places) : std::nullopt;
}

}  // namespace

Result<std::vector<QPointF>> laidOut(const PlainGraph& graph, io::DotLayout layout,
                                     const io::DotHelperOptions& options) {
  if (graph.sizes.empty()) {
    return std::vector<QPointF>();
  }
  auto answer = io::layOutDotWithHelper(textOf(graph, layout), layout, options);
  if (!answer) {
    return answer.error();
  }
  auto places = placesIn(*answer, graph.sizes.size());
  if (!places) {
    return Error{ErrorCode::io, "the Graphviz helper's answer cannot be read", "use the coppice-dot of this version"};
  }
  QRectF all;
  for (std::size_t i = 0; i < places->size(); ++i) {
    const QSizeF size = graph.sizes[i];
    all |= QRectF((*places)[i] - QPointF(size.width() / 2, size.height() / 2), size);
  }
  for (QPointF& place : *places) {
    place -= all.topLeft();
  }
  return std::move(*places);
}

Result<std::map<NodeId, Point>> laidOut(const Model& model, const std::vector<NodeId>& ids, io::DotLayout layout,
                                        const io::DotHelperOptions& options) {
  PlainGraph graph;
  std::vector<NodeId> nodes;
  std::unordered_map<NodeId, int> at;
  for (const NodeId id : ids) {
    if (model.find(id) != nullptr && at.try_emplace(id, static_cast<int>(nodes.size())).second) {
      nodes.push_back(id);
      graph.sizes.push_back(model.find(id)->kind() == fabric::NodeKind::switchNode
                                ? QSizeF(portsWidth(model, id), nodeSize(model, id).height())
                                : nodeSize(model, id));
    }
  }
  const auto level = [&](int i) {
    const auto kind = model.find(nodes[i])->kind();
    return kind == fabric::NodeKind::switchNode ? 0 : kind == fabric::NodeKind::nic ? 1 : 2;
  };
  std::set<std::pair<int, int>> edges;
  for (const auto& [id, link] : model.links()) {
    const auto a = at.find(link.tail.node);
    const auto b = at.find(link.head.node);
    if (a != at.end() && b != at.end() && a != b) {
      const bool isUpwards = level(a->second) > level(b->second);
      const std::pair edge(isUpwards ? b->second : a->second, isUpwards ? a->second : b->second);
      if (!edges.contains({edge.second, edge.first})) {
        edges.insert(edge);
      }
    }
  }
  graph.edges.assign(edges.begin(), edges.end());
  std::map<BoxId, std::vector<int>> boxes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    BoxId box = model.find(nodes[i])->facts.box;
    for (const Box* outer = model.find(box); outer != nullptr && outer->parent.isValid(); outer = model.find(box)) {
      box = outer->parent;
    }
    if (box.isValid()) {
      boxes[box].push_back(static_cast<int>(i));
    }
  }
  for (auto& [box, members] : boxes) {
    graph.clusters.push_back(std::move(members));
  }
  auto places = laidOut(graph, layout, options);
  if (!places) {
    return places.error();
  }
  std::map<NodeId, Point> result;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    result[nodes[i]] = {std::round((*places)[i].x()), std::round((*places)[i].y())};
  }
  return result;
}

}  // namespace coppice::designer
