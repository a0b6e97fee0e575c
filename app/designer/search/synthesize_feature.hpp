// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/document/followed.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

class SynthesizeDialog;

/// Searching for few-step schedules of the current fabric.
class SynthesizeFeature : public Feature {
  Q_OBJECT

public:
  explicit SynthesizeFeature(const FeatureHost& host);

  /// Made at the first call.
  [[nodiscard]] SynthesizeDialog& dialog();

private:
  void follow();
  void updateAction();

  SynthesizeDialog* m_dialog = nullptr;
  Followed m_followed;  ///< connections to the current document
};

}  // namespace coppice::designer
