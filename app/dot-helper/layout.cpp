// SPDX-License-Identifier: Apache-2.0
#include "layout.hpp"

#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>

namespace coppice::dot {
namespace {

constexpr std::array<std::string_view, 5> kEngines{"dot", "neato", "fdp", "sfdp", "circo"};

struct CloseGraph {
  void operator()(Agraph_t* graph) const { agclose(graph); }
};
struct FreeContext {
  void operator()(GVC_t* context) const { gvFreeContext(context); }
};

}  // namespace

bool isLayoutEngine(std::string_view name) {
  return std::find(kEngines.begin(), kEngines.end(), name) != kEngines.end();
}

Result<std::string> layOut(const std::string& text, const std::string& engine) {
  if (text.find('\0') != std::string::npos) {
    return Error{ErrorCode::badInput, "the graph has a zero byte", "give DOT text"};
  }
  const std::unique_ptr<GVC_t, FreeContext> context(gvContext());
  if (!context) {
    return Error{ErrorCode::unavailable, "Graphviz cannot be started", "check the installation of Graphviz"};
  }
  const std::unique_ptr<Agraph_t, CloseGraph> graph(agmemread(text.c_str()));
  if (!graph) {
    return Error{ErrorCode::badInput, "the text is not a DOT graph", "give one graph in the DOT language"};
  }
  for (Agnode_t* node = agfstnode(graph.get()); node != nullptr; node = agnxtnode(graph.get(), node)) {
    const std::string_view name(agnameof(node));
    if (name.empty() || name.find_first_of(" \t\r\n") != std::string_view::npos) {
      return Error{ErrorCode::badInput, "a node has a name with spaces", "name the nodes n0, n1 and so on"};
    }
  }
  if (gvLayout(context.get(), graph.get(), engine.c_str()) != 0) {
    return Error{ErrorCode::internal, "Graphviz failed with the engine " + engine,
                 "choose another layout; check that the plugins of Graphviz are installed"};
  }
  std::string result;
  std::array<char, 96> numbers{};
  for (Agnode_t* node = agfstnode(graph.get()); node != nullptr; node = agnxtnode(graph.get(), node)) {
    const pointf place = ND_coord(node);
    if (!std::isfinite(place.x) || !std::isfinite(place.y)) {
      gvFreeLayout(context.get(), graph.get());
      return Error{ErrorCode::internal, "Graphviz returned a position that is not a number", "choose another layout"};
    }
    std::snprintf(numbers.data(), numbers.size(), " %.2f %.2f\n", place.x, place.y);
    result += agnameof(node);
    result += numbers.data();
  }
  gvFreeLayout(context.get(), graph.get());
  return result;
}

}  // namespace coppice::dot
