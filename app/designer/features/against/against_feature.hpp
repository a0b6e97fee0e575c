// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "designer/features/against/against_dialog.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// The drawing against a plan: what is wired against what was bought.
class AgainstFeature : public Feature {
  Q_OBJECT

public:
  explicit AgainstFeature(const FeatureHost& host);

private:
  /// Of one run; on the thread that computes it nothing of the window is touched.
  struct Answer {
    QPointer<EditorContext> context;
    QString plan;
    Snapshot snapshot;
    std::shared_ptr<const workflow::AgainstPlan> compared;
    std::optional<Error> error;
  };
  void ask(EditorContext& context);
  void show(const Answer& answer);

  QPointer<AgainstDialog> m_dialog;
  LatestJob<std::shared_ptr<const Answer>> m_job;
};

}  // namespace coppice::designer
