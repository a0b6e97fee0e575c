// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <QString>
#include <QStringList>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "designer/canvas/overlay.hpp"
#include "designer/document/followed.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/compared_schedule.hpp"
#include "designer/schedules/opened_file.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "designer/schedules/schedule_panel.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

class MethodsPanel;

/// Schedule mode: schedules of the current document are generated, opened, chosen and kept. Features that draw, play
/// and compare them meet here.
class ScheduleFeature : public Feature {
  Q_OBJECT

public:
  explicit ScheduleFeature(const FeatureHost& host);
  ~ScheduleFeature() override;

  [[nodiscard]] MethodsPanel* methodsPanel() const { return m_methods; }
  /// Of the current document; nullptr on the start page.
  [[nodiscard]] ScheduleBook* book() const { return m_book; }
  /// The current schedule with a result; nullptr: there is none.
  [[nodiscard]] const ScheduleEntry* currentEntry() const;

  /// While a run is played the drawing shows it, and neither loads nor trees. One part of the window plays at a time:
  /// the one before hears playedBy().
  void setPlayed(const QObject* player, bool isPlayed);
  [[nodiscard]] bool isPlayed() const { return m_player != nullptr; }
  /// Play (Ctrl+Space) calls `toggle` while it is set, and plays the timeline otherwise.
  void setFrontPlayer(std::function<void()> toggle) { m_frontPlayer = std::move(toggle); }
  [[nodiscard]] const std::function<void()>& frontPlayer() const { return m_frontPlayer; }
  /// What another part lays over the drawing in place of trees and loads; nullopt = nothing. A part takes away what it
  /// has laid there itself.
  void setGuest(const QObject* guest, std::optional<Overlay> overlay);
  [[nodiscard]] const std::optional<Overlay>& guest() const { return m_guest; }
  /// Programs and runs of the current document's fabric that part `from` knows, for comparisons beside the schedules.
  /// Their ids are negative and differ between parts.
  void setCompared(const QObject* from, std::vector<ComparedSchedule> compared);
  [[nodiscard]] std::vector<ComparedSchedule> compared() const;
  /// Selects a direction of a link by the names of its ends; the drawing moves there, or only where it is not in view.
  enum class Reveal { always, ifHidden };
  void goToLink(const QString& tail, const QString& head, Reveal reveal = Reveal::always);

  void generate();
  void showMethods();
  /// Takes files that hold schedules, and reads them one after the other in the background. False: not such a file.
  bool open(const QString& path);
  [[nodiscard]] bool isOpening() const { return m_isOpening; }

Q_SIGNALS:
  /// An MSCCL XML was read; it is not judged yet.
  void programOpened(const QString& path, const std::string& xml);
  void exportWanted();
  void runningChanged();
  /// Another document, another current schedule, or its result.
  void currentChanged();
  /// compared() is another list.
  void comparedChanged();
  /// Another part plays now.
  void playedBy(const QObject* player);
  /// guest() or isPlayed() is different.
  void overlayChanged();

private:
  void addGenerateActions();
  void addScheduleActions();
  void addFolderAction();
  /// Made with the document, before another part asks for it.
  ScheduleBook* bookOf(EditorContext& context) const;
  void follow();
  void followBook();
  /// The bound is about the schedule that was chosen.
  void followChoice();
  void updateActions();
  void nameMethod();
  void copyCommand();
  void rename(int id);
  void remove(int id);
  void rerun(int id);
  void openNext();
  void receive(const OpenedSchedule& opened);
  void openForest(const OpenedSchedule& opened);

  bool m_keepsSettings;
  QString m_sharedFolder;  ///< for the schedules of all documents; empty = beside their fabrics
  SchedulePanel* m_panel;
  MethodsPanel* m_methods;
  QPointer<EditorContext> m_context;
  QPointer<ScheduleBook> m_book;
  Followed m_followed;  ///< connections to the book
  QPointer<ScheduleBook> m_chosenBook;
  int m_chosenSchedule = 0;
  const QObject* m_player = nullptr;
  std::function<void()> m_frontPlayer;
  const QObject* m_guestOwner = nullptr;
  std::optional<Overlay> m_guest;
  std::map<const QObject*, std::vector<ComparedSchedule>> m_compared;
  QStringList m_waiting;
  bool m_isOpening = false;
  LatestJob<std::shared_ptr<const OpenedSchedule>> m_opener;
};

}  // namespace coppice::designer
