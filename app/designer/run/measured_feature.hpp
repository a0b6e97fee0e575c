// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <QStringList>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "designer/jobs/latest_job.hpp"
#include "designer/playback/timeline_panel.hpp"
#include "designer/run/measured_panel.hpp"
#include "designer/run/run_activity.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/theme/seen.hpp"
#include "designer/trees/fabric_map.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Plan against run: recorded runs on the clock of the timeline, and where they lost time on the drawing. Runs of stock
/// NCCL on the fabric: their rings and trees on the drawing, and files that make NCCL do better.
class MeasuredFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules gives what was planned, `timeline` shows both, `runs` gives what was recorded
  MeasuredFeature(const FeatureHost& host, ScheduleFeature& schedules, TimelinePanel& timeline, RunActivity& runs);

  /// Files that a run of NCCL leaves (workflow::importRun) become a run of the current document. Returns those that are
  /// none.
  [[nodiscard]] QStringList take(const QStringList& paths);
  /// The same of a text. Returns whether it is one.
  bool takeText(const QString& text);

private:
  void addActions();
  void follow();
  void followRuns();
  void openRun();
  void paste();
  void setProfile(bool isWanted);
  void askAdditionTime();
  void showLoss();
  [[nodiscard]] std::optional<Overlay> lossOverlay();
  /// For comparisons; empty while there is none.
  [[nodiscard]] std::vector<ComparedSchedule> comparedRun() const;
  void goToChosen();

  /// What was read, and from where.
  struct ReadImport {
    NcclImportPtr import;
    RecordedRun source;  ///< of one file or text
    QString problem;
  };
  /// Imported runs of one document.
  struct Imports {
    std::vector<NcclImportPtr> all;
    NcclImportPtr shown;
    std::optional<Collective> collective;  ///< that was chosen
  };
  void addImportActions();
  void connectImports();
  void importRun();
  void readFiles(std::vector<RecordedRun> sources);
  void receive(const ReadImport& read);
  void expect();
  /// @param collective  to show; nullopt: the one that the run says most of
  void attach(NcclImportPtr import, std::optional<Collective> collective = std::nullopt);
  /// Shows the imports of the current document, and computes what is shown.
  void showImports();
  void followFacts();
  void addRings();
  void exportBundle();
  [[nodiscard]] Imports* importsHere();

  struct ReadProfile {
    std::string digest;
    QString name;
    std::shared_ptr<const simulate::Fits> fits;
    QString problem;
  };
  ScheduleFeature& m_schedules;
  TimelinePanel& m_timeline;
  RunActivity& m_runs;
  MeasuredPanel* m_panel;
  ScheduleResultPtr m_result;
  bool m_hasOverlay = false;
  Seen m_seen;
  LatestJob<std::shared_ptr<const ReadProfile>> m_profileJob;
  std::map<const EditorContext*, Imports> m_imports;
  NcclImportPtr m_waiting;  ///< for a document
  struct Rings {
    Result<ScheduleResultPtr> result;
    QPointer<EditorContext> context;
    QString name;
  };
  struct Written {
    QString folder;
    int files = 0;
    QString problem;  ///< empty: all were written
  };
  LatestJob<std::shared_ptr<const ReadImport>> m_importJob;
  LatestJob<NcclViewPtr> m_viewJob;
  LatestJob<std::shared_ptr<const Rings>> m_ringsJob;
  LatestJob<std::shared_ptr<const Written>> m_bundleJob;
};

}  // namespace coppice::designer
