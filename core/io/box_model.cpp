// SPDX-License-Identifier: Apache-2.0
#include "io/box_model.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/counted.hpp"
#include "base/disjoint_sets.hpp"
#include "base/units.hpp"
#include "io/text_place.hpp"

namespace coppice::io {
namespace {

constexpr int kMaxBoxes = 1024;
constexpr std::size_t kMaxBoxNodes = 200000;

struct NamedScaleOut {
  ScaleOut value;
  std::string_view name;
};
// ScaleOut::open is for callers that join the NICs themselves.
constexpr NamedScaleOut kScaleOuts[] = {{ScaleOut::none, "none"},
                                        {ScaleOut::oneSwitch, "switch"},
                                        {ScaleOut::rails, "rails"},
                                        {ScaleOut::oddEvenPlanes, "planes"}};

Finding note(std::string text, std::string fix = {}) {
  return {Severity::note, ErrorCode::badInput, std::move(text), std::move(fix)};
}

/// The box's non-NVLink side as a graph that shrinks.
class HostGraph {
public:
  explicit HostGraph(const Box& box) : m_box(box), m_incident(box.nodes.size()) {}

  void add(const BoxLink& link) {
    m_incident[link.a].push_back(static_cast<int>(m_links.size()));
    m_incident[link.b].push_back(static_cast<int>(m_links.size()));
    m_links.push_back({link, true});
  }

  /// Removes relays that lead nowhere and merges those with two links, until none is left.
  void shrink() {
    std::vector<int> work;
    for (int node = 0; node < static_cast<int>(m_box.nodes.size()); ++node) {
      work.push_back(node);
    }
    while (!work.empty()) {
      const int node = work.back();
      work.pop_back();
      if (!isRelay(node)) {
        continue;
      }
      const std::vector<int> incident = links(node);
      if (incident.size() == 1) {
        work.push_back(other(incident[0], node));
        drop(incident[0]);
      } else if (incident.size() == 2) {
        const int a = other(incident[0], node);
        const int b = other(incident[1], node);
        if (a == b) {
          drop(incident[0]);
          drop(incident[1]);
          work.push_back(a);
          continue;
        }
        const Bandwidth bandwidth = std::min(total(incident[0]), total(incident[1]));
        drop(incident[0]);
        drop(incident[1]);
        add({a, b, bandwidth, 1});
        work.push_back(a);
        work.push_back(b);
      }
    }
  }

  /// Turns each bridge between as many GPUs as NICs, and nothing else, into direct links.
  /// Returns how many bridges went.
  std::size_t pairNics() {
    std::size_t paired = 0;
    for (int node = 0; node < static_cast<int>(m_box.nodes.size()); ++node) {
      if (!isRelay(node)) {
        continue;
      }
      const std::vector<int> incident = links(node);
      std::vector<std::pair<int, int>> gpus;
      std::vector<std::pair<int, int>> nics;
      bool isStar = !incident.empty();
      for (const int link : incident) {
        const int end = other(link, node);
        const BoxRole role = m_box.nodes[end].role;
        isStar = isStar && (role == BoxRole::gpu || role == BoxRole::nic) && links(end).size() == 1;
        (role == BoxRole::gpu ? gpus : nics).emplace_back(end, link);
      }
      if (!isStar || gpus.size() != nics.size()) {
        continue;
      }
      std::sort(gpus.begin(), gpus.end());
      std::sort(nics.begin(), nics.end());
      for (std::size_t i = 0; i < gpus.size(); ++i) {
        const Bandwidth bandwidth = std::min(total(gpus[i].second), total(nics[i].second));
        drop(gpus[i].second);
        drop(nics[i].second);
        add({gpus[i].first, nics[i].first, bandwidth, 1});
      }
      ++paired;
    }
    return paired;
  }

  /// A NIC with one link passes on no more than its network link takes, so that link needs no more either. Nothing is
  /// lost, and the numbers of the fabric have more in common (fewer trees per root).
  void capNicLinks() {
    for (int node = 0; node < static_cast<int>(m_box.nodes.size()); ++node) {
      const std::vector<int> incident = links(node);
      if (m_box.nodes[node].role == BoxRole::nic && incident.size() == 1) {
        BoxLink& link = m_links[incident[0]].link;
        link.bandwidth = std::min(link.bandwidth, m_box.nodes[node].netBandwidth);
      }
    }
  }

