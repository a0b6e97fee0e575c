// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/editor.hpp"

#include <QUndoStack>
#include <utility>
#include <vector>

namespace coppice::designer {

Editor::Editor(const QString& recoveryFolder, QWidget* parent)
    : QWidget(parent),
      m_file(recoveryFolder),
      m_selection(m_file.document()),
      m_bound(m_file.document()),
      m_outline(m_file.document()),
      m_nodeTable(m_file.document()),
      m_linkTable(m_file.document()) {
  connect(&m_file, &DocumentFile::pathChanged, this, &Editor::titleChanged);
  connect(&m_file, &DocumentFile::saved, this, &Editor::titleChanged);
  connect(document().undoStack(), &QUndoStack::cleanChanged, this, &Editor::titleChanged);
  connect(&m_bound, &LiveBound::changed, this, &Editor::showProblems);
  connect(&m_outline, &OutlineModel::refused, this, &Editor::refused);
  connect(&m_nodeTable, &NodeTableModel::refused, this, &Editor::refused);
  connect(&m_linkTable, &LinkTableModel::refused, this, &Editor::refused);
}

Editor::~Editor() {
  // The undo stack of the dying document must not call back into half a widget.
  disconnect(document().undoStack(), nullptr, this, nullptr);
}

void Editor::showProblems() {
  if (!m_bound.isCurrent()) {
    return;
  }
  const Bound& bound = *m_bound.bound();
  std::vector<Problem> problems = ProblemsModel::fromFindings(bound.findings, bound.culprits);
  for (Problem& problem : ProblemsModel::fromFindings(m_file.findings())) {
    problems.push_back(std::move(problem));
  }
  if (!bound.algbw && bound.errors() == 0) {
    problems.push_back({Severity::warning, bound.why, {}, {}, {}, 1});
  }
  m_problems.setProblems(std::move(problems));
}

void Editor::goTo(const ElementId& id) {
  if (model().contains(id)) {
    m_selection.set({id});
    m_selection.setCurrent(id);
    Q_EMIT shown(id);
  }
}

}  // namespace coppice::designer
