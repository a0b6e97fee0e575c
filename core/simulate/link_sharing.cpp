// SPDX-License-Identifier: Apache-2.0
#include "simulate/link_sharing.hpp"

#include <algorithm>
#include <limits>

#include "base/disjoint_sets.hpp"

namespace coppice::simulate {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// For heaps with the earliest on top; ties by index, so that no order depends on the heap's history.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.time != b.time ? a.time > b.time : a.index > b.index;
};
constexpr auto kEndsLater = [](const auto& a, const auto& b) {
  return a.end != b.end ? a.end > b.end : a.message > b.message;
};

}  // namespace

LinkSharing::LinkSharing(const Job& job, double resolution, std::int64_t exactWork)
    : m_job(job),
      m_resolution(resolution),
      m_exactWork(exactWork),
      m_unitCap(job.model().rateCap > Throughput() ? job.model().rateCap.bytesPerMicrosecond() : kUnlimited),
      m_classes(job.routes().size()),
      m_flowing(job.linkRates().size()),
      m_busySince(job.linkRates().size()),
      m_busy(job.linkRates().size()),
      m_links(job.linkRates().size()),
      m_frozen(job.routes().size()) {
  DisjointSets sets(job.linkRates().size());
  for (const Route& route : job.routes()) {
    const auto arcs = job.arcsOf(route);
    for (const std::int32_t arc : arcs) {
      sets.join(arc, arcs.front());
    }
  }
  constexpr std::uint32_t kNone = ~0U;
  std::vector<std::uint32_t> componentOf(job.linkRates().size(), kNone);
  for (std::size_t route = 0; route < m_classes.size(); ++route) {
    const auto arcs = job.arcsOf(job.routes()[route]);
    if (arcs.empty()) {
      continue;
    }
    std::uint32_t& component = componentOf[sets.find(arcs.front())];
    if (component == kNone) {
      component = static_cast<std::uint32_t>(m_components.size());
      m_components.push_back({.filled = -kUnlimited, .deferred = kUnlimited, .next = kUnlimited});
    }
    m_classes[route].component = component;
  }
}

void LinkSharing::advance(Class& flows, double now) const {
  if (flows.weight > 0 && flows.rate > 0) {
    flows.served += (now - flows.since) * std::min(flows.rate / static_cast<double>(flows.weight), m_unitCap);
  }
  flows.since = now;
}

void LinkSharing::updateDue(Class& flows) const {
  if (flows.weight == 0 || flows.rate <= 0) {
    flows.due = kUnlimited;
    return;
  }
  const double unitRate = std::min(flows.rate / static_cast<double>(flows.weight), m_unitCap);
  flows.due = flows.since + std::max(0.0, flows.flows.front().end - flows.served) / unitRate;
}

void LinkSharing::touch(RouteId route) {
  Class& flows = m_classes[route];
  if (!flows.isTouched) {
    flows.isTouched = true;
    m_touched.push_back(route);
    touchComponent(flows.component);
  }
}

void LinkSharing::touchComponent(std::uint32_t component) {
  if (!m_components[component].isTouched) {
    m_components[component].isTouched = true;
    m_touchedComponents.push_back(component);
  }
}

void LinkSharing::add(RouteId route, MessageId message, double bytes, std::int32_t weight, double now) {
  Class& flows = m_classes[route];
  if (flows.weight == 0) {
    flows.served = 0;  // keeps the count small, and with it its rounding
    flows.since = now;
  } else {
    advance(flows, now);
  }
  flows.flows.push_back({flows.served + bytes / weight, message, weight});
  std::push_heap(flows.flows.begin(), flows.flows.end(), kEndsLater);
  flows.weight += weight;
  touch(route);
}

double LinkSharing::nextTime() {
  while (!m_next.empty() && m_next.front().version != m_components[m_next.front().index].version) {
    std::pop_heap(m_next.begin(), m_next.end(), kLater);
    m_next.pop_back();
  }
  return m_next.empty() ? kUnlimited : m_next.front().time;
}

