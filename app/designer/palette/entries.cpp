// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/entries.hpp"

#include <QCoreApplication>
#include <QFile>
#include <QStringList>
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "designer/document/edits.hpp"
#include "designer/document/fabric_file.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using Arguments = std::map<std::string, std::string>;

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Palette)
};

PaletteEntry device(const QString& id, const QString& title, const QString& many, const QString& tip,
                    fabric::NodeKind kind, const QString& name = {}) {
  PaletteEntry entry;
  entry.id = u"device/"_s + id;
  entry.title = title;
  entry.many = many;
  entry.tip = tip;
  entry.group = Texts::tr("Devices");
  entry.icon = id;
  entry.device = kind;
  entry.nodeName = name;
  return entry;
}

PaletteEntry preset(const QString& group, const QString& title, const char* name, Arguments arguments = {}) {
  PaletteEntry entry;
  entry.kind = PaletteEntry::Kind::preset;
  entry.preset = QLatin1String(name);
  entry.title = title;
  entry.group = group;
  QStringList parts;
  for (const auto& [key, value] : arguments) {
    parts << QString::fromStdString(key) + u'=' + QString::fromStdString(value);
  }
  entry.id = u"preset/"_s + entry.preset + (parts.isEmpty() ? QString() : u'?' + parts.join(u'&'));
  entry.arguments = std::move(arguments);
  if (const presets::Preset* known = presets::find(name)) {
    entry.tip = QString::fromStdString(known->description);
  }
  return entry;
}

PaletteEntry pcieServer(const QString& group) {
  PaletteEntry entry;
  entry.kind = PaletteEntry::Kind::server;
  entry.id = u"server/pcie"_s;
  entry.title = Texts::tr("PCIe server");
  entry.group = group;
  entry.detail = u"8"_s;
  entry.tip = Texts::tr(
      "Eight GPUs and four NICs on two PCIe 4.0 switches under one root, every slot 16 lanes wide "
      "(31.5 GB/s per direction)");
  return entry;
}

/// Two PCIe switches with four GPUs and two NICs each, joined by the root complex.
/// 16 lanes of PCIe 4.0: 16 GT/s, 128b/130b: 31.5 GB/s per direction (PCI Express Base Specification 4.0).
Model makePcieServer() {
  Model model;
  Edit edit(model);
  constexpr double kStep = 100;
  constexpr int kSwitches = 2;
  constexpr int kGpusEach = 4;
  constexpr int kNicsEach = 2;
  const edits::LinkTemplate slot{"31.5", true, 1};
  Box box;
  box.name = "server";
  const BoxId inside = edit.add(std::move(box));
  const double middle = (kSwitches * kGpusEach - 1) * kStep / 2;
  const NodeId root = edits::addNode(edit, fabric::NodeKind::switchNode, {middle, 3 * kStep}, inside, "root");
  for (int s = 0; s < kSwitches; ++s) {
    const double left = s * kGpusEach * kStep;
    const NodeId hub =
        edits::addNode(edit, fabric::NodeKind::switchNode, {left + 1.5 * kStep, 2 * kStep}, inside, "pcie0");
    static_cast<void>(edits::addLink(edit, hub, root, slot));
    for (int g = 0; g < kGpusEach; ++g) {
      const NodeId gpu = edits::addNode(edit, fabric::NodeKind::gpu, {left + g * kStep, kStep}, inside, "gpu0");
      static_cast<void>(edits::addLink(edit, gpu, hub, slot));
    }
    for (int n = 0; n < kNicsEach; ++n) {
      const NodeId nic = edits::addNode(edit, fabric::NodeKind::nic, {left + (1 + n) * kStep, 0}, inside, "nic0");
      static_cast<void>(edits::addLink(edit, nic, hub, slot));
    }
  }
  model.applyTrusted(edit.patch());
  return model;
}

