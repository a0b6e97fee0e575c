// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/axis_overlay.hpp"

#include <QCoreApplication>
#include <algorithm>

#include "designer/document/counted.hpp"
#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {
namespace {

struct AxisTexts {
  Q_DECLARE_TR_FUNCTIONS(AxisOverlay)
};

}  // namespace

Overlay axisOverlay(const EditorContext& context, const TrainingAnswer& answer, const QString& word,
                    const std::vector<fabric::Rank>& group, const std::vector<workflow::CutLinks>& cut) {
  const fabric::Fabric& fabric = *answer.fabric;
  Hull hull;
  for (const fabric::Rank rank : group) {
    hull.nodes.insert(answer.snapshot.nodes[fabric.gpus()[static_cast<std::size_t>(rank)]]);
  }
  hull.line = Token::accent;
  hull.fill = Token::accentSoft;
  const auto size = static_cast<qsizetype>(hull.nodes.size());
  const qsizetype groups = fabric.gpuCount() / std::max<qsizetype>(size, 1);
  hull.label = groups > 1 ? AxisTexts::tr("%1: %2, one of %3 groups")
                                .arg(word, counted(size, AxisTexts::tr("GPU"), AxisTexts::tr("GPUs")))
                                .arg(groups)
                          : AxisTexts::tr("%1: all %2 GPUs").arg(word).arg(size);
  Overlay overlay;
  overlay.hulls.push_back(std::move(hull));
  overlay.marks = linkMarks(context, answer.snapshot, fabric, cut);
  return overlay;
}

}  // namespace coppice::designer