double LinkSharing::takeDue(double until, double now) {
  while (nextTime() <= until) {
    const std::uint32_t index = m_next.front().index;
    std::pop_heap(m_next.begin(), m_next.end(), kLater);
    m_next.pop_back();
    Component& component = m_components[index];
    component.next = kUnlimited;
    touchComponent(index);
    if (component.deferred <= until) {
      now = std::max(now, component.deferred);
    }
    while (!component.heap.empty() && component.heap.front().time <= until) {
      const Due due = component.heap.front();
      std::pop_heap(component.heap.begin(), component.heap.end(), kLater);
      component.heap.pop_back();
      if (due.version == m_classes[due.index].version) {
        now = std::max(now, due.time);
        m_due.push_back(due.index);
      }
    }
  }
  return now;
}

void LinkSharing::finishDue(double now, double slack, std::vector<MessageId>& finished) {
  for (const RouteId route : m_due) {
    Class& flows = m_classes[route];
    advance(flows, now);
    const double unitRate = std::min(flows.rate / static_cast<double>(flows.weight), m_unitCap);
    // The first is due, whatever rounding says.
    const double served = std::max(flows.served + slack * unitRate, flows.flows.front().end);
    while (!flows.flows.empty() && flows.flows.front().end <= served) {
      finished.push_back(flows.flows.front().message);
      flows.weight -= flows.flows.front().weight;
      std::pop_heap(flows.flows.begin(), flows.flows.end(), kEndsLater);
      flows.flows.pop_back();
    }
    touch(route);
  }
  m_due.clear();
}

void LinkSharing::countBusy(RouteId route, bool isFlowing, double now) {
  m_classes[route].isFlowing = isFlowing;
  for (const std::int32_t arc : m_job.arcsOf(m_job.routes()[route])) {
    if (isFlowing) {
      if (m_flowing[arc]++ == 0) {
        m_busySince[arc] = now;
      }
    } else if (--m_flowing[arc] == 0) {
      m_busy[arc] += now - m_busySince[arc];
    }
  }
}

void LinkSharing::push(Component& component, RouteId route) {
  Class& flows = m_classes[route];
  if (flows.due < kUnlimited) {
    component.heap.push_back({flows.due, route, flows.version});
    std::push_heap(component.heap.begin(), component.heap.end(), kLater);
  }
}

void LinkSharing::settle(double now) {
  for (const RouteId route : m_touched) {
    Class& flows = m_classes[route];
    flows.isTouched = false;
    Component& component = m_components[flows.component];
    if (!flows.isListed && flows.weight > 0) {
      flows.isListed = true;
      component.active.push_back(route);
    }
    // What goes and comes at the same time leaves the link busy.
    if (flows.isFlowing != (flows.weight > 0)) {
      countBusy(route, flows.weight > 0, now);
    }
    if (flows.weight != flows.sharedWeight) {
      component.deferred =
          std::min(component.deferred, isCoarse() ? std::max(now, component.filled + m_resolution) : now);
    }
    updateDue(flows);
    ++flows.version;
    push(component, route);
  }
  m_touched.clear();
  for (const std::uint32_t index : m_touchedComponents) {
    Component& component = m_components[index];
    component.isTouched = false;
    if (component.deferred <= now) {
      fill(component, now);
    }
    schedule(index);
  }
  m_touchedComponents.clear();
}

void LinkSharing::schedule(std::uint32_t index) {
  Component& component = m_components[index];
  while (!component.heap.empty() && component.heap.front().version != m_classes[component.heap.front().index].version) {
    std::pop_heap(component.heap.begin(), component.heap.end(), kLater);
    component.heap.pop_back();
  }
  const double next = std::min(component.deferred, component.heap.empty() ? kUnlimited : component.heap.front().time);
  if (next != component.next) {
    component.next = next;
    ++component.version;
    if (next < kUnlimited) {
      m_next.push_back({next, index, component.version});
      std::push_heap(m_next.begin(), m_next.end(), kLater);
    }
  }
}

void LinkSharing::setRate(RouteId route, double unitRate, double now) {
  Class& flows = m_classes[route];
  m_frozen[route] = m_stamp;
  const double rate = unitRate * static_cast<double>(flows.weight);
  flows.sharedWeight = flows.weight;
  if (rate != flows.rate) {
    advance(flows, now);
    flows.rate = rate;
    updateDue(flows);
  }
}