Result<Model> makeDevice(const PaletteEntry& entry) {
  Model model;
  Edit edit(model);
  if (entry.kind == PaletteEntry::Kind::box) {
    constexpr double kWidth = 240;
    constexpr double kHeight = 140;
    Box box;
    box.name = "box";
    box.frame = Rect{0, 0, kWidth, kHeight};
    edit.add(std::move(box));
  } else {
    edits::addNode(edit, entry.device, {}, {}, entry.nodeName.toStdString());
  }
  model.applyTrusted(edit.patch());
  return model;
}

}  // namespace

const std::vector<PaletteEntry>& deviceEntries() {
  static const std::vector<PaletteEntry> kAll = [] {
    using fabric::NodeKind;
    std::vector<PaletteEntry> list{
        device(u"gpu"_s, Texts::tr("GPU"), Texts::tr("GPUs"), Texts::tr("Computes, and holds a share of the data"),
               NodeKind::gpu),
        device(u"nvswitch"_s, Texts::tr("NVSwitch"), Texts::tr("NVSwitches"), Texts::tr("The switch inside a box"),
               NodeKind::switchNode, u"nvs"_s),
        device(u"switch"_s, Texts::tr("Switch"), Texts::tr("switches"),
               Texts::tr("A switch of the network between boxes"), NodeKind::switchNode),
        device(u"nic"_s, Texts::tr("NIC"), Texts::tr("NICs"), Texts::tr("Relays between a box and the network"),
               NodeKind::nic),
        device(u"pcie"_s, Texts::tr("PCIe"), Texts::tr("PCIe switches"), Texts::tr("A PCIe switch inside a box"),
               NodeKind::switchNode, u"pcie0"_s),
    };
    PaletteEntry box = device(u"box"_s, Texts::tr("Box"), Texts::tr("boxes"),
                              Texts::tr("An empty box; drag things into it"), NodeKind::gpu);
    box.kind = PaletteEntry::Kind::box;
    list.push_back(std::move(box));
    return list;
  }();
  return kAll;
}

