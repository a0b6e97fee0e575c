// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>

#include "designer/frontier/frontier_dialog.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Prices the networks of boxes, and opens one as a fabric.
class FrontierFeature : public Feature {
  Q_OBJECT

public:
  explicit FrontierFeature(const FeatureHost& host);

private:
  /// The data of the action, where it has any, is a list of a preset and a number of GPUs.
  void show();
  void save(const QString& suggestion, const std::string& text);

  QPointer<FrontierDialog> m_dialog;
};

}  // namespace coppice::designer
