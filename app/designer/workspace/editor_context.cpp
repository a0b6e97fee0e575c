// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/editor_context.hpp"

#include <QUndoStack>
#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/stacks.hpp"
#include "designer/jobs/threads.hpp"

namespace coppice::designer {

EditorContext::EditorContext(const QString& recoveryFolder, QObject* parent)
    : QObject(parent),
      m_file(recoveryFolder),
      m_selection(m_file.document()),
      m_bound(m_file.document()),
      m_outline(m_file.document()),
      m_nodeTable(m_file.document()),
      m_linkTable(m_file.document()),
      m_assumptionJob(
          [this](std::shared_ptr<const Bound> bound) {
            m_assumedBound = std::move(bound);
            m_shownCut = 0;
            showCut();
            Q_EMIT assumptionChanged();
            Q_EMIT shownCutChanged();
          },
          std::chrono::milliseconds(100), boundThreads()),
      m_page(std::make_unique<EditorPage>(*this)) {
  connect(&m_file, &DocumentFile::pathChanged, this, &EditorContext::titleChanged);
  connect(&m_file, &DocumentFile::saved, this, &EditorContext::titleChanged);
  connect(&m_file, &DocumentFile::stateChanged, this, &EditorContext::titleChanged);
  connect(document().undoStack(), &QUndoStack::cleanChanged, this, &EditorContext::titleChanged);
  connect(&m_bound, &LiveBound::changed, this, &EditorContext::showBound);
  connect(&m_selection, &Selection::changed, this, [this] {
    if (m_assumption && m_selection.elements() != m_assumedSelection) {
      assume({});
    }
  });
  connect(&m_outline, &OutlineModel::refused, this, &EditorContext::refused);
  connect(&m_nodeTable, &NodeTableModel::refused, this, &EditorContext::refused);
  connect(&m_linkTable, &LinkTableModel::refused, this, &EditorContext::refused);
}

EditorContext::~EditorContext() = default;

void EditorContext::foldEqualBoxes() {
  const std::vector<BoxId>& boxes = model().boxesIn({});
  const bool hasFolds = std::any_of(boxes.begin(), boxes.end(), [&](BoxId id) { return model().find(id)->isFolded; });
  const std::vector<BoxId> equal = hasFolds ? std::vector<BoxId>() : stackableBoxes(model());
  if (!equal.empty()) {
    document().edit(tr("Fold"), [&](Edit& edit) { edits::fold(edit, equal, true); });
  }
}

void EditorContext::assume(std::optional<Assumption> assumption) {
  if (assumption == m_assumption) {
    return;
  }
  m_assumptionJob.cancel();
  m_assumption = std::move(assumption);
  m_assumedBound.reset();
  m_shownCut = 0;
  if (m_assumption) {
    m_assumedSelection = m_selection.elements();
    m_assumedRevision = document().factRevision();
    m_assumptionJob.submit([snapshot = Snapshot::of(document()), question = m_bound.question(),
                            assumption = *m_assumption](std::stop_token stop) {
      try {
        return std::make_shared<const Bound>(computeBound(assumed(snapshot, assumption), question, std::move(stop)));
      } catch (const OverflowError&) {
        Bound none;
        none.question = question;
        none.factRevision = snapshot.factRevision;
        none.why = tr("The numbers leave the range in which results are proven exact.");
        return std::make_shared<const Bound>(std::move(none));
      }
    });
  }
  showCut();
  Q_EMIT assumptionChanged();
  Q_EMIT shownCutChanged();
}

std::shared_ptr<const Bound> EditorContext::shownBound() const {
  if (m_assumption) {
    return m_assumedBound;
  }
  return m_bound.isCurrent() ? m_bound.bound() : nullptr;
}

const CutView* EditorContext::shownCutView() const {
  const std::shared_ptr<const Bound> bound = shownBound();
  // Kept alive by this object, not by the local pointer.
  return bound && bound->algbw && m_shownCut < bound->cuts.size() ? &bound->cuts[m_shownCut] : nullptr;
}

void EditorContext::showBound() {
  if (m_assumption && (m_assumedRevision != document().factRevision() ||
                       (m_assumedBound && m_assumedBound->question != m_bound.question()))) {
    assume({});
  }
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

void EditorContext::setCutShown(bool isShown) {
  m_hasCutOverlay = isShown;
  if (!isShown) {
    assume({});
  }
  showCut();
}

void EditorContext::setShownCut(std::size_t index) {
  const std::shared_ptr<const Bound> bound = shownBound();
  if (bound && index < bound->cuts.size()) {
    m_shownCut = index;
    if (m_hasCutOverlay) {
      showCut();
    }
    Q_EMIT shownCutChanged();
  }
}

void EditorContext::showNextCut() {
  const std::shared_ptr<const Bound> bound = shownBound();
  if (bound && !bound->cuts.empty()) {
    setShownCut((m_shownCut + 1) % bound->cuts.size());
  }
}

void EditorContext::showCut() {
  Overlay overlay;
  // A cut of facts that have changed would be wrong; the canvas shows none until the new one is known.
  if (!m_hasCutOverlay) {
    canvas().setOverlay(std::move(overlay));
    return;
  }
  if (m_assumption) {
    overlay.failed = m_assumption->failed;
  }
  if (const CutView* shown = shownCutView()) {
    const CutView& cut = *shown;
    for (const std::vector<NodeId>& area : cut.areas) {
      Hull hull;
      hull.nodes.insert(area.begin(), area.end());
      overlay.hulls.push_back(std::move(hull));
    }
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
    if (!cut.inside.empty()) {
      overlay.hulls.push_back(std::move(hull));
    }
    for (const LinkId id : linksAcross(cut)) {
      if (!overlay.failed.contains(id)) {
        overlay.marks.push_back({.link = id});
      }
    }
  }
  canvas().setOverlay(std::move(overlay));
}

std::set<LinkId> EditorContext::linksAcross(const CutView& cut) const {
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

QueryContext EditorContext::queryContext() const {
  if (const CutView* cut = shownCutView()) {
    if (m_askedBound != shownBound() || m_askedCut != m_shownCut) {
      m_askedBound = shownBound();
      m_askedCut = m_shownCut;
      m_cutNodes = std::make_shared<const std::set<NodeId>>(cut->inside.begin(), cut->inside.end());
      m_cutLinks = std::make_shared<const std::set<LinkId>>(linksAcross(*cut));
    }
  } else {
    m_askedBound.reset();
    m_cutNodes.reset();
    m_cutLinks.reset();
  }
  return {.model = model(), .selection = &m_selection.elements(), .cutNodes = m_cutNodes, .cutLinks = m_cutLinks};
}

void EditorContext::showProblems() {
  // An empty fabric has no bound, and that is not an error.
  if (model().nodes().isEmpty() && m_file.findings().empty()) {
    canvas().setProblems({});
    m_problems.setProblems({});
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
  std::map<ElementId, Severity> marks;
  for (const Problem& problem : problems) {
    if (problem.element.isValid() && problem.severity != Severity::note) {
      Severity& mark = marks.try_emplace(problem.element, problem.severity).first->second;
      mark = std::max(mark, problem.severity);
    }
  }
  canvas().setProblems(std::move(marks));
  m_problems.setProblems(std::move(problems));
}

void EditorContext::editSelection(const QString& text,
                                  const std::function<void(Edit&, const std::set<ElementId>&)>& fill) {
  const std::set<ElementId> elements = m_selection.elements();
  document().edit(text, [&](Edit& edit) { fill(edit, elements); });
}

void EditorContext::goTo(const ElementId& id) {
  if (model().contains(id)) {
    m_selection.set({id});
    m_selection.setCurrent(id);
    canvas().centreOn(id);
  }
}

void EditorContext::showElement(const ElementId& id) {
  if (model().contains(id)) {
    m_selection.set({id});
    m_selection.setCurrent(id);
    if (!canvas().isInView(id)) {
      canvas().centreOn(id);
    }
  }
}

}  // namespace coppice::designer
