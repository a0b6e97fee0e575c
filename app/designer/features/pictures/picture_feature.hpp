// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Pictures of the drawing as files.
class PictureFeature : public Feature {
  Q_OBJECT

public:
  explicit PictureFeature(const FeatureHost& host);

private:
  void exportPicture(EditorContext& context);
  void print(EditorContext& context);
};

}  // namespace coppice::designer