  /// Ordered by ends, so that the order of merging does not show.
  [[nodiscard]] std::vector<BoxLink> liveLinks() const {
    std::vector<BoxLink> live;
    for (const Entry& entry : m_links) {
      if (entry.alive) {
        live.push_back(entry.link);
        if (live.back().a > live.back().b) {
          std::swap(live.back().a, live.back().b);
        }
      }
    }
    std::stable_sort(live.begin(), live.end(),
                     [](const BoxLink& x, const BoxLink& y) { return std::tie(x.a, x.b) < std::tie(y.a, y.b); });
    return live;
  }

private:
  struct Entry {
    BoxLink link;
    bool alive;
  };

  [[nodiscard]] bool isRelay(int node) const {
    const BoxRole role = m_box.nodes[node].role;
    return role == BoxRole::bridge || role == BoxRole::cpu;
  }
  [[nodiscard]] int other(int link, int node) const {
    const BoxLink& ends = m_links[link].link;
    return ends.a == node ? ends.b : ends.a;
  }
  [[nodiscard]] Bandwidth total(int link) const {
    const BoxLink& entry = m_links[link].link;
    return entry.bandwidth * Rational(entry.count);
  }
  void drop(int link) { m_links[link].alive = false; }
  std::vector<int> links(int node) {
    std::vector<int>& incident = m_incident[node];
    std::erase_if(incident, [&](int link) { return !m_links[link].alive; });
    return incident;
  }

  const Box& m_box;
  std::vector<Entry> m_links;
  std::vector<std::vector<int>> m_incident;
};

/// One run of assembleBoxes.
class Assembly {
public:
  Assembly(const Box& box, const BoxOptions& options) : m_box(box), m_options(options) {}

  Result<ImportResult> run() {
    if (auto outcome = checkOptions(); !outcome) {
      return outcome.error();
    }
    if (auto outcome = chooseNics(); !outcome) {
      return outcome.error();
    }
    const std::vector<BoxLink> host = reducedHostLinks();
    if (auto outcome = checkJoined(host); !outcome) {
      return outcome.error();
    }
    return emit(host);
  }

private:
  [[nodiscard]] const BoxNode& node(int index) const { return m_box.nodes[index]; }
  [[nodiscard]] int size() const { return static_cast<int>(m_box.nodes.size()); }
  [[nodiscard]] bool isNetworkMade() const {
    return m_options.scaleOut != ScaleOut::none && m_options.scaleOut != ScaleOut::open;
  }

  Outcome checkOptions() {
    if (m_options.count < 1 || m_options.count > kMaxBoxes) {
      return Error{ErrorCode::badUsage, "the number of boxes is " + std::to_string(m_options.count),
                   "choose 1 to " + std::to_string(kMaxBoxes)};
    }
    if (m_options.count > 1 && !isNetworkMade()) {
      return Error{ErrorCode::badUsage, std::to_string(m_options.count) + " boxes need a network that joins them",
                   "choose a scale-out: switch, rails or planes"};
    }
    if (m_box.nodes.size() > kMaxBoxNodes / static_cast<std::size_t>(m_options.count)) {
      return Error{ErrorCode::limit,
                   std::to_string(m_options.count) + " boxes of " + counted(m_box.nodes.size(), "node") +
                       " are more than " + std::to_string(kMaxBoxNodes) + " nodes",
                   "import fewer boxes"};
    }
    return Done{};
  }

