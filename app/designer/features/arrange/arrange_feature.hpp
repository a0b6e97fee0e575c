// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>

#include "designer/document/edits.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Placing the selection by hand: alignment, boxes, folding, pins.
class ArrangeFeature : public Feature {
  Q_OBJECT

public:
  explicit ArrangeFeature(const FeatureHost& host);

private:
  using Fill = std::function<void(Edit&, const std::set<ElementId>&)>;
  void add(const QString& id, const QString& text, const QString& tip, const QList<QKeySequence>& keys, Fill fill);
  void addAlignment();
  void addBoxes();
  void addFolding();
  void addPins();
  void updateActions();
  /// Around what is selected; the new box is selected then, and asks for its name.
  void boxSelection(EditorContext& context);
};

}  // namespace coppice::designer
