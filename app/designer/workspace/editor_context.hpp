// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "designer/canvas/canvas_view.hpp"
#include "designer/document/document_file.hpp"
#include "designer/document/selection.hpp"
#include "designer/jobs/assumption.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/jobs/live_bound.hpp"
#include "designer/models/link_table_model.hpp"
#include "designer/models/node_table_model.hpp"
#include "designer/models/outline_model.hpp"
#include "designer/models/problems_model.hpp"
#include "designer/models/query.hpp"
#include "designer/workspace/editor_page.hpp"
#include "designer/workspace/notice_bar.hpp"

namespace coppice::designer {

/// One open document with all that is shown of it: selection, bound, canvas, and the models of the docks.
class EditorContext : public QObject {
  Q_OBJECT

public:
  explicit EditorContext(const QString& recoveryFolder, QObject* parent = nullptr);
  ~EditorContext() override;

  [[nodiscard]] DocumentFile& file() { return m_file; }
  [[nodiscard]] Document& document() { return m_file.document(); }
  [[nodiscard]] const Model& model() const { return m_file.document().model(); }
  [[nodiscard]] Selection& selection() { return m_selection; }
  [[nodiscard]] LiveBound& bound() { return m_bound; }
  /// For a tab; it belongs to the context.
  [[nodiscard]] EditorPage& page() { return *m_page; }
  [[nodiscard]] CanvasView& canvas() { return m_page->canvas(); }
  [[nodiscard]] NoticeBar& notice() { return m_page->notice(); }
  [[nodiscard]] OutlineModel& outline() { return m_outline; }
  [[nodiscard]] NodeTableModel& nodeTable() { return m_nodeTable; }
  [[nodiscard]] LinkTableModel& linkTable() { return m_linkTable; }
  [[nodiscard]] ProblemsModel& problems() { return m_problems; }

  /// Folds the boxes that are then drawn as stacks, unless an outermost box is folded already.
  void foldEqualBoxes();

  /// One of the tied cuts is drawn over the fabric, and follows it.
  void setCutShown(bool isShown);
  /// Shows the bound and the cut as they would be, until the facts, the question or the selection change, or nullopt
  /// is given. The bound itself stays as it is.
  void assume(std::optional<Assumption> assumption);
  [[nodiscard]] const std::optional<Assumption>& assumption() const { return m_assumption; }
  /// What the cut is of: the bound as it would be where something is assumed, else the live one. nullptr where it is
  /// not known yet, or no more.
  [[nodiscard]] std::shared_ptr<const Bound> shownBound() const;
  /// Index into the cuts of the shown bound; 0 = the first, which every new bound begins with.
  [[nodiscard]] std::size_t shownCut() const { return m_shownCut; }
  /// nullptr where there is none.
  [[nodiscard]] const CutView* shownCutView() const;
  void setShownCut(std::size_t index);
  /// The next of the listed cuts, then the first again.
  void showNextCut();

  /// The links that cross it, from the side that the bound speaks of.
  [[nodiscard]] std::set<LinkId> linksAcross(const CutView& cut) const;

  /// For Query: this document, its selection and the cut that is shown.
  [[nodiscard]] QueryContext queryContext() const;

  /// Runs an edit on the document; the fill gets the selection.
  void editSelection(const QString& text, const std::function<void(Edit&, const std::set<ElementId>&)>& fill);

  /// Selects the element and brings it into the middle of the canvas.
  void goTo(const ElementId& id);
  /// Selects the element; the canvas moves only where it is not in view.
  void showElement(const ElementId& id);

Q_SIGNALS:
  /// Name, path, modified or not.
  void titleChanged();
  /// Something was refused; the text says why.
  void refused(const QString& why);
  /// Another of the tied cuts is shown.
  void shownCutChanged();
  /// Something else is assumed, or its bound is known now.
  void assumptionChanged();

private:
  void showBound();
  void showProblems();
  void showCut();
  DocumentFile m_file;
  Selection m_selection;
  LiveBound m_bound;
  OutlineModel m_outline;
  NodeTableModel m_nodeTable;
  LinkTableModel m_linkTable;
  ProblemsModel m_problems;
  bool m_hasCutOverlay = false;
  std::size_t m_shownCut = 0;
  std::shared_ptr<const Bound> m_shownBound;  ///< whose cut it is
  std::optional<Assumption> m_assumption;
  std::set<ElementId> m_assumedSelection;       ///< that it was made with
  std::uint64_t m_assumedRevision = 0;          ///< of the facts
  std::shared_ptr<const Bound> m_assumedBound;  ///< null until it is known
  LatestJob<std::shared_ptr<const Bound>> m_assumptionJob;
  /// What queryContext() gave last, and for which cut.
  mutable std::shared_ptr<const Bound> m_askedBound;
  mutable std::size_t m_askedCut = 0;
  mutable std::shared_ptr<const std::set<NodeId>> m_cutNodes;
  mutable std::shared_ptr<const std::set<LinkId>> m_cutLinks;
  std::unique_ptr<EditorPage> m_page;  ///< the last: it shows what is above
};

}  // namespace coppice::designer
