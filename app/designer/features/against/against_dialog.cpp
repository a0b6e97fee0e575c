// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/against/against_dialog.hpp"

#include <QHeaderView>
#include <QPushButton>
#include <QVBoxLayout>
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
  constexpr QSize kSize(760, 380);
  resize(kSize);
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
    if (one.difference.wired.size() == 2) {
      for (std::size_t i = 0; i < snapshot.links.size(); ++i) {
        if (places.contains(snapshot.ends[i].first) && places.contains(snapshot.ends[i].second)) {
          m_marks.marks.push_back({.link = snapshot.links[i], .color = color, .width = kWidth});
        }
      }
    }
    if (m_marks.hulls.size() < kMaxHulls) {
      QString label = kindText(one.difference.kind);
      if (one.boundWith && m_compared->planned) {
        label +=
            one.boundWith->isZero() ? tr(": cuts GPUs off") : u": "_s + percentOf(*one.boundWith, *m_compared->planned);
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
    auto* item = new QTreeWidgetItem(
        m_list, {QString::fromStdString(one.difference.text), rateText(one.difference.plannedBandwidth),
                 rateText(one.difference.wiredBandwidth), QString::fromStdString(one.cost)});
    item->setForeground(0, Theme::instance().color(one.isFault ? Token::error : Token::muted));
    for (int column = 0; column < m_list->columnCount(); ++column) {
      item->setToolTip(column, item->text(column));
    }
  }
  constexpr int kText = 330;
  m_list->setColumnWidth(0, kText);
  m_list->header()->setStretchLastSection(true);
}

}  // namespace coppice::designer
