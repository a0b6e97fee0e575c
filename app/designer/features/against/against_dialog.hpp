// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QLabel>
#include <QPointer>
#include <QTreeWidget>
#include <memory>
#include <set>
#include <vector>

#include "designer/canvas/overlay.hpp"
#include "designer/jobs/snapshot.hpp"
#include "designer/workspace/editor_context.hpp"
#include "workflow/against_plan.hpp"

namespace coppice::designer {

/// What the drawing and its plan differ in: a list with what each costs, and marks on the drawing. A click goes to the
/// place. The marks go with the dialog.
class AgainstDialog : public QDialog {
  Q_OBJECT

public:
  AgainstDialog(EditorContext& context, const QString& planName, const Snapshot& snapshot,
                std::shared_ptr<const workflow::AgainstPlan> compared, QWidget* parent = nullptr);

  [[nodiscard]] const QTreeWidget& list() const { return *m_list; }
  /// Areas with what it is and what it costs; links that are there are drawn strongly.
  [[nodiscard]] const Overlay& marks() const { return m_marks; }

private:
  void fill();
  void mark(const Snapshot& snapshot);

  QPointer<EditorContext> m_context;
  std::shared_ptr<const workflow::AgainstPlan> m_compared;
  std::vector<std::set<NodeId>> m_places;  ///< by difference
  Overlay m_marks;
  QLabel* m_title;
  QTreeWidget* m_list;
};

}  // namespace coppice::designer