void LinkSharing::fill(Component& component, double now) {
  ++m_fills;
  ++m_stamp;
  component.filled = now;
  component.deferred = kUnlimited;
  component.heap.clear();
  m_used.clear();
  std::erase_if(component.active, [&](RouteId route) {
    Class& flows = m_classes[route];
    if (flows.weight > 0) {
      return false;
    }
    flows.isListed = false;
    flows.rate = 0;
    flows.sharedWeight = 0;
    return true;
  });
  m_exactWork -= static_cast<std::int64_t>(component.active.size());
  for (const RouteId route : component.active) {
    for (const std::int32_t arc : m_job.arcsOf(m_job.routes()[route])) {
      LinkState& link = m_links[arc];
      if (link.stamp != m_stamp) {
        link = {.left = m_job.linkRates()[arc], .stamp = m_stamp};
        m_used.push_back(arc);
      }
      link.weight += m_classes[route].weight;
      ++link.end;
    }
  }
  std::uint32_t members = 0;
  m_shares.clear();
  for (const std::int32_t arc : m_used) {
    LinkState& link = m_links[arc];
    link.first = members;
    members += link.end;
    link.end = link.first;
    m_shares.push_back({link.left / static_cast<double>(link.weight), static_cast<std::uint32_t>(arc), 0});
  }
  m_members.resize(members);
  for (const RouteId route : component.active) {
    for (const std::int32_t arc : m_job.arcsOf(m_job.routes()[route])) {
      m_members[m_links[arc].end++] = route;
    }
  }
  std::make_heap(m_shares.begin(), m_shares.end(), kLater);
  while (!m_shares.empty()) {
    std::pop_heap(m_shares.begin(), m_shares.end(), kLater);
    Due& minimum = m_shares.back();
    LinkState& link = m_links[minimum.index];
    if (link.weight == 0) {
      m_shares.pop_back();
      continue;
    }
    // Shares only grow while other links fill up, so an entry is never too large.
    const double share = link.left / static_cast<double>(link.weight);
    if (share > minimum.time) {
      minimum.time = share;
      std::push_heap(m_shares.begin(), m_shares.end(), kLater);
      continue;
    }
    m_shares.pop_back();
    // Where connections are slower than their share, the cap is their rate; every later share is larger still.
    const double unitRate = std::min(share, m_unitCap);
    for (std::uint32_t member = link.first; member < link.end; ++member) {
      const RouteId route = m_members[member];
      if (m_frozen[route] == m_stamp) {
        continue;
      }
      const std::int64_t weight = m_classes[route].weight;
      for (const std::int32_t arc : m_job.arcsOf(m_job.routes()[route])) {
        LinkState& other = m_links[arc];
        other.left = std::max(0.0, other.left - unitRate * static_cast<double>(weight));
        other.weight -= weight;
      }
      setRate(route, unitRate, now);
    }
  }
  for (const RouteId route : component.active) {
    const Class& flows = m_classes[route];
    if (flows.due < kUnlimited) {
      component.heap.push_back({flows.due, route, flows.version});
    }
  }
  std::make_heap(component.heap.begin(), component.heap.end(), kLater);
}

std::vector<double> LinkSharing::busyUntil(double now) const {
  std::vector<double> busy = m_busy;
  for (std::size_t arc = 0; arc < busy.size(); ++arc) {
    busy[arc] += m_flowing[arc] > 0 ? now - m_busySince[arc] : 0;
  }
  return busy;
}

void LinkSharing::flowsAt(double now, std::vector<FlowState>& flows) const {
  flows.clear();
  for (const Component& component : m_components) {
    for (const RouteId route : component.active) {
      const Class& shared = m_classes[route];
      if (shared.weight == 0) {
        continue;
      }
      const double rate = std::min(shared.rate / static_cast<double>(shared.weight), m_unitCap);
      const double served = shared.served + (now - shared.since) * rate;
      for (const Flow& flow : shared.flows) {
        flows.push_back({flow.message, flow.end - served, rate});
      }
    }
  }
  std::sort(flows.begin(), flows.end(), [](const FlowState& a, const FlowState& b) { return a.message < b.message; });
}

void LinkSharing::moveOn(double time, const std::vector<double>& busy) {
  for (Class& flows : m_classes) {
    flows.since += time;
    flows.due += time;
  }
  for (Component& component : m_components) {
    component.filled += time;
    component.deferred += time;
    component.next += time;
    for (Due& due : component.heap) {
      due.time += time;
    }
  }
  for (Due& due : m_next) {
    due.time += time;
  }
  for (std::size_t arc = 0; arc < m_busy.size(); ++arc) {
    m_busySince[arc] += time;
    m_busy[arc] += busy[arc];
  }
}

}  // namespace coppice::simulate
