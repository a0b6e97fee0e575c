// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/schedules/question_feature.hpp"

namespace coppice::designer {

class GroupsPanel;

/// How fast collectives of several groups are that run at the same time.
class GroupsFeature : public QuestionFeature {
  Q_OBJECT

public:
  explicit GroupsFeature(const FeatureHost& host);

private:
  GroupsFeature(const FeatureHost& host, GroupsPanel* panel);
};

}  // namespace coppice::designer
