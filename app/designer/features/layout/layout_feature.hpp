// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/layout/layout_job.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Automatic layout of the selection, or of everything.
class LayoutFeature : public Feature {
  Q_OBJECT

public:
  explicit LayoutFeature(const FeatureHost& host);

private:
  void add(const QString& id, const QString& text, const QString& tip, LayoutKind kind,
           const QList<QKeySequence>& keys = {}, const QString& icon = {});
  void updateActions();

  LayoutJob* m_job;
};

}  // namespace coppice::designer
