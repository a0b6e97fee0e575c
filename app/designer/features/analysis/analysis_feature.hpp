// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <set>

#include "base/units.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

class RankingPanel;
class WhatIfPanel;

/// What would help and what would hurt: upgrades, failures, other bandwidths.
class AnalysisFeature : public Feature {
  Q_OBJECT

public:
  explicit AnalysisFeature(const FeatureHost& host);

private:
  void failSelection(EditorContext& context);
  void follow();
  void tryBandwidth(const std::set<LinkId>& links, const Bandwidth& change, const QString& title);

  RankingPanel* m_upgrades;
  RankingPanel* m_failures;
  WhatIfPanel* m_whatIf;
};

}  // namespace coppice::designer
