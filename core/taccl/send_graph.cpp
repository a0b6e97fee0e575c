// SPDX-License-Identifier: Apache-2.0
#include "taccl/send_graph.hpp"

namespace coppice::taccl {

SendGraph sendGraphOf(const Problem& problem) {
  SendGraph graph;
  graph.gpus = problem.model->gpus();
  graph.in.resize(problem.items.size());
  graph.out.resize(problem.items.size());
  graph.entries.resize(problem.blocks.size());
  graph.chunkAt.assign(problem.allChunks.size(), -1);
  for (std::size_t i = 0; i < problem.chunks.size(); ++i) {
    graph.chunkAt[problem.chunks[i]] = static_cast<int>(i);
  }
  const auto add = [&](const Send& send) {
    const int id = static_cast<int>(graph.sends.size());
    graph.sends.push_back(send);
    graph.in[send.item].push_back(id);
    graph.out[send.from].push_back(id);
    return id;
  };
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    const int id = static_cast<int>(i);
    graph.itemAt.emplace(static_cast<std::int64_t>(item.chunk) * graph.gpus + item.gpu, id);
    for (int k = item.firstOption; k < item.firstOption + item.optionCount; ++k) {
      add({.item = id, .from = problem.options[k].from, .link = problem.options[k].link});
    }
  }
  for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
    const Block& block = problem.blocks[b];
    for (std::size_t k = 0; k < block.entries.size(); ++k) {
      graph.entries[b].push_back(add({.item = block.entered[k],
                                      .from = block.entries[k].from,
                                      .link = block.entries[k].link,
                                      .block = static_cast<int>(b)}));
    }
  }
  return graph;
}

std::vector<int> downwards(const Problem& problem, const SendGraph& graph, const Trees& trees) {
  std::vector<std::vector<int>> children(trees.size());
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (trees[i] >= 0) {
      children[graph.sends[trees[i]].from].push_back(static_cast<int>(i));
    }
  }
  std::vector<int> order;
  for (std::size_t i = 0; i + 1 < problem.firstItem.size(); ++i) {
    const std::vector<int>& first = children[problem.firstItem[i]];
    order.insert(order.end(), first.begin(), first.end());
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::vector<int>& next = children[order[at]];
    order.insert(order.end(), next.begin(), next.end());
  }
  return order;
}

}  // namespace coppice::taccl