const std::vector<PaletteEntry>& templateEntries() {
  static const std::vector<PaletteEntry> kAll = [] {
    const QString clusters = Texts::tr("Clusters");
    const QString boxes = Texts::tr("Boxes");
    const QString graphs = Texts::tr("Graphs");
    std::vector<PaletteEntry> list{
        preset(clusters, Texts::tr("DGX A100 cluster"), "dgx-a100", {{"boxes", "4"}}),
        preset(clusters, Texts::tr("DGX H100, rails"), "dgx-h100", {{"boxes", "4"}, {"network", "rails"}}),
        preset(clusters, Texts::tr("DGX B200 cluster"), "dgx-b200", {{"boxes", "4"}}),
        preset(clusters, Texts::tr("GB200 NVL72, racks"), "gb200-nvl72", {{"racks", "2"}}),
        preset(clusters, Texts::tr("HGX B300 cluster"), "hgx-b300", {{"boxes", "4"}}),
        preset(clusters, Texts::tr("GB300 NVL72, racks"), "gb300-nvl72", {{"racks", "2"}}),
        preset(clusters, Texts::tr("MI300X cluster"), "hgx-mi300x", {{"boxes", "4"}}),
        preset(clusters, Texts::tr("MI355X cluster"), "hgx-mi355x", {{"boxes", "4"}}),
        preset(clusters, Texts::tr("Gaudi 3 cluster"), "gaudi3", {{"boxes", "4"}}),
        preset(clusters, Texts::tr("AWS P5"), "aws-p5"),
        preset(clusters, Texts::tr("AWS P6-B200"), "aws-p6-b200"),
        preset(clusters, Texts::tr("AWS P6-B300"), "aws-p6-b300"),
        preset(clusters, Texts::tr("AWS P6e-GB200"), "aws-p6e-gb200", {{"racks", "2"}}),
        preset(clusters, Texts::tr("Azure ND H100 v5"), "azure-nd-h100-v5"),
        preset(clusters, Texts::tr("Azure ND GB200 v6"), "azure-nd-gb200-v6", {{"racks", "2"}}),
        preset(clusters, Texts::tr("MI250 cluster"), "mi250"),
        preset(clusters, Texts::tr("DGX-2 cluster"), "dgx2"),
        preset(clusters, Texts::tr("DGX-1 V100 cluster"), "dgx1-v100", {{"boxes", "2"}}),
        preset(clusters, Texts::tr("Azure NDv2"), "azure-ndv2"),
        preset(clusters, Texts::tr("Rail-optimised"), "rail-optimised"),
        preset(clusters, Texts::tr("Rail-optimised, three tiers"), "rail-optimised-3"),
        preset(clusters, Texts::tr("Two planes"), "two-plane"),
        preset(clusters, Texts::tr("Rail-only"), "rail-only"),
        preset(clusters, Texts::tr("Custom boxes"), "cluster"),
        preset(boxes, Texts::tr("DGX A100"), "dgx-a100", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("DGX H100"), "dgx-h100", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("DGX H200"), "dgx-h200", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("DGX B200"), "dgx-b200", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("GB200 NVL72"), "gb200-nvl72"),
        preset(boxes, Texts::tr("HGX B300"), "hgx-b300", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("GB300 NVL72"), "gb300-nvl72"),
        preset(boxes, Texts::tr("HGX MI300X"), "hgx-mi300x", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("HGX MI325X"), "hgx-mi325x", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("HGX MI355X"), "hgx-mi355x", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("Gaudi 3"), "gaudi3", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("Trainium 2"), "trainium2"),
        preset(boxes, Texts::tr("Trn2 UltraServer"), "trainium2", {{"instances", "4"}}),
        preset(boxes, Texts::tr("TPU v5p slice"), "tpu-v5p"),
        preset(boxes, Texts::tr("TPU v7 slice"), "tpu-v7"),
        preset(boxes, Texts::tr("MI250"), "mi250", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("DGX-2"), "dgx2", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("DGX-1 V100"), "dgx1-v100"),
        preset(boxes, Texts::tr("NDv2, one box"), "azure-ndv2", {{"boxes", "1"}}),
        preset(boxes, Texts::tr("Gigabyte Z52, MI50"), "gigabyte-z52-mi50"),
        pcieServer(boxes),
        preset(graphs, Texts::tr("Fat tree, 2 tiers"), "fat-tree-2"),
        preset(graphs, Texts::tr("Fat tree, 3 tiers"), "fat-tree-3"),
        preset(graphs, Texts::tr("Dragonfly"), "dragonfly"),
        preset(graphs, Texts::tr("Ring"), "ring"),
        preset(graphs, Texts::tr("Torus"), "torus"),
        preset(graphs, Texts::tr("Mesh"), "mesh"),
        preset(graphs, Texts::tr("Hypercube"), "hypercube"),
        preset(graphs, Texts::tr("Complete graph"), "complete"),
        preset(graphs, Texts::tr("Complete bipartite"), "complete-bipartite"),
        preset(graphs, Texts::tr("Worked example, fig. 4.5"), "fig-4-5"),
    };
    // A preset that core learns later is offered, too.
    std::set<QString> named;
    for (const PaletteEntry& entry : list) {
      named.insert(entry.preset);
    }
    for (const presets::Preset& known : presets::catalogue()) {
      if (!named.contains(QString::fromStdString(known.name))) {
        list.push_back(preset(graphs, QString::fromStdString(known.title), known.name.c_str()));
      }
    }
    return list;
  }();
  return kAll;
}

const std::vector<PaletteEntry>& startEntries() {
  static const std::vector<PaletteEntry> kAll = [] {
    const QString group = Texts::tr("Fabrics");
    return std::vector<PaletteEntry>{
        preset(group, Texts::tr("DGX A100"), "dgx-a100", {{"boxes", "4"}}),
        preset(group, Texts::tr("DGX H100, rails"), "dgx-h100", {{"boxes", "4"}, {"network", "rails"}}),
        preset(group, Texts::tr("DGX B200"), "dgx-b200", {{"boxes", "4"}}),
        preset(group, Texts::tr("GB200 NVL72"), "gb200-nvl72"),
        preset(group, Texts::tr("HGX MI300X"), "hgx-mi300x", {{"boxes", "4"}}),
        preset(group, Texts::tr("MI250"), "mi250"),
        preset(group, Texts::tr("DGX-2"), "dgx2"),
        preset(group, Texts::tr("DGX-1 V100"), "dgx1-v100"),
        preset(group, Texts::tr("Azure NDv2"), "azure-ndv2"),
        preset(group, Texts::tr("Rail-only cluster"), "rail-only"),
        preset(group, Texts::tr("Fat tree, 3 tiers"), "fat-tree-3"),
        preset(group, Texts::tr("Dragonfly"), "dragonfly"),
        preset(group, Texts::tr("Torus 4 × 4 × 4"), "torus", {{"dims", "4x4x4"}}),
        preset(group, Texts::tr("Worked example, fig. 4.5"), "fig-4-5"),
    };
  }();
  return kAll;
}

