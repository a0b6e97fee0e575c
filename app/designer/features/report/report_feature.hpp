// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <QString>
#include <memory>

#include "designer/features/report/report.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// What others get to read of fabrics: a report of one page, and several fabrics in one table.
class ReportFeature : public Feature {
  Q_OBJECT

public:
  explicit ReportFeature(const FeatureHost& host);

private:
  struct Rankings {
    QPointer<EditorContext> context;
    QString path;
    Ranking upgrades;
    Ranking failures;
  };
  void ask(EditorContext& context);
  void showCables(EditorContext& context);
  void write(const Rankings& rankings);
  /// The fabric with its cut, whatever the mode shows.
  [[nodiscard]] QImage pictureOf(EditorContext& context) const;

  LatestJob<std::shared_ptr<const Rankings>> m_job;
};

}  // namespace coppice::designer
