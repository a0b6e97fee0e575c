// SPDX-License-Identifier: Apache-2.0
#include "simulate/job.hpp"

#include <algorithm>

#include "base/rows.hpp"
#include "base/text.hpp"
#include "schedule/forest.hpp"
#include "simulate/fits.hpp"

namespace coppice::simulate {

std::string_view toString(Wait wait) {
  switch (wait) {
    case Wait::nothing:
      return "start";
    case Wait::data:
      return "data";
    case Wait::order:
      return "order";
    case Wait::window:
      return "window";
    case Wait::threadblock:
      return "threadblock";
    case Wait::dependency:
      return "dependency";
    case Wait::space:
      return "space";
    case Wait::barrier:
      return "barrier";
  }
  return "?";
}

std::string_view toString(LabelKind kind) {
  switch (kind) {
    case LabelKind::tree:
      return "tree";
    case LabelKind::transfer:
      return "transfer";
    case LabelKind::step:
    case LabelKind::instruction:
      return "step";
  }
  return "?";
}

Job::Job(const fabric::Fabric& fabric, const Model& model) : m_fabric(&fabric), m_model(model) {
  constexpr double kPicoseconds = 1e6;  // of 1 us
  for (const fabric::Arc& arc : fabric.arcs()) {
    m_rates.push_back(Throughput(toGBps(arc.bandwidth)).bytesPerMicrosecond());
    m_latencies.push_back(
        model.linkLatency
            ? *model.linkLatency
            : Microseconds(static_cast<double>(schedule::latencyPicoseconds(fabric, arc)) / kPicoseconds));
  }
  for (std::size_t arc = 0; model.fits && arc < std::min(m_rates.size(), model.fits->linkRates.size()); ++arc) {
    const double measured = model.fits->linkRates[arc].bytesPerMicrosecond();
    m_rates[arc] = measured > 0 ? measured : m_rates[arc];
  }
  if (model.totalRate > Throughput()) {
    m_rates.push_back(model.totalRate.bytesPerMicrosecond());
  }
}

Result<RouteId> Job::route(std::span<const fabric::NodeIndex> nodes, int skipFirst, int skipLast) {
  Route route;
  route.firstArc = static_cast<std::int64_t>(m_arcs.size());
  bool overNic = false;
  std::uint64_t hash = 0;
  const int links = static_cast<int>(nodes.size()) - 1;
  for (int link = 0; link < links; ++link) {
    const auto arc = m_fabric->findArc(nodes[link], nodes[link + 1]);
    if (!arc) {
      m_arcs.resize(route.firstArc);
      const auto name = [&](fabric::NodeIndex node) { return inQuotes(m_fabric->nodes()[node].id); };
      return Error{ErrorCode::badInput,
                   "a route goes from " + name(nodes[link]) + " to " + name(nodes[link + 1]) +
                       ", but the fabric has no such link",
                   "simulate on the fabric that the schedule was generated for"};
    }
    overNic = overNic || m_fabric->nodes()[nodes[link + 1]].kind == fabric::NodeKind::nic;
    route.latency += m_latencies[*arc];
    if (link >= skipFirst && link < links - skipLast) {
      m_arcs.push_back(*arc);
      ++route.arcCount;
      hash = (hash ^ static_cast<std::uint64_t>(*arc + 1)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 29;
    }
  }
  if (m_rates.size() > m_latencies.size() && route.arcCount > 0) {
    m_arcs.push_back(static_cast<std::int32_t>(m_latencies.size()));
    ++route.arcCount;
  }
  route.overhead = m_model.messageOverhead.value_or(overNic ? kOverheadOverNic : kOverheadInBox);
  const auto rankOf = [&](fabric::NodeIndex node) { return m_fabric->nodes()[node].rank; };
  if (const auto measured = m_model.fits && links > 0
                                ? m_model.fits->latency(rankOf(nodes.front()), rankOf(nodes.back()))
                                : std::nullopt) {
    // It was measured as one; which part of it occupies the sender is not known.
    route.overhead = std::min(route.overhead, *measured);
    route.latency = *measured - route.overhead;
  }
  std::vector<RouteId>& alike = m_routesByHash[hash];
  for (const RouteId id : alike) {
    const Route& other = m_routes[id];
    if (other.latency == route.latency && other.overhead == route.overhead &&
        std::ranges::equal(arcsOf(other), arcsOf(route))) {
      m_arcs.resize(route.firstArc);
      return id;
    }
  }
  alike.push_back(static_cast<RouteId>(m_routes.size()));
  m_routes.push_back(route);
  return alike.back();
}

MessageId Job::add(const Message& message) {
  m_messages.push_back(message);
  return static_cast<MessageId>(m_messages.size() - 1);
}

std::vector<double> Job::linkShares() const {
  std::vector<double> shares = rateShares();
  shares.resize(m_latencies.size());
  return shares;
}

std::vector<double> Job::rateShares() const {
  std::vector<double> shares(m_rates.size());
  for (const Message& message : m_messages) {
    if (message.route != kNoRoute) {
      for (const std::int32_t arc : arcsOf(m_routes[message.route])) {
        shares[arc] += message.share;
      }
    }
  }
  return shares;
}

Microseconds Job::timePerByte() const {
  const std::vector<double> shares = rateShares();
  double longest = 0;
  for (std::size_t arc = 0; arc < shares.size(); ++arc) {
    longest = std::max(longest, shares[arc] / m_rates[arc]);
  }
  return Microseconds(longest);
}

std::int64_t Job::depth() const {
  const Rows<MessageId> followers(m_messages.size(), [this](const auto& add) {
    for (const Dependency& dependency : m_dependencies) {
      if (dependency.delay == 0) {
        add(dependency.before, dependency.after);
      }
    }
  });
  std::vector<std::uint32_t> open(m_messages.size());
  for (const MessageId after : followers.entries()) {
    ++open[after];
  }
  std::vector<std::int64_t> length(m_messages.size());
  std::vector<MessageId> ready;
  for (std::size_t message = 0; message < m_messages.size(); ++message) {
    if (open[message] == 0) {
      ready.push_back(static_cast<MessageId>(message));
    }
  }
  std::int64_t longest = 0;
  while (!ready.empty()) {
    const MessageId message = ready.back();
    ready.pop_back();
    // Receives and barriers take no time.
    length[message] += m_messages[message].route == kNoRoute ? 0 : 1;
    longest = std::max(longest, length[message]);
    for (const MessageId after : followers[message]) {
      length[after] = std::max(length[after], length[message]);
      if (--open[after] == 0) {
        ready.push_back(after);
      }
    }
  }
  return longest;
}

Microseconds Job::largestStart() const {
  Microseconds largest(0);
  for (const Route& route : m_routes) {
    largest = std::max(largest, route.overhead + route.latency);
  }
  if (m_model.messageBytes > 0 && !m_rates.empty()) {
    const bool isShared = m_rates.size() > m_latencies.size();
    const double rate = isShared ? m_rates.back() : *std::min_element(m_rates.begin(), m_rates.end());
    largest += Microseconds(m_model.messageBytes * (isShared ? static_cast<double>(m_messages.size()) : 1.0) / rate);
  }
  return largest;
}

}  // namespace coppice::simulate
