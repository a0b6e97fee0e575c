// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/workspace/feature.hpp"

namespace coppice::designer {

class FindBar;

/// Finding elements and problems, and going to them.
class FindFeature : public Feature {
  Q_OBJECT

public:
  explicit FindFeature(const FeatureHost& host);
  /// For the window to place under the drawing.
  [[nodiscard]] FindBar* bar() const { return m_bar; }

private:
  void goToNextProblem(EditorContext& context);

  FindBar* m_bar;
};

}  // namespace coppice::designer
