// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QPointer>
#include <QString>
#include <QStringList>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "designer/canvas/canvas_view.hpp"
#include "designer/document/followed.hpp"
#include "designer/schedule/chart_panel.hpp"
#include "designer/schedule/compared_schedule.hpp"
#include "designer/schedule/fabric_map.hpp"
#include "designer/schedule/loads_panel.hpp"
#include "designer/schedule/opened_file.hpp"
#include "designer/schedule/schedule_book.hpp"
#include "designer/schedule/schedule_panel.hpp"
#include "designer/schedule/tree_panel.hpp"
#include "designer/schedule/trees_on_link.hpp"

namespace coppice::designer {

class ExportDialog;
class GenerateDialog;
class TreeDrawing;
class TransferPanel;

/// The parts of one editor that schedules are about.
struct ScheduleSubject {
  DocumentFile* file = nullptr;
  Selection* selection = nullptr;
  LiveBound* bound = nullptr;
  CanvasView* canvas = nullptr;
};

/// Questions that end in a dialog, answered by the window.
struct SchedulePrompts {
  std::function<QString(const QString& suggestion, const QString& filter)> fileToSave;
  std::function<std::optional<QString>(const QString& title, const QString& label, const QString& value)> text;
  std::function<bool(const QString& title, const QString& text, const QString& yes, const QString& no)> confirm;
  std::function<void(const QString& title, const QString& text)> failure;
};

/// Schedule mode: owns the docks' contents and dialogs, follows the current document, and draws on its canvas.
class ScheduleActivity : public QObject {
  Q_OBJECT

public:
  ScheduleActivity(SchedulePrompts prompts, QWidget* window);
  ~ScheduleActivity() override;

  [[nodiscard]] SchedulePanel* panel() const { return m_panel; }
  [[nodiscard]] TreePanel* trees() const { return m_trees; }
  [[nodiscard]] TransferPanel* transfers() const { return m_transfers; }
  [[nodiscard]] LoadsPanel* loads() const { return m_loads; }
  [[nodiscard]] ChartPanel* charts() const { return m_charts; }
  [[nodiscard]] TreeDrawing* drawing() const { return m_drawing; }
  [[nodiscard]] GenerateDialog* optionsDialog() const { return m_options; }

  /// An empty subject on the start page. What it points to must live until another takes its place.
  void setSubject(const ScheduleSubject& subject);
  /// The canvas shows schedules only while the mode is on.
  void setActive(bool isActive);
  /// While a run is played the drawing shows it, and neither loads nor trees. One part of the window plays at a time:
  /// the one before hears playedBy().
  void setPlayed(const QObject* player, bool isPlayed);
  /// Play (Ctrl+Space) calls `toggle` while it is set, and plays the timeline otherwise.
  void setFrontPlayer(std::function<void()> toggle) { m_frontPlayer = std::move(toggle); }
  [[nodiscard]] const std::function<void()>& frontPlayer() const { return m_frontPlayer; }
  /// What another part lays over the drawing in place of trees and loads; nullopt = nothing. A part takes away what it
  /// has laid there itself.
  void setGuest(const QObject* guest, std::optional<Overlay> overlay);
  /// Programs and runs of the current document's fabric that part `from` knows, for comparisons beside the schedules.
  /// Their ids are negative and differ between parts.
  void setCompared(const QObject* from, std::vector<ComparedSchedule> compared);
  [[nodiscard]] std::vector<ComparedSchedule> compared() const;
  /// Selects a direction of a link by the names of its ends; the drawing moves there, or only where it is not in view.
  enum class Reveal { always, ifHidden };
  void goToLink(const QString& tail, const QString& head, Reveal reveal = Reveal::always);
  /// Of the current document; nullptr on the start page.
  [[nodiscard]] ScheduleBook* book() const { return m_book; }
  /// The book of any document; made on the first call, with the document's life.
  [[nodiscard]] static ScheduleBook* bookOf(DocumentFile& file, LiveBound& bound);

  void generate();
  void showOptions();
  void cancel();
  /// nullptr where there is nothing to export.
  ExportDialog* exportCurrent();
  void copyCommand();
  void rename(int id);
  void remove(int id);
  void rerun(int id);
  void showRootOfSelection();
  void clearTrees();

  /// Takes files that hold schedules, and reads them one after the other in the background. False: not such a file.
  bool open(const QString& path);
  [[nodiscard]] bool isOpening() const { return m_isOpening; }

Q_SIGNALS:
  /// A line for the status strip.
  void message(const QString& text);
  /// The dock of the transfers, which show the current schedule.
  void transfersWanted();
  /// A schedule is being made: the window goes to its mode.
  void modeWanted();
  /// A schedule with its fabric was opened; the window finds or makes a document and calls add().
  void forestOpened(const coppice::designer::ScheduleResultPtr& result, const QString& path, bool isInferred);
  /// An MSCCL XML was read; it is not judged yet.
  void programOpened(const QString& path, const std::string& xml);
  void runningChanged();
  void currentChanged();
  /// compared() is another list.
  void comparedChanged();
  /// Another part plays now.
  void playedBy(const QObject* player);

private:
  void follow();
  void showOverlay();
  [[nodiscard]] std::vector<TreeMark> treeMarks(const ScheduleResult& result, const QString& note);
  /// Looks up what runs over the link under the pointer, for the canvas to tell.
  void lookAtLink(const ElementId& id);
  void showTreesOfLink(const ElementId& id, const TreesOnLink& trees);
  void openNext();
  void receive(const OpenedSchedule& opened);
  void savePicture(ChartPanel::Which which);
  [[nodiscard]] const FabricMap* map();

  SchedulePrompts m_prompts;
  QWidget* m_window;
  SchedulePanel* m_panel;
  TreePanel* m_trees;
  TransferPanel* m_transfers;
  LoadsPanel* m_loads;
  ChartPanel* m_charts;
  TreeDrawing* m_drawing;
  GenerateDialog* m_options;
  QPointer<ExportDialog> m_export;

  QPointer<DocumentFile> m_file;
  QPointer<Selection> m_selection;
  QPointer<LiveBound> m_bound;
  QPointer<CanvasView> m_canvas;
  QPointer<ScheduleBook> m_book;
  Followed m_followed;  ///< connections to the document
  bool m_isActive = false;
  bool m_hasOverlay = false;
  const QObject* m_player = nullptr;
  std::function<void()> m_frontPlayer;
  const QObject* m_guestOwner = nullptr;
  std::optional<Overlay> m_guest;
  std::map<const QObject*, std::vector<ComparedSchedule>> m_compared;
  std::optional<TreeRef> m_hovered;
  struct FoundTrees {
    ElementId link;
    ScheduleResultPtr result;
    std::shared_ptr<const TreesOnLink> trees;  // nullptr: they are not known
  };
  LatestJob<FoundTrees> m_treesJob;

  ScheduleResultPtr m_result;  ///< that the docks show
  std::unique_ptr<FabricMap> m_map;
  ScheduleResultPtr m_mapResult;
  std::uint64_t m_mapRevision = 0;

  QStringList m_waiting;
  bool m_isOpening = false;
  LatestJob<std::shared_ptr<const OpenedSchedule>> m_opener;
};

}  // namespace coppice::designer
