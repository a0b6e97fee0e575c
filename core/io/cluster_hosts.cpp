// SPDX-License-Identifier: Apache-2.0
#include "io/cluster_hosts.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/ascii.hpp"
#include "base/comma_list.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/natural_order.hpp"
#include "base/text.hpp"
#include "base/wildcard.hpp"

namespace coppice::io {
namespace {

/// The number of an adapter: 5 of "mlx5_5", "ib5", "nic5", and of "HCA-6", which counts from 1.
std::optional<int> adapterNumber(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') {
    --at;
  }
  int number = 0;
  const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), number);
  if (at == 0 || error != std::errc{} || end != name.data() + name.size()) {
    return std::nullopt;
  }
  return lowered(name.substr(0, at)) == "hca-" ? number - 1 : number;
}

/// What the names of hosts of one kind have in common: "dgx-" of "dgx-07.site.org", "a-dgx--c" of "a05-dgx-01-c07".
std::string stemOfHost(std::string_view name) {
  std::string stem = lowered(name.substr(0, name.find('.')));
  std::erase_if(stem, [](char c) { return c >= '0' && c <= '9'; });
  return stem;
}

/// One run of chooseHosts.
class Choosing {
public:
  Choosing(const ClusterNetwork& network, const std::vector<HostModel>& models, const NetworkOptions& options,
           const std::string& fileName)
      : m_network(network), m_models(models), m_options(options), m_fileName(fileName) {}

  ChosenHosts run() {
    choosePorts();
    choose();
    return std::move(m_chosen);
  }

private:
  using Port = ClusterNetwork::Port;

  [[noreturn]] void refuse(ErrorCode code, std::string message, std::string fix) const {
    throw Failure{{code, std::move(message), std::move(fix), Place{m_fileName, 0, 0, {}}}};
  }

  void tell(Severity severity, std::string text, std::string fix = {}) {
    m_chosen.findings.push_back({severity, ErrorCode::badInput, std::move(text), std::move(fix), {}});
  }

