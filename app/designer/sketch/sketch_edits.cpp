// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/sketch_edits.hpp"

#include <QStringList>
#include <algorithm>
#include <utility>

using namespace Qt::StringLiterals;

namespace coppice::designer {

using sketch::Connections;
using sketch::RemoteSketch;
using sketch::Sketch;

namespace {

/// Each GPU by itself or by the last sender before it, the first ones by the first sender.
std::map<int, std::vector<int>> sharedOut(const std::set<int>& senders, int gpus) {
  std::map<int, std::vector<int>> owners;
  for (int gpu = 0; gpu < gpus && !senders.empty(); ++gpu) {
    const auto after = senders.upper_bound(gpu);
    owners[after == senders.begin() ? *after : *std::prev(after)].push_back(gpu);
  }
  return owners;
}

/// As a map of senders, so that one of them can be changed.
RemoteSketch& listed(Sketch& sketch, int gpus) {
  std::map<int, std::vector<int>> receivers = receiversBySender(sketch, gpus);
  RemoteSketch& remote = sketch.remote ? *sketch.remote : sketch.remote.emplace();
  remote.connections = Connections::listed;
  remote.receivers = std::move(receivers);
  return remote;
}

/// What is said of GPUs that send no more.
void forgetOthers(RemoteSketch& remote, const std::set<int>& senders) {
  std::erase_if(remote.relayedBy, [&](const auto& each) { return !senders.contains(each.first); });
  std::erase_if(remote.betaSplit, [&](const auto& each) { return !senders.contains(each.first); });
}

}  // namespace

std::map<int, std::vector<int>> receiversBySender(const Sketch& sketch, int gpus) {
  if (!sketch.remote || sketch.remote->connections == Connections::listed) {
    return sketch.remote ? sketch.remote->receivers : std::map<int, std::vector<int>>();
  }
  std::map<int, std::vector<int>> receivers;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    for (int other = 0; other < gpus; ++other) {
      if (sketch.remote->connections == Connections::fullyConnected || other == gpu) {
        receivers[gpu].push_back(other);
      }
    }
  }
  return receivers;
}

std::set<int> sendersOf(const Sketch& sketch, int gpus) {
  std::set<int> senders;
  for (const auto& [sender, receivers] : receiversBySender(sketch, gpus)) {
    senders.insert(sender);
  }
  return senders;
}

std::set<int> receiversOf(const Sketch& sketch, int gpus) {
  std::set<int> all;
  for (const auto& [sender, receivers] : receiversBySender(sketch, gpus)) {
    all.insert(receivers.begin(), receivers.end());
  }
  return all;
}

std::map<int, std::vector<int>> ownersBySender(const Sketch& sketch, int gpus) {
  if (!sketch.remote) {
    return {};
  }
  const RemoteSketch& remote = *sketch.remote;
  if (!remote.relayedBy.empty() || !remote.chunkToRelay || remote.chunkToRelay->first < 1) {
    return remote.relayedBy;
  }
  std::map<int, std::vector<int>> owners;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    owners[gpu / remote.chunkToRelay->first * remote.chunkToRelay->first + remote.chunkToRelay->second].push_back(gpu);
  }
  return owners;
}

void joinRelays(Sketch& sketch, int gpus, const std::set<int>& senders, const std::set<int>& receivers) {
  if (senders.empty() || receivers.empty()) {
    return;
  }
  const bool isSharedOut = !ownersBySender(sketch, gpus).empty();
  RemoteSketch& remote = listed(sketch, gpus);
  remote.receivers.clear();
  const std::vector<int> to(receivers.begin(), receivers.end());
  const bool isEven = to.size() % senders.size() == 0;
  const std::size_t block = isEven ? to.size() / senders.size() : 0;
  std::size_t at = 0;
  for (const int sender : senders) {
    remote.receivers[sender] = isEven ? std::vector<int>(to.begin() + static_cast<std::ptrdiff_t>(at * block),
                                                         to.begin() + static_cast<std::ptrdiff_t>((at + 1) * block))
                                      : to;
    ++at;
  }
  forgetOthers(remote, senders);
  remote.chunkToRelay.reset();
  if (isSharedOut) {
    remote.relayedBy = sharedOut(senders, gpus);
  }
}

void setReceivers(Sketch& sketch, int gpus, int sender, std::vector<int> receivers) {
  RemoteSketch& remote = listed(sketch, gpus);
  if (receivers.empty()) {
    remote.receivers.erase(sender);
    std::set<int> senders;
    for (const auto& [each, gpusOf] : remote.receivers) {
      senders.insert(each);
    }
    forgetOthers(remote, senders);
  } else {
    remote.receivers[sender] = std::move(receivers);
  }
}

void setOwners(Sketch& sketch, int gpus, int sender, std::vector<int> owners) {
  RemoteSketch& remote = sketch.remote ? *sketch.remote : sketch.remote.emplace();
  remote.relayedBy = ownersBySender(sketch, gpus);
  remote.chunkToRelay.reset();
  if (owners.empty()) {
    remote.relayedBy.erase(sender);
  } else {
    remote.relayedBy[sender] = std::move(owners);
  }
}

RelayRule relayRuleOf(const Sketch& sketch) {
  if (!sketch.remote || (sketch.remote->relayedBy.empty() && !sketch.remote->chunkToRelay)) {
    return RelayRule::any;
  }
  return sketch.remote->relayedBy.empty() ? RelayRule::blocks : RelayRule::listed;
}

