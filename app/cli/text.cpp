// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/checked.hpp"
#include "base/comma_list.hpp"
#include "base/error_names.hpp"
#include "base/one_line.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace coppice::cli {
namespace {

constexpr std::size_t kListedIds = 6;

std::string_view word(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      break;
  }
  return "error";
}

std::string list(const fabric::Fabric& fabric, const std::vector<fabric::NodeIndex>& nodes) {
  return commaList(nodes, [&](fabric::NodeIndex node) { return oneLine(fabric.nodes()[node].id); });
}

/// The boxes that the nodes fill, as "box b0" or "boxes b0, b1"; nullopt unless the nodes are all nodes of their kind
/// in a few boxes.
std::optional<std::string> wholeBoxes(const fabric::Fabric& fabric, const std::vector<fabric::NodeIndex>& nodes,
                                      const std::vector<fabric::NodeIndex>& others) {
  std::set<std::string> boxes;
  for (const fabric::NodeIndex node : nodes) {
    const std::string& box = fabric.nodes()[node].box;
    if (box.empty() || (boxes.insert(box).second && boxes.size() > kListedIds)) {
      return std::nullopt;
    }
  }
  for (const fabric::NodeIndex node : others) {
    if (boxes.count(fabric.nodes()[node].box) != 0) {
      return std::nullopt;
    }
  }
  const std::string text = commaList(boxes, [](const std::string& box) { return oneLine(box); });
  return (boxes.size() == 1 ? "box " : "boxes ") + text;
}

/// "all 16 GPUs", "GPU b0g1", "15 of 16 GPUs (all but b1g7)"; names the smaller side when it is short.
std::string part(const fabric::Fabric& fabric, const std::vector<fabric::NodeIndex>& in,
                 const std::vector<fabric::NodeIndex>& out, const std::string& noun, const std::string& plural) {
  const std::size_t all = in.size() + out.size();
  if (out.empty()) {
    return all == 1 ? noun + " " + list(fabric, in) : "all " + std::to_string(all) + " " + plural;
  }
  std::string text = std::to_string(in.size()) + " of " + std::to_string(all) + " " + plural;
  if (in.size() <= kListedIds && in.size() <= out.size()) {
    return text + " (" + list(fabric, in) + ")";
  }
  if (out.size() <= kListedIds) {
    return text + " (all but " + list(fabric, out) + ")";
  }
  if (const auto boxes = wholeBoxes(fabric, in, out)) {
    return text + " (" + *boxes + ")";
  }
  if (const auto boxes = wholeBoxes(fabric, out, in)) {
    return text + " (all but " + *boxes + ")";
  }
  return text + " (" + list(fabric, {in.begin(), in.begin() + 3}) + " …)";
}

}  // namespace

std::string boundNote(schedule::BoundScope scope) {
  return scope == schedule::BoundScope::all ? std::string()
                                            : "  note        " + std::string(schedule::sentenceOf(scope)) + "\n";
}

std::string nodeSet(const fabric::Fabric& fabric, std::span<const fabric::NodeIndex> nodes) {
  std::vector<bool> isIn(fabric.nodeCount());
  for (const fabric::NodeIndex node : nodes) {
    isIn[node] = true;
  }
  // GPUs, nics, switches; each inside and outside the set.
  std::array<std::array<std::vector<fabric::NodeIndex>, 2>, 3> groups;
  for (fabric::NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
    const auto at = static_cast<std::size_t>(node);
    const fabric::NodeKind kind = fabric.nodes()[at].kind;
    const std::size_t group = kind == fabric::NodeKind::gpu ? 0 : (kind == fabric::NodeKind::nic ? 1 : 2);
    groups[group][isIn[at] ? 0 : 1].push_back(node);
  }
  constexpr std::array<std::array<const char*, 2>, 3> kNouns{
      {{"GPU", "GPUs"}, {"NIC", "NICs"}, {"switch", "switches"}}};
  std::string text;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (!groups[group][0].empty()) {
      text += (text.empty() ? "" : ", ") +
              part(fabric, groups[group][0], groups[group][1], kNouns[group][0], kNouns[group][1]);
    }
  }
  return text;
}

namespace {

/// Whether the cut counts what leaves S; reductions count what enters it, and an allreduce has a cut of either half.
bool countsLeaving(const fabric::Fabric& fabric, Collective collective, const schedule::Cut& cut) {
  if (collective != Collective::allreduce) {
    return collective == Collective::allgather || collective == Collective::broadcast ||
           collective == Collective::gather;
  }
  std::vector<char> inside(fabric.nodeCount(), 0);
  for (const fabric::NodeIndex node : cut.nodes) {
    inside[node] = 1;
  }
  Bandwidth entering;
  for (const fabric::Arc& arc : fabric.arcs()) {
    if (inside[arc.tail] == 0 && inside[arc.head] != 0) {
      entering += arc.bandwidth;
    }
  }
  return entering != cut.exitBandwidth;
}

}  // namespace

