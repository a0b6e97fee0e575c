// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/workspace/feature.hpp"

namespace coppice::designer {

class Minimap;

/// Looking at the drawing: tools, zoom and minimap.
class ViewFeature : public Feature {
  Q_OBJECT

public:
  explicit ViewFeature(const FeatureHost& host);

private:
  void addTools();
  void addZoom();
  void updateActions();

  Minimap* m_minimap;
};

}  // namespace coppice::designer
