// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "designer/program/program_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/theme/seen.hpp"
#include "designer/trees/tree_panel.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// MSCCL XML of any origin. A program that is opened belongs to the document under which it is, comes back with it and
/// goes with it; one that is opened while there is none belongs to the document that is opened next.
class ProgramFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules finds out that a file is a program
  ProgramFeature(const FeatureHost& host, ScheduleFeature& schedules, TreePanel& trees);
  [[nodiscard]] ProgramPanel& panel() const { return *m_panel; }
  /// The file of a document; with nullptr, without one. Empty = none.
  [[nodiscard]] QString fileOf(const EditorContext* context) const;
  /// The same file as it was in the last session: it is read once it is looked at.
  void restore(const EditorContext* context, const QString& path);

Q_SIGNALS:
  /// One was opened or closed.
  void filesChanged();

private:
  static constexpr int kFirstId = -1000;  ///< and below

  void addActions();
  void open(const QString& path, const std::string& xml);
  void closeFile();
  void showOf(EditorContext* context);
  /// The dock comes to the front; with room for its lists if it was small.
  void showDock();
  void save(const QString& suggestion, const std::string& xml);

  /// The chosen trees of the dock Trees, where they are of the program's schedule.
  void showTrees();
  /// The program that was read takes part in comparisons, if it is right and of the current fabric.
  void compareProgram();
  /// Programs of a document or fabric that is no longer the current one leave the comparisons.
  void followFabric();
  /// The trees of the step that was chosen.
  void followStep();

  /// The schedule that the other docks show, as the export would write it.
  void openSchedule();
  /// The file that was opened under the current document, else the program of its schedule.
  void showOwn();
  void read(const QString& path, const std::string& xml);
  void follow();
  /// nullptr: there is none.
  [[nodiscard]] const ScheduleEntry* currentEntry() const;

  ScheduleFeature& m_schedules;
  TreePanel& m_trees;
  ProgramPanel* m_panel;
  bool m_isFile = false;  ///< the program was opened, not made
  struct OpenedProgram {
    QString path;
    std::string xml;
    bool isRead = true;  ///< false: of the last session
  };
  std::map<const EditorContext*, OpenedProgram> m_files;  ///< by document; nullptr = without any
  const EditorContext* m_owner = nullptr;                 ///< of what the panel shows
  std::unique_ptr<Seen> m_seen;
  struct Examined {
    QPointer<Document> document;
    std::uint64_t revision = 0;  ///< of its facts
    QString path;
    ScheduleResultPtr result;
    QString problem;
  };
  void receive(const Examined& examined);
  std::vector<std::pair<int, Examined>> m_programs;  ///< with the ids of comparisons
  int m_lastId = kFirstId;
  LatestJob<Examined> m_examiner;
  ScheduleResultPtr m_schedule;  ///< that the program was made of, or is compared with; nullptr = none
};

}  // namespace coppice::designer