void setRelayRule(Sketch& sketch, int gpus, RelayRule rule) {
  if (!sketch.remote) {
    return;
  }
  const std::set<int> senders = sendersOf(sketch, gpus);
  sketch.remote->relayedBy.clear();
  sketch.remote->chunkToRelay.reset();
  if (rule == RelayRule::listed) {
    sketch.remote->relayedBy = sharedOut(senders, gpus);
  } else if (rule == RelayRule::blocks) {
    sketch.remote->chunkToRelay = std::pair(gpus, senders.empty() ? 0 : *senders.begin());
  }
}

void setShare(Sketch& sketch, int sender, const std::optional<Rational>& share) {
  if (!sketch.remote) {
    return;
  }
  if (share) {
    sketch.remote->betaSplit[sender] = *share;
  } else {
    sketch.remote->betaSplit.erase(sender);
  }
}

PointFault pointToReceiver(Sketch& sketch, int gpus, int sender, int receiver) {
  std::map<int, std::vector<int>> receivers = receiversBySender(sketch, gpus);
  std::vector<int> to = receivers[sender];
  const auto at = std::find(to.begin(), to.end(), receiver);
  const bool wasSender = !to.empty();
  if (at == to.end()) {
    to.insert(std::upper_bound(to.begin(), to.end(), receiver), receiver);
  } else if (to.size() == 1 && receivers.size() == 1) {
    return PointFault::lastReceiver;
  } else {
    to.erase(at);
  }
  const bool isSender = !to.empty();
  const bool isListed = !ownersBySender(sketch, gpus).empty();
  std::map<int, std::vector<int>> owners = ownersBySender(sketch, gpus);
  setReceivers(sketch, gpus, sender, std::move(to));
  if (!isListed || isSender == wasSender) {
    return PointFault::none;
  }
  sketch.remote->chunkToRelay.reset();
  if (isSender) {
    for (auto& [other, gpusOf] : owners) {
      std::erase(gpusOf, sender);
    }
    owners[sender] = {sender};
  } else {
    const std::set<int> senders = sendersOf(sketch, gpus);
    const auto after = senders.upper_bound(sender);
    std::vector<int>& heir = owners[after == senders.begin() ? *after : *std::prev(after)];
    heir.insert(heir.end(), owners[sender].begin(), owners[sender].end());
    std::sort(heir.begin(), heir.end());
    heir.erase(std::unique(heir.begin(), heir.end()), heir.end());
    owners.erase(sender);
  }
  std::erase_if(owners, [](const auto& each) { return each.second.empty(); });
  sketch.remote->relayedBy = std::move(owners);
  return PointFault::none;
}

PointFault pointToRelay(Sketch& sketch, int gpus, int owner, int sender) {
  const std::set<int> senders = sendersOf(sketch, gpus);
  if (!senders.contains(sender)) {
    return PointFault::noSender;
  }
  std::map<int, std::vector<int>> owners = ownersBySender(sketch, gpus);
  if (owners.empty()) {
    for (const int each : senders) {
      for (int gpu = 0; gpu < gpus; ++gpu) {
        owners[each].push_back(gpu);
      }
    }
  }
  for (auto& [other, gpusOf] : owners) {
    std::erase(gpusOf, owner);
  }
  std::vector<int>& list = owners[sender];
  list.insert(std::upper_bound(list.begin(), list.end(), owner), owner);
  std::erase_if(owners, [](const auto& each) { return each.second.empty(); });
  sketch.remote->chunkToRelay.reset();
  sketch.remote->relayedBy = std::move(owners);
  return PointFault::none;
}

void setConnections(Sketch& sketch, int gpus, Connections connections) {
  if (connections == Connections::listed) {
    listed(sketch, gpus);
    return;
  }
  RemoteSketch& remote = sketch.remote ? *sketch.remote : sketch.remote.emplace();
  const bool wasSharedOut = !ownersBySender(sketch, gpus).empty();
  remote.connections = connections;
  remote.receivers.clear();
  if (wasSharedOut) {
    setRelayRule(sketch, gpus, RelayRule::listed);
  }
}

void addSwitch(Sketch& sketch, std::vector<int> gpus) {
  sketch.local = sketch::LocalStrategy::switchPorts;
  sketch.policies.resize(sketch.switches.size(), "freeuc");
  sketch.policies.push_back(sketch.policies.empty() ? "freeuc" : std::string(sketch.policies.front()));
  sketch.switches.push_back(std::move(gpus));
}

void removeSwitch(Sketch& sketch, std::size_t index) {
  if (index < sketch.switches.size()) {
    sketch.switches.erase(sketch.switches.begin() + static_cast<std::ptrdiff_t>(index));
  }
  if (index < sketch.policies.size()) {
    sketch.policies.erase(sketch.policies.begin() + static_cast<std::ptrdiff_t>(index));
  }
  if (sketch.switches.empty()) {
    sketch.local = sketch::LocalStrategy::none;
  }
}

QString numbersText(const std::vector<int>& numbers) {
  QStringList texts;
  for (const int number : numbers) {
    texts << QString::number(number);
  }
  return texts.join(u", "_s);
}

std::optional<std::vector<int>> parseNumbers(const QString& text) {
  constexpr int kMax = 4096;
  std::set<int> numbers;
  for (const QString& part : text.split(u',', Qt::SkipEmptyParts)) {
    const QStringList ends = part.trimmed().split(u'-');
    bool isFirst = false;
    bool isLast = false;
    const int first = ends.front().trimmed().toInt(&isFirst);
    const int last = ends.back().trimmed().toInt(&isLast);
    if (ends.size() > 2 || !isFirst || !isLast || first < 0 || last < first || last > kMax) {
      return std::nullopt;
    }
    for (int number = first; number <= last; ++number) {
      numbers.insert(number);
    }
  }
  return std::vector<int>(numbers.begin(), numbers.end());
}

}  // namespace coppice::designer
