// SPDX-License-Identifier: Apache-2.0
#include "taccl/expansion.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace coppice::taccl {
namespace {

using sketch::Message;

using LinkKey = std::tuple<int, int, int>;

/// What the decoder made for one chunk of each orbit, for all chunks.
class Expansion {
public:
  Expansion(const Problem& problem, Collective collective, const Solution& solution)
      : m_problem(problem), m_collective(collective), m_solution(solution), m_decoder(problem) {
    m_decoder.decode(solution);
    for (std::size_t i = 0; i < problem.model->links.size(); ++i) {
      const Link& link = problem.model->links[i];
      m_byEnds.emplace(LinkKey(link.from, link.to, link.lane), static_cast<int>(i));
    }
  }

  std::vector<Message> run() {
    std::map<int, std::vector<int>> together;
    for (std::size_t i = 0; i < m_problem.items.size(); ++i) {
      const int item = static_cast<int>(i);
      const int link = m_solution.link[i];
      if (m_decoder.used()[i] == 0 || link < 0) {
        continue;
      }
      if (m_problem.model->links[link].isRemote) {
        together[m_decoder.messages()[i]].push_back(item);
      } else {
        add({item});
      }
    }
    for (const auto& [message, items] : together) {
      add(items);
    }
    sortMessages(m_messages);
    return std::move(m_messages);
  }

private:
  [[nodiscard]] int imageOfLink(int link, const Permutation& permutation) const {
    const Link& from = m_problem.model->links[link];
    return m_byEnds.at(LinkKey(permutation[from.from], permutation[from.to], from.lane));
  }

  [[nodiscard]] const Permutation& bringing(int link, int to) const {
    return *std::find_if(m_problem.group.begin(), m_problem.group.end(),
                         [&](const Permutation& each) { return imageOfLink(link, each) == to; });
  }

  void add(const std::vector<int>& items) {
    const int base = m_solution.link[items.front()];
    std::vector<int> chunks;
    for (const int item : items) {
      const Permutation& permutation = bringing(m_solution.link[item], base);
      chunks.push_back(imageOf(m_problem, m_collective, m_problem.chunks[m_problem.items[item].chunk], permutation));
    }
    for (const Permutation& permutation : m_problem.group) {
      Message message;
      message.link = imageOfLink(base, permutation);
      for (const int chunk : chunks) {
        message.chunks.push_back(imageOf(m_problem, m_collective, chunk, permutation));
      }
      std::sort(message.chunks.begin(), message.chunks.end());
      message.start = Rational(m_decoder.starts()[items.front()], m_problem.ticksPerUnit);
      message.end = Rational(m_decoder.arrivals()[items.front()], m_problem.ticksPerUnit);
      m_messages.push_back(std::move(message));
    }
  }

  const Problem& m_problem;
  Collective m_collective;
  const Solution& m_solution;
  Decoder m_decoder;
  std::map<LinkKey, int> m_byEnds;
  std::vector<Message> m_messages;
};

}  // namespace

std::vector<Message> expand(const Problem& problem, Collective collective, const Solution& solution) {
  return Expansion(problem, collective, solution).run();
}

void sortMessages(std::vector<Message>& messages) {
  std::sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
    return a.start != b.start ? a.start < b.start : std::tie(a.link, a.chunks) < std::tie(b.link, b.chunks);
  });
}

}  // namespace coppice::taccl
