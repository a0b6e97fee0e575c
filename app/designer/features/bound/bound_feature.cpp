// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/bound/bound_feature.hpp"

#include <QComboBox>
#include <QToolBar>
#include <algorithm>
#include <functional>
#include <utility>

#include "designer/features/bound/bound_card.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// A list that is filled when it is opened.
class RootCombo : public QComboBox {
public:
  RootCombo(std::function<void()> fill, QWidget* parent) : QComboBox(parent), m_fill(std::move(fill)) {}
  void showPopup() override {
    m_fill();
    QComboBox::showPopup();
  }

private:
  std::function<void()> m_fill;
};

}  // namespace

BoundFeature::BoundFeature(const FeatureHost& host) : Feature(host), m_card(new BoundCard(m_window)) {
  addForCurrent({u"analyse.next-cut"_s,
                 tr("&Next Tied Cut"),
                 tr("Show the next of the cuts that are equally tight"),
                 {QKeySequence(u"C"_s)},
                 u"bottleneck"_s},
                [this](EditorContext& context) {
                  if (m_workspace.mode() == Mode::analyse) {
                    context.showNextCut();
                  } else {
                    m_workspace.setMode(Mode::analyse);
                  }
                });
  // Schedule mode has the bound in its own card, Run mode in its results.
  host.addDock({u"bound"_s, tr("Bound"), m_card, Qt::RightDockWidgetArea, {Mode::draw, Mode::analyse}});
  connect(&m_workspace, &Workspace::added, this,
          [this](EditorContext* context) { context->setCutShown(m_workspace.mode() == Mode::analyse); });
  connect(&m_workspace, &Workspace::modeChanged, this, [this](Mode mode) {
    for (EditorContext* context : m_workspace.contexts()) {
      context->setCutShown(mode == Mode::analyse);
    }
  });
  connect(&m_workspace, &Workspace::currentChanged, this, &BoundFeature::follow);
  connect(&m_workspace, &Workspace::stateChanged, this, [this] { enable({"analyse.next-cut"}, current() != nullptr); });
}

void BoundFeature::addQuestionTo(QToolBar& bar) {
  m_collectives = new QComboBox(&bar);
  m_collectives->setObjectName(u"collective"_s);
  m_collectives->setAccessibleName(tr("Collective"));
  m_collectives->setToolTip(tr("The collective of the bound"));
  for (const Collective collective : kBoundCollectives) {
    m_collectives->addItem(collectiveName(collective), static_cast<int>(collective));
  }
  connect(m_collectives, &QComboBox::activated, this, [this] {
    if (m_bound) {
      Question question = m_bound->question();
      question.collective = static_cast<Collective>(m_collectives->currentData().toInt());
      m_bound->setQuestion(question);
    }
  });
  bar.addWidget(m_collectives);
  m_roots = new RootCombo([this] { fillRoots(); }, &bar);
  m_roots->setObjectName(u"root"_s);
  m_roots->setAccessibleName(tr("Root"));
  m_roots->setToolTip(tr("The GPU that sends to all others or receives from all others"));
  connect(m_roots, &QComboBox::activated, this, [this] {
    if (m_bound) {
      Question question = m_bound->question();
      question.root = NodeId{m_roots->currentData().toUInt()};
      m_bound->setQuestion(question);
    }
  });
  m_rootsAction = bar.addWidget(m_roots);
  m_rootsAction->setVisible(false);
}

void BoundFeature::follow() {
  EditorContext* context = current();
  m_card->setContext(context);
  m_bound = context != nullptr ? &context->bound() : nullptr;
  m_followed.clear();
  if (m_bound) {
    m_followed.connect(m_bound, &LiveBound::changed, [this] {
      if (m_bound->question() != m_shown) {
        showQuestion();
      }
    });
  }
  showQuestion();
}

void BoundFeature::showQuestion() {
  if (m_bound) {
    m_shown = m_bound->question();
    m_collectives->setCurrentIndex(m_collectives->findData(static_cast<int>(m_shown.collective)));
  }
  fillRoots();
}

void BoundFeature::fillRoots() {
  const bool hasRoot = m_bound && isRooted(m_shown.collective);
  m_rootsAction->setVisible(hasRoot);
  m_roots->clear();
  if (!hasRoot) {
    return;
  }
  for (const auto& [id, node] : current()->model().nodes()) {
    if (node.kind() == fabric::NodeKind::gpu) {
      m_roots->addItem(tr("root %1").arg(QString::fromStdString(node.facts.name)), id.value);
    }
  }
  m_roots->setCurrentIndex(std::max(0, m_roots->findData(m_shown.root.value)));
}

}  // namespace coppice::designer