  static bool matchesAny(std::string_view text, const std::vector<std::string>& patterns) {
    return patterns.empty() ||
           std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return matchesPattern(text, p); });
  }

  /// The cables of each host that the options leave, in the order of adapters.
  void choosePorts() {
    m_chosen.ports.resize(m_network.hosts.size());
    std::size_t otherHosts = 0;
    std::size_t otherPorts = 0;
    std::vector<bool> isHostUsed;
    for (const ClusterNetwork::Host& host : m_network.hosts) {
      isHostUsed.push_back(matchesAny(host.name, m_options.hosts));
      otherHosts += isHostUsed.back() ? 0 : 1;
    }
    for (const Port& port : m_network.ports) {
      if (!isHostUsed[static_cast<std::size_t>(port.host)]) {
        continue;
      }
      if (!port.adapter.empty() && !matchesAny(port.adapter, m_options.adapters)) {
        ++otherPorts;
        continue;
      }
      m_chosen.ports[static_cast<std::size_t>(port.host)].push_back(&port);
    }
    for (auto& ports : m_chosen.ports) {
      std::stable_sort(ports.begin(), ports.end(), [](const Port* a, const Port* b) {
        return a->adapter != b->adapter ? naturalLess(a->adapter, b->adapter) : a->port < b->port;
      });
    }
    if (otherHosts > 0) {
      tell(Severity::note, counted(static_cast<std::int64_t>(otherHosts), "host") + " left out, as asked");
    }
    if (otherPorts > 0) {
      tell(Severity::note, counted(static_cast<std::int64_t>(otherPorts), "cable") + " of other adapters left out");
    }
  }

  /// Which NIC of the model each cable belongs to.
  HostMatch matched(const HostModel& model, const std::vector<const Port*>& ports) const {
    HostMatch match{&model, {}, false};
    const auto& nics = model.inside.server->nics;
    if (nics.empty()) {
      return match;
    }
    if (std::all_of(ports.begin(), ports.end(), [](const Port* port) { return port->adapter.empty(); })) {
      // Every NIC of the host on each switch that the file names; several switches share the NICs.
      for (std::size_t i = 0; i < nics.size() && !ports.empty(); ++i) {
        match.nics.emplace_back(i, ports[i % ports.size()]);
      }
      return match;
    }
    std::vector<bool> isTaken(nics.size(), false);
    std::vector<const Port*> rest;
    const auto take = [&](const Port* port, auto fits) {
      for (std::size_t i = 0; i < nics.size(); ++i) {
        if (!isTaken[i] && fits(nics[i])) {
          isTaken[i] = true;
          match.nics.emplace_back(i, port);
          return true;
        }
      }
      return false;
    };
    for (const Port* port : ports) {
      if (!take(port, [&](const ImportedServer::Nic& nic) {
            return lowered(nic.device.empty() ? nic.id : nic.device) == lowered(port->adapter);
          })) {
        rest.push_back(port);
      }
    }
    for (const Port* port : std::exchange(rest, {})) {
      const auto number = adapterNumber(port->adapter);
      if (!number || !take(port, [&](const ImportedServer::Nic& nic) {
            return adapterNumber(nic.device.empty() ? nic.id : nic.device) == number;
          })) {
        rest.push_back(port);
      }
    }
    if (match.nics.empty() && ports.size() == nics.size()) {
      match.isByNumber = true;
      for (std::size_t i = 0; i < nics.size(); ++i) {
        match.nics.emplace_back(i, ports[i]);
      }
    }
    std::sort(match.nics.begin(), match.nics.end());
    return match;
  }

  void choose() {
    if (m_network.hosts.empty()) {
      refuse(ErrorCode::infeasible, "no host with a cable is left: no adapter carries the name of a host",
             "set the node descriptions of the hosts (rdma-ndd), and make the file again");
    }
    std::vector<int> order;
    for (int host = 0; host < static_cast<int>(m_network.hosts.size()); ++host) {
      const bool isWanted = matchesAny(nameOf(host), m_options.hosts);
      if (!m_chosen.ports[static_cast<std::size_t>(host)].empty() || (m_network.ports.empty() && isWanted)) {
        order.push_back(host);
      }
    }
    std::sort(order.begin(), order.end(), [&](int a, int b) { return naturalLess(nameOf(a), nameOf(b)); });
    if (order.empty()) {
      refuse(ErrorCode::infeasible, "no host with a cable is left",
             m_options.hosts.empty() && m_options.adapters.empty() ? "give the network of the hosts with GPUs"
                                                                   : "choose patterns that match hosts of the file");
    }
    if (m_models.empty()) {
      m_chosen.hosts = std::move(order);
      tellUnlikeHosts();
      return;
    }
    std::vector<std::string> without;
    std::vector<std::string> unsure;
    std::vector<bool> isUnsure(order.size(), false);
    std::vector<HostMatch> matches;
    for (std::size_t i = 0; i < order.size(); ++i) {
      bool isTie = false;
      matches.push_back(bestMatch(order[i], isTie));
      isUnsure[i] = isTie;
      if (matches.back().model == nullptr) {
        without.push_back(nameOf(order[i]));
      }
    }
    const std::vector<bool> isOther = hostsOfOtherKinds(order, matches);
    std::map<std::size_t, std::vector<std::string>> missing;  // by cables
    std::vector<std::string> byNumber;
    for (std::size_t i = 0; i < order.size(); ++i) {
      HostMatch& match = matches[i];
      if (match.model == nullptr || isOther[i]) {
        continue;
      }
      if (!m_network.ports.empty() && match.nics.size() < match.model->inside.server->nics.size()) {
        missing[match.nics.size()].push_back(nameOf(order[i]));
      }
      if (match.isByNumber) {
        byNumber.push_back(nameOf(order[i]));
      }
      if (isUnsure[i]) {
        unsure.push_back(nameOf(order[i]));
      }
      m_chosen.hosts.push_back(order[i]);
      m_chosen.matches.push_back(std::move(match));
    }
    if (m_chosen.hosts.empty()) {
      refuse(ErrorCode::infeasible, "no host of the network has the NICs of " + inQuotes(m_models.front().file),
             "compare the names of its NICs with the adapters of the network");
    }
    if (!without.empty()) {
      tell(Severity::note,
           counted(static_cast<std::int64_t>(without.size()), "host") +
               " left out, as no file describes a host with such NICs: " + someOf(without),
           "give a file of such a host, or say which hosts to use");
    }
    if (!unsure.empty()) {
      tell(Severity::warning,
           "several files of hosts fit " + someOf(unsure) + " equally well; the first of them counts",
           "name a host's file as the host (dgx07.xml), or import with --hosts the hosts of one kind at a time");
    }
    if (!missing.empty()) {
      // Those with the fewest first: they may be no compute hosts.
      std::string text;
      std::size_t hosts = 0;
      for (const auto& [cables, names] : missing) {
        hosts += names.size();
        text += (text.empty() ? "" : "; ") + counted(static_cast<std::int64_t>(cables), "cable") + ": " + someOf(names);
      }
      tell(Severity::warning,
           counted(static_cast<std::int64_t>(hosts), "host") + " with fewer cables than the host of the file: " + text,
           "look at the ports that are down there; leave hosts without GPUs out, or choose other adapters");
    }
    if (!byNumber.empty()) {
      tell(Severity::warning,
           "the adapters of " + someOf(byNumber) +
               " have other names than the NICs of the host's file; they are taken "
               "in order",
           "compare the names");
    }
  }

  /// The model that fits a host best: its own; then by the number of its NICs that have a cable, the kind of its name,
  /// its NICs without a cable, and the speed of its cables. A tie is one between files that differ.
  HostMatch bestMatch(int host, bool& isTie) const {
    const auto& ports = m_chosen.ports[static_cast<std::size_t>(host)];
    HostMatch best;
    std::tuple<bool, std::size_t, bool, std::ptrdiff_t, std::size_t> bestKey;
    for (const HostModel& model : m_models) {
      HostMatch match = matched(model, ports);
      const auto& nics = model.inside.server->nics;
      const bool isOwn = isSameHost(model.hostName, nameOf(host));
      if (match.nics.empty() && !nics.empty() && !ports.empty()) {
        continue;
      }
      const auto likeSpeeds = static_cast<std::size_t>(
          std::count_if(match.nics.begin(), match.nics.end(), [&](const std::pair<std::size_t, const Port*>& pair) {
            return nics[pair.first].bandwidth == pair.second->bandwidth;
          }));
      const auto key = std::make_tuple(
          isOwn, match.nics.size(), stemOfHost(model.hostName) == stemOfHost(nameOf(host)),
          static_cast<std::ptrdiff_t>(match.nics.size()) - static_cast<std::ptrdiff_t>(nics.size()), likeSpeeds);
      if (best.model != nullptr && key == bestKey) {
        isTie = isTie || !(best.model->inside.description == model.inside.description);
      } else if (best.model == nullptr || key > bestKey) {
        best = std::move(match);
        bestKey = key;
        isTie = false;
      }
    }
    return best;
  }

  /// Hosts with at most half of the cables of the best and a name of another kind: storage, logins. Told.
  std::vector<bool> hostsOfOtherKinds(const std::vector<int>& order, const std::vector<HostMatch>& matches) {
    std::vector<bool> isOther(order.size(), false);
    if (!m_options.hosts.empty() || m_network.ports.empty()) {
      return isOther;
    }
    // A model without NICs takes every cable.
    const auto cablesOf = [&](std::size_t i) {
      const HostMatch& match = matches[i];
      return match.model != nullptr && match.model->inside.server->nics.empty()
                 ? m_chosen.ports[static_cast<std::size_t>(order[i])].size()
                 : match.nics.size();
    };
    std::size_t most = 0;
    std::set<std::string> kinds;  // of hosts with more than half of the cables
    for (std::size_t i = 0; i < order.size(); ++i) {
      most = std::max(most, cablesOf(i));
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (matches[i].model != nullptr && 2 * cablesOf(i) > most) {
        kinds.insert(stemOfHost(nameOf(order[i])));
      }
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const HostMatch& match = matches[i];
      const bool isOwn = match.model != nullptr && isSameHost(match.model->hostName, nameOf(order[i]));
      const bool isWhole =
          match.model != nullptr && !match.nics.empty() && match.nics.size() == match.model->inside.server->nics.size();
      if (match.model != nullptr && !isOwn && !isWhole && 2 * cablesOf(i) <= most &&
          !kinds.contains(stemOfHost(nameOf(order[i])))) {
        isOther[i] = true;
        names.push_back(nameOf(order[i]));
      }
    }
    if (!names.empty()) {
      tell(Severity::warning,
           counted(static_cast<std::int64_t>(names.size()), "host") +
               " left out as storage or login: at most half of the cables of the others, and another kind of name: " +
               someOf(names),
           "if they have GPUs, say which hosts to use: --hosts '*'");
    }
    return isOther;
  }

  /// Compute hosts have as many cables as each other; hosts with other numbers may be storage or logins.
  void tellUnlikeHosts() {
    std::map<std::size_t, std::vector<std::string>> byCables;
    for (const int host : m_chosen.hosts) {
      byCables[m_chosen.ports[static_cast<std::size_t>(host)].size()].push_back(nameOf(host));
    }
    if (byCables.size() > 1) {
      std::string text;
      for (const auto& [cables, names] : byCables) {
        text += (text.empty() ? "" : "; ") + counted(static_cast<std::int64_t>(cables), "cable") + ": " +
                counted(static_cast<std::int64_t>(names.size()), "host") + " (" + someOf(names) + ")";
      }
      tell(Severity::warning, "the hosts have different numbers of cables: " + text,
           "choose the hosts with GPUs; others may be storage or login hosts");
    }
  }

  [[nodiscard]] const std::string& nameOf(int host) const {
    return m_network.hosts[static_cast<std::size_t>(host)].name;
  }

  const ClusterNetwork& m_network;
  const std::vector<HostModel>& m_models;
  const NetworkOptions& m_options;
  const std::string& m_fileName;
  ChosenHosts m_chosen;
};

}  // namespace

bool isSameHost(std::string_view a, std::string_view b) {
  const std::string x = lowered(a);
  const std::string y = lowered(b);
  return !x.empty() && !y.empty() &&
         (x == y || (x.find('.') != std::string::npos && x.substr(0, x.find('.')) == y) ||
          (y.find('.') != std::string::npos && y.substr(0, y.find('.')) == x));
}

std::string someOf(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  return commaListOfFirst(kMost, names, [](const std::string& name) { return name; });
}

bool matchesPattern(std::string_view text, std::string_view pattern) {
  return matchesWildcard(pattern, text, [](char p, char t) { return p == '?' || lowered(p) == lowered(t); });
}

ChosenHosts chooseHosts(const ClusterNetwork& network, const std::vector<HostModel>& models,
                        const NetworkOptions& options, const std::string& fileName) {
  return Choosing(network, models, options, fileName).run();
}

}  // namespace coppice::io