  Outcome chooseNics() {
    std::set<std::string> wanted(m_options.nics.begin(), m_options.nics.end());
    std::set<std::string> unknown = wanted;
    m_isNicUsed.assign(m_box.nodes.size(), false);
    std::size_t skipped = 0;
    std::vector<int> all;
    m_result.server.emplace();
    for (int i = 0; i < size(); ++i) {
      if (node(i).role != BoxRole::nic) {
        continue;
      }
      all.push_back(i);
      m_result.server->nics.push_back({node(i).id, node(i).device, node(i).netBandwidth});
      unknown.erase(node(i).id);
      unknown.erase(node(i).device);
      if (wanted.empty() || wanted.contains(node(i).id) || wanted.contains(node(i).device)) {
        m_nics.push_back(i);
      } else {
        ++skipped;
      }
    }
    if (!unknown.empty()) {
      std::string names;
      for (std::size_t i = 0; i < all.size() && i < 16; ++i) {
        const BoxNode& nic = node(all[i]);
        names += (names.empty() ? "" : ", ") + nic.id + (nic.device.empty() ? "" : " (" + nic.device + ")");
      }
      return Error{ErrorCode::badUsage, "the box has no NIC called \"" + *unknown.begin() + "\"",
                   names.empty() ? "the file lists no NICs" : "it has " + names};
    }
    if (skipped > 0) {
      m_result.findings.push_back(note(counted(skipped, "NIC") + " left out, as asked"));
    }
    if (isNetworkMade() && m_nics.empty()) {
      return Error{ErrorCode::badUsage, "the box has no NICs to join to a network",
                   m_box.nicFix.empty() ? "add NICs to the file, or import one box with scale-out none" : m_box.nicFix};
    }
    if (m_options.scaleOut == ScaleOut::none && !m_options.keepPcie && !m_nics.empty()) {
      m_result.findings.push_back(note(counted(m_nics.size(), "NIC") + " left out: no network joins them",
                                       "choose a scale-out, or keep PCIe, to see them"));
      m_nics.clear();
    }
    for (const int nic : m_nics) {
      m_isNicUsed[nic] = true;
    }
    return Done{};
  }

  /// In every server.
  [[nodiscard]] bool areGpusJoinedByNvlink() const {
    DisjointSets sets(m_box.nodes.size());
    for (const BoxLink& link : m_box.gpuLinks) {
      sets.join(link.a, link.b);
    }
    std::map<int, int> firstOf;  // server -> set of its first GPU
    for (int i = 0; i < size(); ++i) {
      if (node(i).role == BoxRole::gpu && firstOf.emplace(node(i).host, sets.find(i)).first->second != sets.find(i)) {
        return false;
      }
    }
    return true;
  }

  /// Marks the links from each used NIC to its nearest GPUs: those under its lowest bridge or CPU that has any.
  void keepNicPaths(std::vector<bool>& isUplinkKept, std::vector<bool>& isHostLinkKept) const {
    const auto gpusBelow = [&] {
      std::vector<std::vector<int>> below(m_box.nodes.size());
      for (int i = 0; i < size(); ++i) {
        if (node(i).role == BoxRole::gpu) {
          for (int up = i; up >= 0; up = node(up).parent) {
            below[up].push_back(i);
          }
        }
      }
      return below;
    }();
    std::vector<bool> isDone(m_box.nodes.size(), false);
    const auto keepDown = [&](int top) {
      if (isDone[top]) {
        return;
      }
      isDone[top] = true;
      for (const int gpu : gpusBelow[top]) {
        for (int up = gpu; up != top; up = node(up).parent) {
          isUplinkKept[up] = true;
        }
      }
    };
    std::vector<bool> isTouched(m_box.nodes.size(), false);
    for (const int nic : m_nics) {
      int top = nic;
      while (gpusBelow[top].empty() && node(top).parent >= 0) {
        isUplinkKept[top] = true;
        top = node(top).parent;
      }
      isTouched[top] = true;
      if (!gpusBelow[top].empty()) {
        keepDown(top);
        continue;
      }
      for (std::size_t i = 0; i < m_box.hostLinks.size(); ++i) {
        const BoxLink& link = m_box.hostLinks[i];
        if (link.a == top || link.b == top) {
          const int far = link.a == top ? link.b : link.a;
          if (!gpusBelow[far].empty()) {
            isHostLinkKept[i] = true;
            isTouched[far] = true;
            keepDown(far);
          }
        }
      }
    }
    // A GPU's own link to a CPU (NVLink-C2C, POWER9) is a second way to a NIC below that CPU.
    for (std::size_t i = 0; i < m_box.hostLinks.size(); ++i) {
      const BoxLink& link = m_box.hostLinks[i];
      const bool isA = node(link.a).role == BoxRole::gpu;
      const bool isB = node(link.b).role == BoxRole::gpu;
      if (isA != isB && isTouched[isA ? link.b : link.a]) {
        isHostLinkKept[i] = true;
      }
    }
  }

