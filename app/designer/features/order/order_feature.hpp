// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/workspace/feature.hpp"
#include "workflow/rank_order.hpp"

namespace coppice::designer {

/// The order of ranks that loads the busiest link least.
class OrderFeature : public Feature {
  Q_OBJECT

public:
  explicit OrderFeature(const FeatureHost& host);

private:
  void open(EditorContext& context);
  void save(const QString& name, const workflow::RankOrder& made);
};

}  // namespace coppice::designer
