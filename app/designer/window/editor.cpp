// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/editor.hpp"

#include <QUndoStack>
#include <QVBoxLayout>
#include <algorithm>
#include <map>
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
      m_linkTable(m_file.document()),
      m_canvas(new CanvasView(m_file.document(), m_selection, this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_canvas);
  setFocusProxy(m_canvas);
  connect(&m_file, &DocumentFile::pathChanged, this, &Editor::titleChanged);
  connect(&m_file, &DocumentFile::saved, this, &Editor::titleChanged);
  connect(document().undoStack(), &QUndoStack::cleanChanged, this, &Editor::titleChanged);
  connect(&m_bound, &LiveBound::changed, this, &Editor::showBound);
  connect(&m_outline, &OutlineModel::refused, this, &Editor::refused);
  connect(&m_nodeTable, &NodeTableModel::refused, this, &Editor::refused);
  connect(&m_linkTable, &LinkTableModel::refused, this, &Editor::refused);
}

Editor::~Editor() {
  // The undo stack of the dying document must not call back into half a widget.
  disconnect(document().undoStack(), nullptr, this, nullptr);
  // The canvas draws the document, which is destroyed before the widgets in this one.
  delete m_canvas;
}

void Editor::showBound() {
  if (m_bound.isCurrent()) {
    showProblems();
    if (m_bound.bound() != m_shownBound) {
      m_shownBound = m_bound.bound();
      m_shownCut = 0;
      Q_EMIT shownCutChanged();
    }
  }
  // Without it the overlay of the canvas is another mode's.
  if (m_hasCutOverlay) {
    showCut();
  }
}

void Editor::setCutShown(bool isShown) {
  m_hasCutOverlay = isShown;
  showCut();
}

void Editor::setShownCut(std::size_t index) {
  if (m_bound.isCurrent() && index < m_bound.bound()->cuts.size()) {
    m_shownCut = index;
    if (m_hasCutOverlay) {
      showCut();
    }
    Q_EMIT shownCutChanged();
  }
}

void Editor::showNextCut() {
  if (!m_bound.isCurrent() || m_bound.bound()->cuts.empty()) {
    return;
  }
  const std::vector<std::size_t> distinct = m_bound.bound()->distinctCuts();
  const auto next = std::upper_bound(distinct.begin(), distinct.end(), m_shownCut);
  setShownCut(next != distinct.end() ? *next : distinct.front());
}

void Editor::showCut() {
  Overlay overlay;
  // A cut of facts that have changed would be a lie; the canvas shows none until the new one is known.
  if (m_hasCutOverlay && m_bound.isCurrent() && m_shownCut < m_bound.bound()->cuts.size()) {
    const CutView& cut = m_bound.bound()->cuts[m_shownCut];
    Hull hull;
    // The side with fewer GPUs is the one that the words name.
    if (cut.gpusInside <= cut.gpusOutside) {
      hull.nodes.insert(cut.inside.begin(), cut.inside.end());
    } else {
      for (const auto& [id, node] : model().nodes()) {
        if (!std::binary_search(cut.inside.begin(), cut.inside.end(), id)) {
          hull.nodes.insert(id);
        }
      }
    }
    hull.label = cut.words;
    overlay.hulls.push_back(std::move(hull));
    for (const LinkId id : linksAcross(cut)) {
      overlay.marks.push_back({.link = id});
    }
  }
  m_canvas->setOverlay(std::move(overlay));
}

std::set<LinkId> Editor::linksAcross(const CutView& cut) const {
  std::set<LinkId> across;
  for (const Crossing& crossing : cut.crossings) {
    for (const LinkId id : model().linksOf(crossing.tail)) {
      const Link& link = *model().find(id);
      const bool runs = link.tail.node == crossing.tail && link.head.node == crossing.head;
      const bool runsBack = link.duplex && link.head.node == crossing.tail && link.tail.node == crossing.head;
      if (runs || runsBack) {
        across.insert(id);
      }
    }
  }
  return across;
}

QueryContext Editor::queryContext() const {
  if (m_bound.isCurrent() && m_shownCut < m_bound.bound()->cuts.size()) {
    if (m_askedBound != m_bound.bound() || m_askedCut != m_shownCut) {
      m_askedBound = m_bound.bound();
      m_askedCut = m_shownCut;
      const CutView& cut = m_askedBound->cuts[m_shownCut];
      m_cutNodes = std::make_shared<const std::set<NodeId>>(cut.inside.begin(), cut.inside.end());
      m_cutLinks = std::make_shared<const std::set<LinkId>>(linksAcross(cut));
    }
  } else {
    m_askedBound.reset();
    m_cutNodes.reset();
    m_cutLinks.reset();
  }
  return {.model = model(), .selection = &m_selection.elements(), .cutNodes = m_cutNodes, .cutLinks = m_cutLinks};
}

void Editor::showProblems() {
  const Bound& bound = *m_bound.bound();
  std::vector<Problem> problems = ProblemsModel::fromFindings(bound.findings, bound.culprits);
  for (Problem& problem : ProblemsModel::fromFindings(m_file.findings())) {
    problems.push_back(std::move(problem));
  }
  if (!bound.algbw && bound.errors() == 0) {
    problems.push_back({Severity::warning, bound.why, {}, {}, {}, 1});
  }
  std::map<ElementId, Severity> marks;
  for (const Problem& problem : problems) {
    if (problem.element.isValid() && problem.severity != Severity::note) {
      Severity& mark = marks.try_emplace(problem.element, problem.severity).first->second;
      mark = std::max(mark, problem.severity);
    }
  }
  m_canvas->setProblems(std::move(marks));
  m_problems.setProblems(std::move(problems));
}

void Editor::goTo(const ElementId& id) {
  if (model().contains(id)) {
    m_selection.set({id});
    m_selection.setCurrent(id);
    m_canvas->centreOn(id);
  }
}

}  // namespace coppice::designer