  std::vector<BoxLink> reducedHostLinks() {
    const bool joined = areGpusJoinedByNvlink();
    const bool keepAll = m_options.keepPcie || !joined;
    std::vector<bool> isUplinkKept(m_box.nodes.size(), keepAll);
    std::vector<bool> isHostLinkKept(m_box.hostLinks.size(), keepAll);
    if (!keepAll) {
      keepNicPaths(isUplinkKept, isHostLinkKept);
    }
    HostGraph graph(m_box);
    std::size_t left = 0;
    for (int i = 0; i < size(); ++i) {
      if (node(i).parent < 0 || (node(i).role == BoxRole::nic && !m_isNicUsed[i])) {
        continue;
      }
      if (isUplinkKept[i]) {
        graph.add({i, node(i).parent, node(i).uplink, 1});
      } else {
        ++left;
      }
    }
    for (std::size_t i = 0; i < m_box.hostLinks.size(); ++i) {
      if (isHostLinkKept[i]) {
        graph.add(m_box.hostLinks[i]);
      } else {
        ++left;
      }
    }
    if (left > 0) {
      m_result.findings.push_back(note(counted(left, "PCIe and CPU link") +
                                           " left out: NVLink or xGMI joins the GPUs, and no " +
                                           "path from a GPU to its nearest NIC runs there",
                                       "keep PCIe to see them"));
    }
    if (!m_options.keepPcie) {
      graph.shrink();
      if (joined) {
        if (const std::size_t paired = graph.pairNics(); paired > 0) {
          m_result.findings.push_back(
              note(counted(paired, "PCIe bridge") + " with as many NICs as GPUs became direct GPU-NIC links",
                   "keep PCIe to see the bridges"));
        }
      }
    }
    if (!m_options.keepPcie) {
      graph.capNicLinks();
    }
    return graph.liveLinks();
  }

  Outcome checkJoined(const std::vector<BoxLink>& host) const {
    DisjointSets sets(m_box.nodes.size() + std::max<std::size_t>(m_nics.size(), 2));
    for (const BoxLink& link : m_box.gpuLinks) {
      sets.join(link.a, link.b);
    }
    for (const BoxLink& link : host) {
      sets.join(link.a, link.b);
    }
    // A rail joins one NIC of each server only; one switch and planes also join different NICs of a server.
    if (isNetworkMade()) {
      for (std::size_t i = 0; i < m_nics.size(); ++i) {
        sets.join(m_nics[i], size() + networkOf(i));
      }
    }
    int first = -1;
    for (int i = 0; i < size(); ++i) {
      if (node(i).role != BoxRole::gpu) {
        continue;
      }
      if (first < 0) {
        first = i;
      } else if (m_options.scaleOut != ScaleOut::open && sets.find(i) != sets.find(first)) {
        return Error{ErrorCode::infeasible,
                     "nothing connects " + node(first).id + " and " + node(i).id + " in the box",
                     node(i).host == node(first).host ? "add their NVLink, PCIe or CPU links to the file"
                                                      : "choose a scale-out that joins the NICs of the servers",
                     {.element = {RefKind::field, m_box.name}}};
      }
    }
    if (m_options.count > 1) {
      const bool reaches = std::any_of(m_nics.begin(), m_nics.end(),
                                       [&](int nic) { return first >= 0 && sets.find(nic) == sets.find(first); });
      if (!reaches) {
        return Error{ErrorCode::infeasible,
                     "no GPU of the box reaches a NIC",
                     "add the links between them to the file",
                     {.element = {RefKind::field, m_box.name}}};
      }
    }
    return Done{};
  }