std::string cutSentence(const fabric::Fabric& fabric, Collective collective, const schedule::Cut& cut, bool weighted) {
  std::string subject;
  switch (collective) {
    case Collective::allgather:
    case Collective::gather:
      subject = weighted ? "shards of weight " + std::to_string(cut.demand) + " must leave"
                         : (cut.demand == 1 ? "1 GPU must send its shard out"
                                            : counted(cut.demand, "GPU") + " must send their shards out");
      break;
    case Collective::allreduce:
      if (countsLeaving(fabric, collective, cut)) {
        subject =
            cut.demand == 1 ? "1 GPU must send its sum out" : counted(cut.demand, "GPU") + " must send their sums out";
        break;
      }
      [[fallthrough]];
    case Collective::reduceScatter:
      subject = weighted ? "sums of weight " + std::to_string(cut.demand) + " must enter"
                         : (cut.demand == 1 ? "1 GPU must receive its sum"
                                            : counted(cut.demand, "GPU") + " must receive their sums");
      break;
    case Collective::broadcast:
      subject = "the root's data must leave";
      break;
    case Collective::reduce:
      subject = "the root's sum must enter";
      break;
    case Collective::scatter:
      subject = weighted ? "shards of weight " + std::to_string(cut.demand) + " must enter"
                         : (cut.demand == 1 ? "1 GPU must receive its shard"
                                            : counted(cut.demand, "GPU") + " must receive their shards");
      break;
    case Collective::alltoall:
    case Collective::custom:
      subject = "the data must cross";
      break;
  }
  return subject + " through " + gigabytes(cut.exitBandwidth) + ": " + nodeSet(fabric, cut.nodes);
}

Json idsOf(const fabric::Fabric& fabric, std::span<const fabric::NodeIndex> nodes) {
  Json ids = Json::array();
  for (const fabric::NodeIndex node : nodes) {
    ids.push_back(fabric.nodes()[node].id);
  }
  return ids;
}

Json toJson(const fabric::Fabric& fabric, Collective collective, const schedule::Cut& cut) {
  int gpus = 0;
  for (const fabric::NodeIndex node : cut.nodes) {
    gpus += fabric.nodes()[node].kind == fabric::NodeKind::gpu ? 1 : 0;
  }
  return {{"nodes", idsOf(fabric, cut.nodes)},
          {"gpus", gpus},
          {"size", cut.nodes.size()},
          {"demand", cut.demand},
          {"direction", countsLeaving(fabric, collective, cut) ? "leaving" : "entering"},
          {"exit_bandwidth", toFraction(cut.exitBandwidth)},
          {"exit_bandwidth_GBps", toGBps(cut.exitBandwidth)}};
}

/// {"kind": "link", "index": 3, "tail": "a", "head": "b"}; without what it has not.
Json toJson(const ElementPart& part) {
  Json json = {{"kind", toString(part.kind)}};
  if (part.index >= 0) {
    json["index"] = part.index;
  }
  if (!part.head.empty()) {
    json["tail"] = part.name;
    json["head"] = part.head;
  } else if (!part.name.empty()) {
    json["name"] = part.name;
  }
  return json;
}

Json toJson(const Place& place) {
  Json json = Json::object();
  if (!place.file.empty()) {
    json["file"] = place.file;
  }
  if (place.line > 0) {
    json["line"] = place.line;
  }
  if (place.column > 0) {
    json["column"] = place.column;
  }
  if (!place.element.empty()) {
    json["element"] = toText(place.element);
    for (const ElementPart& part : place.element.parts()) {
      json["parts"].push_back(toJson(part));
    }
  }
  return json;
}

Json toJson(const Finding& finding) {
  return {{"severity", word(finding.severity)},
          {"code", nameOf(finding.code)},
          {"text", finding.text},
          {"fix", finding.fix},
          {"where", toJson(finding.where)}};
}

Json toJson(const std::vector<Finding>& findings) {
  Json json = Json::array();
  for (const Finding& finding : findings) {
    json.push_back(toJson(finding));
  }
  return json;
}

std::string lines(const std::vector<Finding>& findings, std::size_t max) {
  std::string text;
  for (std::size_t i = 0; i < findings.size() && i < max; ++i) {
    text += "  " + oneLine(describe(findings[i])) + "\n";
  }
  if (findings.size() > max) {
    text += "  and " + std::to_string(findings.size() - max) + " more\n";
  }
  return text;
}

}  // namespace coppice::cli