const PaletteEntry* findEntry(const QString& id) {
  for (const auto* list : {&deviceEntries(), &templateEntries(), &startEntries()}) {
    const auto found =
        std::find_if(list->begin(), list->end(), [&](const PaletteEntry& entry) { return entry.id == id; });
    if (found != list->end()) {
      return &*found;
    }
  }
  return nullptr;
}

Result<Model> makePart(const PaletteEntry& entry, const std::optional<Arguments>& arguments) {
  switch (entry.kind) {
    case PaletteEntry::Kind::device:
    case PaletteEntry::Kind::box:
      return makeDevice(entry);
    case PaletteEntry::Kind::server:
      return makePcieServer();
    case PaletteEntry::Kind::preset: {
      const auto made = presets::make(entry.preset.toStdString(), arguments ? *arguments : entry.arguments);
      if (!made) {
        return made.error();
      }
      return readArranged(*made).model;
    }
    case PaletteEntry::Kind::own: {
      const std::filesystem::path path = QFile::encodeName(entry.path).toStdString();
      const auto text = io::readFile(path);
      if (!text) {
        return text.error();
      }
      auto read = readFabricFile(*text, path.string());
      if (!read) {
        return read.error();
      }
      return std::move(read->model);
    }
  }
  return Error{ErrorCode::badUsage, "there is nothing to place", "choose another entry"};
}

int entryScore(const PaletteEntry& entry, const QString& typed) {
  constexpr int kWordStart = 12;
  constexpr int kInTitle = 6;
  constexpr int kElsewhere = 1;
  int score = 0;
  const QStringList words = typed.simplified().toLower().split(u' ', Qt::SkipEmptyParts);
  const QString title = entry.title.toLower();
  const QString rest = (entry.group + u' ' + entry.detail + u' ' + entry.tip + u' ' + entry.preset).toLower();
  for (const QString& word : words) {
    const qsizetype at = title.indexOf(word);
    if (at >= 0) {
      score += at == 0 || !title[at - 1].isLetterOrNumber() ? kWordStart : kInTitle;
    } else if (rest.contains(word)) {
      score += kElsewhere;
    } else {
      return -1;
    }
  }
  return score;
}

FabricSize sizeOf(const Model& model) {
  FabricSize size;
  size.nodes = static_cast<int>(model.nodes().size());
  size.links = static_cast<int>(model.links().size());
  std::map<BoxId, int> gpusIn;
  for (const auto& [id, node] : model.nodes()) {
    if (node.kind() != fabric::NodeKind::gpu) {
      continue;
    }
    ++size.gpus;
    BoxId box = node.facts.box;
    while (box.isValid() && model.find(box)->parent.isValid()) {
      box = model.find(box)->parent;
    }
    ++gpusIn[box];
  }
  const int apart = gpusIn.contains(BoxId{}) ? 1 : 0;
  size.boxes = static_cast<int>(gpusIn.size()) - apart;
  const bool isEven = apart == 0 && std::all_of(gpusIn.begin(), gpusIn.end(), [&](const auto& entry) {
                        return entry.second == gpusIn.begin()->second;
                      });
  size.text =
      isEven && size.boxes > 1 ? u"%1 × %2"_s.arg(size.boxes).arg(gpusIn.begin()->second) : QString::number(size.gpus);
  return size;
}

}  // namespace coppice::designer
