// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>

#include "base/collective.hpp"
#include "designer/finder/finder_dialog.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Find a Topology: from numbers of GPUs and ports to a new fabric with its schedule.
class FinderFeature : public Feature {
  Q_OBJECT

public:
  explicit FinderFeature(const FeatureHost& host);

private:
  void show();
  void open(const Model& model, const QString& name, Collective collective, bool withSchedule);

  /// Made when it is first asked for; keeps its fields and results.
  QPointer<FinderDialog> m_dialog;
};

}  // namespace coppice::designer