  ImportResult emit(const std::vector<BoxLink>& host) {
    std::vector<bool> isUsed(m_box.nodes.size(), false);
    for (int i = 0; i < size(); ++i) {
      isUsed[i] = node(i).role == BoxRole::gpu || (m_options.keepPcie && node(i).role != BoxRole::nic) ||
                  (node(i).role == BoxRole::nic && m_isNicUsed[i]);
    }
    for (const auto* links : {&m_box.gpuLinks, &host}) {
      for (const BoxLink& link : *links) {
        isUsed[link.a] = true;
        isUsed[link.b] = true;
      }
    }
    fabric::Description& out = m_result.description;
    out.name = m_options.count == 1 ? m_box.name : std::to_string(m_options.count) + "x " + m_box.name;
    for (int copy = 0; copy < m_options.count; ++copy) {
      for (int i = 0; i < size(); ++i) {
        if (!isUsed[i]) {
          continue;
        }
        fabric::NodeDescription described;
        described.id = idOf(copy, i);
        const BoxRole role = node(i).role;
        described.kind = role == BoxRole::gpu ? "gpu" : (role == BoxRole::nic ? "nic" : "switch");
        described.box = "box" + std::to_string(copy);
        if (node(i).host >= 0) {
          described.box += "/host" + std::to_string(node(i).host);
        }
        out.nodes.push_back(std::move(described));
      }
      for (const auto* links : {&m_box.gpuLinks, &host}) {
        for (const BoxLink& link : *links) {
          out.links.push_back({idOf(copy, link.a), idOf(copy, link.b), toExactText(link.bandwidth), true, link.count});
        }
      }
    }
    emitNetwork(out);
    return std::move(m_result);
  }

  /// Which switch of the network a NIC is on.
  [[nodiscard]] int networkOf(std::size_t nicIndex) const {
    int ofServer = 0;
    for (std::size_t i = 0; i < nicIndex; ++i) {
      ofServer += node(m_nics[i]).host == node(m_nics[nicIndex]).host ? 1 : 0;
    }
    return m_options.scaleOut == ScaleOut::rails           ? ofServer
           : m_options.scaleOut == ScaleOut::oddEvenPlanes ? ofServer % 2
                                                           : 0;
  }

  void emitNetwork(fabric::Description& out) const {
    if (!isNetworkMade()) {
      return;
    }
    const auto switchOf = [&](std::size_t nicIndex) -> std::string {
      const std::string number = std::to_string(networkOf(nicIndex));
      return m_options.scaleOut == ScaleOut::rails           ? "rail" + number
             : m_options.scaleOut == ScaleOut::oddEvenPlanes ? "plane" + number
                                                             : "network";
    };
    std::set<std::string> made;
    for (std::size_t i = 0; i < m_nics.size(); ++i) {
      if (made.insert(switchOf(i)).second) {
        fabric::NodeDescription described;
        described.id = switchOf(i);
        described.kind = "switch";
        out.nodes.push_back(std::move(described));
      }
    }
    for (int copy = 0; copy < m_options.count; ++copy) {
      for (std::size_t i = 0; i < m_nics.size(); ++i) {
        out.links.push_back({idOf(copy, m_nics[i]), switchOf(i), toExactText(node(m_nics[i]).netBandwidth), true, 1});
      }
    }
  }

  [[nodiscard]] std::string idOf(int copy, int index) const {
    return m_options.count == 1 ? node(index).id : "box" + std::to_string(copy) + "." + node(index).id;
  }

  const Box& m_box;
  const BoxOptions& m_options;
  std::vector<int> m_nics;
  std::vector<bool> m_isNicUsed;
  ImportResult m_result;
};

}  // namespace

std::string_view toString(ScaleOut scaleOut) {
  for (const NamedScaleOut& entry : kScaleOuts) {
    if (entry.value == scaleOut) {
      return entry.name;
    }
  }
  return "none";
}

std::optional<ScaleOut> parseScaleOut(std::string_view text) {
  for (const NamedScaleOut& entry : kScaleOuts) {
    if (entry.name == text) {
      return entry.value;
    }
  }
  return std::nullopt;
}

Result<ImportResult> assembleBoxes(const Box& box, const BoxOptions& options) {
  return Assembly(box, options).run();
}

Result<ImportResult> assembleServer(const Box& box, const BoxOptions& options, std::vector<Finding> findings,
                                    ImportedServer taken, const std::string& fileName) {
  auto assembled = assembleBoxes(box, options);
  if (!assembled) {
    Error error = assembled.error();
    error.where.file = fileName;
    return error;
  }
  findings.insert(findings.end(), assembled->findings.begin(), assembled->findings.end());
  for (Finding& finding : findings) {
    finding.where.file = fileName;
  }
  taken.nics = std::move(assembled->server->nics);
  return ImportResult{std::move(assembled->description), std::move(findings), std::move(taken)};
}

}  // namespace coppice::io
