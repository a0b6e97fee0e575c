// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/against/against_dialog.hpp"

#include <QHeaderView>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <map>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

QString kindText(fabric::DifferenceKind kind) {
  using enum fabric::DifferenceKind;
  switch (kind) {
    case missingHost:
      return AgainstDialog::tr("missing host");
    case missingNode:
      return AgainstDialog::tr("missing node");
    case missingCable:
      return AgainstDialog::tr("missing cable");
    case otherSwitch:
      return AgainstDialog::tr("other switch");
    case lessBandwidth:
      return AgainstDialog::tr("less bandwidth");
    case moreBandwidth:
      return AgainstDialog::tr("more bandwidth");
    case extraHost:
      return AgainstDialog::tr("extra host");
    case extraCable:
      return AgainstDialog::tr("extra cable");
  }
  return {};
}

/// "-11.5 %": what a difference takes of the planned bound; "no cost" where it takes nothing.
QString lossText(const Bandwidth& bound, const Bandwidth& planned) {
  if (bound.isZero()) {
    return AgainstDialog::tr("cuts GPUs off");
  }
  return bound < planned ? u"\u2212"_s + percentOf(planned - bound, planned) : AgainstDialog::tr("no cost");
}

QString rateText(const Bandwidth& bandwidth) {
  return bandwidth.isPositive() ? AgainstDialog::tr("%1 GB/s").arg(decimal(bandwidth)) : QString();
}

}  // namespace

AgainstDialog::AgainstDialog(EditorContext& context, const QString& planName, const Snapshot& snapshot,
                             std::shared_ptr<const workflow::AgainstPlan> compared, QWidget* parent)
    : QDialog(parent),
      m_context(&context),
      m_compared(std::move(compared)),
      m_title(new QLabel(this)),
      m_list(new QTreeWidget(this)) {
  setObjectName(u"againstDialog"_s);
  setWindowTitle(tr("%1 against %2").arg(context.file().displayName(), planName));
  m_title->setObjectName(u"againstTitle"_s);
  m_title->setWordWrap(true);
  m_list->setObjectName(u"againstList"_s);
  m_list->setAccessibleName(tr("Differences from the plan"));
  m_list->setHeaderLabels({tr("Difference"), tr("Planned"), tr("Wired"), tr("What it costs")});
  m_list->setRootIsDecorated(false);
  m_list->setUniformRowHeights(true);
  m_list->setAlternatingRowColors(true);
  auto* close = new QPushButton(tr("Close"), this);
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_title);
  layout->addWidget(m_list, 1);
  layout->addLayout(buttonRow({close}));
  // At the lower edge of the window, where it leaves the marks of the drawing free.
  constexpr QSize kSize(960, 250);
  constexpr int kEdge = 40;
  const QRect area = parent->window()->geometry();
  resize(kSize.boundedTo(area.size()));
  move(area.center().x() - width() / 2, std::max(area.top(), area.bottom() - height() - kEdge));
  mark(snapshot);
  fill();
  const auto go = [this](const QTreeWidgetItem* item) {
    const auto row = static_cast<std::size_t>(m_list->indexOfTopLevelItem(const_cast<QTreeWidgetItem*>(item)));
    if (m_context && row < m_places.size() && !m_places[row].empty()) {
      m_context->goTo(*m_places[row].begin());
    }
  };
  connect(m_list, &QTreeWidget::itemClicked, this, go);
  connect(m_list, &QTreeWidget::itemActivated, this, go);
}

void AgainstDialog::mark(const Snapshot& snapshot) {
  constexpr std::size_t kMaxHulls = 40;
  constexpr double kWidth = 4;
  std::map<std::string, NodeId> nodes;
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    nodes.emplace(snapshot.facts->nodes[i].id, snapshot.nodes[i]);
  }
  for (const workflow::PlanDifference& one : m_compared->differences) {
    std::set<NodeId>& places = m_places.emplace_back();
    for (const std::string& name : one.places) {
      if (const auto found = nodes.find(name); found != nodes.end()) {
        places.insert(found->second);
      }
    }
    if (places.empty()) {
      continue;
    }
    const Token color = one.isFault ? Token::error : Token::warning;
    const std::vector<std::string>& wired = one.difference.wired;
    if (wired.size() >= 2) {
      std::set<std::pair<NodeId, NodeId>> ends;
      for (std::size_t i = 0; i + 1 < wired.size(); i += 2) {
        const auto a = nodes.find(wired[i]);
        const auto b = nodes.find(wired[i + 1]);
        if (a != nodes.end() && b != nodes.end()) {
          ends.insert({a->second, b->second});
          ends.insert({b->second, a->second});
        }
      }
      for (std::size_t i = 0; i < snapshot.links.size(); ++i) {
        if (ends.contains(std::pair<NodeId, NodeId>(snapshot.ends[i].first, snapshot.ends[i].second))) {
          m_marks.marks.push_back({.link = snapshot.links[i], .color = color, .width = kWidth});
        }
      }
    }
    // Where it is a whole kind of links, they are marked and nothing is framed.
    if (wired.size() <= 2 && m_marks.hulls.size() < kMaxHulls) {
      QString label = kindText(one.difference.kind);
      if (one.boundWith && m_compared->planned && one.difference.kind != fabric::DifferenceKind::missingHost) {
        label += u": "_s + lossText(*one.boundWith, *m_compared->planned);
      }
      m_marks.hulls.push_back({.nodes = places, .line = color, .label = label});
    }
  }
}

void AgainstDialog::fill() {
  QString title = m_compared->differences.empty() ? tr("Nothing of the plan is missing, and nothing is added.")
                                                  : counted(static_cast<qsizetype>(m_compared->differences.size()),
                                                            tr("difference"), tr("differences")) +
                                                        tr(", %1 of them faults.").arg(m_compared->faults);
  if (m_compared->planned && m_compared->wired) {
    title += u' ' + tr("Allgather: %1 GB/s as wired, %2 GB/s as planned.")
                        .arg(decimal(*m_compared->wired), decimal(*m_compared->planned));
  }
  m_title->setText(title);
  for (const workflow::PlanDifference& one : m_compared->differences) {
    // Of a missing host, the others are compared: the sentence says it.
    const bool isHost = one.difference.kind == fabric::DifferenceKind::missingHost;
    const bool isLoss = one.boundWith && m_compared->planned && !isHost;
    QString cost = QString::fromStdString(one.cost);
    if (isLoss) {
      cost = lossText(*one.boundWith, *m_compared->planned);
      if (one.boundWith->isPositive() && *one.boundWith < *m_compared->planned) {
        cost += tr(": %1 of %2 GB/s").arg(decimal(*one.boundWith), decimal(*m_compared->planned));
      }
    }
    auto* item = new QTreeWidgetItem(
        m_list, {QString::fromStdString(one.difference.text), rateText(one.difference.plannedBandwidth),
                 rateText(one.difference.wiredBandwidth), cost});
    item->setForeground(0, Theme::instance().color(one.isFault ? Token::error : Token::muted));
    for (int column = 0; column < m_list->columnCount(); ++column) {
      item->setToolTip(column, column == 3 ? QString::fromStdString(one.cost) : item->text(column));
    }
  }
  constexpr int kText = 520;
  constexpr int kRate = 84;
  m_list->setColumnWidth(0, kText);
  m_list->setColumnWidth(1, kRate);
  m_list->setColumnWidth(2, kRate);
  m_list->header()->setStretchLastSection(true);
}

}  // namespace coppice::designer
