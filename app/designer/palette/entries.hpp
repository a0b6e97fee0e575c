// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "designer/document/model.hpp"

/// What can be put on the canvas: devices, machines and families of fabrics from core/presets, and a person's own
/// templates.
namespace coppice::designer {

struct PaletteEntry {
  enum class Kind {
    device,  ///< one node
    box,     ///< an empty box
    preset,  ///< a fabric of core/presets
    server,  ///< a machine that is made here
    own      ///< a file of the person's own templates
  };

  Kind kind = Kind::device;
  QString id;      ///< stable: "device/gpu", "preset/dgx-a100?boxes=4", "own/NAME"
  QString title;   ///< "DGX A100 cluster"
  QString detail;  ///< quieter, at the right: "4 × 8"
  QString tip;     ///< what it is, a sentence or two
  QString group;   ///< heading that it is under
  QString icon;    ///< devices
  QString many;    ///< devices: what several are called, "GPUs"
  fabric::NodeKind device = fabric::NodeKind::gpu;
  QString nodeName;  ///< devices: what the new node is called; empty = by its kind
  QString preset;    ///< presets: name, and what differs from the defaults
  std::map<std::string, std::string> arguments = {};
  QString path = {};  ///< own templates
};

/// GPU, NVSwitch, switch, PCIe switch, NIC, box.
[[nodiscard]] const std::vector<PaletteEntry>& deviceEntries();
/// Every preset, clusters and graphs with sensible numbers and machines also as one box alone.
[[nodiscard]] const std::vector<PaletteEntry>& templateEntries();
/// Real fabrics for the start page, the best known first.
[[nodiscard]] const std::vector<PaletteEntry>& startEntries();

/// The entry of that id among devices, templates and start entries; nullptr if there is none.
[[nodiscard]] const PaletteEntry* findEntry(const QString& id);

/// The part that the entry stands for. For presets the given arguments replace those of the entry.
/// Errors: those of presets::make and of reading a file. May take seconds for huge arguments.
[[nodiscard]] Result<Model> makePart(const PaletteEntry& entry,
                                     const std::optional<std::map<std::string, std::string>>& arguments = {});

/// How well typed words fit: every word must begin, or be in, the title, group, detail or tip; -1 = not at all. A word
/// in the title counts most.
[[nodiscard]] int entryScore(const PaletteEntry& entry, const QString& typed);

/// What a person asks first of a fabric.
struct FabricSize {
  int gpus = 0;
  int boxes = 0;  ///< outermost boxes with GPUs
  int nodes = 0;
  int links = 0;
  /// "4 × 8" for four boxes of eight GPUs, else "72".
  QString text;
};
[[nodiscard]] FabricSize sizeOf(const Model& model);

}  // namespace coppice::designer
