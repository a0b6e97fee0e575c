// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/history_panel.hpp"
#include "designer/theme/panel_widgets.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLocale>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/run/panel_parts.hpp"
#include "designer/run/results_panel.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

enum Column { kWhen, kSchedule, kMachine, kSizes, kType, kOutcome, kColumns };
constexpr int kIdRole = Qt::UserRole;

}  // namespace

HistoryPanel::HistoryPanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_list(new QTreeWidget(this)),
      m_rerun(plainButton(u"historyRerun"_s, tr("Run Again"), tr("The same schedule with the same settings"), this)),
      m_rejoin(plainButton(u"historyRejoin"_s, tr("Reattach"), tr("Show the run that is still active on the machine"),
                           this)),
      m_stop(plainButton(u"historyStop"_s, tr("Stop"), tr("End this run and all its processes"), this)),
      m_folder(plainButton(u"historyFolder"_s, tr("Folder"), tr("Open the folder that keeps this run"), this)),
      m_remove(plainButton(u"historyRemove"_s, tr("Delete"), tr("Delete this run with its results and log"), this)) {
  setUpPanel(this, u"runs"_s, tr("Runs"));
  m_list->setObjectName(u"runList"_s);
  m_list->setAccessibleName(tr("Runs"));
  m_list->setColumnCount(kColumns);
  m_list->setHeaderLabels({tr("When"), tr("Schedule"), tr("Machine"), tr("Sizes"), tr("Type"), tr("Outcome")});
  m_list->setRootIsDecorated(false);
  m_list->setUniformRowHeights(true);
  m_list->setAlternatingRowColors(true);
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->header()->setStretchLastSection(true);
  for (int column = 0; column < kOutcome; ++column) {
    m_list->header()->setSectionResizeMode(column,
                                           column == kWhen ? QHeaderView::Interactive : QHeaderView::ResizeToContents);
  }
  auto* head = new QHBoxLayout;
  constexpr int kMargin = 12;
  constexpr int kSmall = 6;
  head->setContentsMargins(kMargin, kSmall, kMargin, kSmall);
  head->setSpacing(kSmall);
  auto* hint = new QLabel(tr("Ticked runs are compared in the chart"), this);
  hint->setProperty("role", u"muted"_s);
  head->addWidget(hint, 1);
  for (QToolButton* button : {m_stop, m_rejoin, m_rerun, m_folder, m_remove}) {
    head->addWidget(button);
  }
  m_pages->addWidget(emptyLabel(
      tr("Every run is kept here with its fabric, schedule, environment and log. This document has no runs yet."),
      this));
  m_pages->addWidget(panelPage(head, m_list, this));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_pages);
  connect(&Theme::instance(), &Theme::changed, this, [this] { setRuns(std::vector<RunInfo>(m_runs), current()); });
  connect(m_list, &QTreeWidget::currentItemChanged, this, [this] {
    updateButtons();
    if (!current().isEmpty()) {
      Q_EMIT chosen(current());
    }
  });
  connect(m_list, &QTreeWidget::itemChanged, this, [this](QTreeWidgetItem*, int column) {
    if (column == kWhen) {
      Q_EMIT tickedChanged();
    }
  });
  connect(m_rerun, &QToolButton::clicked, this, [this] { Q_EMIT rerunWanted(current()); });
  connect(m_rejoin, &QToolButton::clicked, this, [this] { Q_EMIT rejoinWanted(current()); });
  connect(m_stop, &QToolButton::clicked, this, [this] { Q_EMIT stopWanted(current()); });
  connect(m_folder, &QToolButton::clicked, this, [this] { Q_EMIT folderWanted(current()); });
  connect(m_remove, &QToolButton::clicked, this, [this] { Q_EMIT removeWanted(current()); });
}

QString HistoryPanel::current() const {
  const QTreeWidgetItem* item = m_list->currentItem();
  return item != nullptr ? item->data(0, kIdRole).toString() : QString();
}

QStringList HistoryPanel::ticked() const {
  QStringList result;
  for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
    const QTreeWidgetItem* item = m_list->topLevelItem(i);
    if (item->checkState(kWhen) == Qt::Checked) {
      result << item->data(0, kIdRole).toString();
    }
  }
  return result;
}

void HistoryPanel::setRuns(const std::vector<RunInfo>& runs, const QString& wanted) {
  const QStringList before = ticked();
  m_runs = runs;
  m_pages->setCurrentIndex(runs.empty() ? 0 : 1);
  {
    const QSignalBlocker quiet(m_list);
    // The rows stay where they can, so that the view does not jump during a run.
    while (m_list->topLevelItemCount() > static_cast<int>(runs.size())) {
      delete m_list->takeTopLevelItem(m_list->topLevelItemCount() - 1);
    }
    while (m_list->topLevelItemCount() < static_cast<int>(runs.size())) {
      new QTreeWidgetItem(m_list);
    }
    for (int i = 0; i < static_cast<int>(runs.size()); ++i) {
      const RunInfo& info = runs[i];
      QTreeWidgetItem* item = m_list->topLevelItem(i);
      item->setData(0, kIdRole, info.id);
      const QDateTime started = info.started.toLocalTime();
      const bool isToday = started.date() == QDate::currentDate();
      item->setText(kWhen, isToday ? QLocale().toString(started.time(), u"HH:mm:ss"_s)
                                   : QLocale().toString(started, QLocale::ShortFormat));
      item->setToolTip(kWhen, QLocale().toString(started, QLocale::LongFormat));
      item->setText(kSchedule, info.scheduleName);
      item->setText(kMachine, info.machine);
      item->setText(kSizes, u"%1 – %2"_s.arg(QString::fromStdString(info.request.minBytes),
                                             QString::fromStdString(info.request.maxBytes)));
      item->setText(kType, QString::fromStdString(info.request.type));
      item->setText(kOutcome, outcomeText(info, nullptr));
      item->setToolTip(kOutcome, outcomeText(info, nullptr));
      item->setForeground(kOutcome, Theme::instance().color(isBadOutcome(info) ? Token::error : Token::muted));
      item->setFlags(item->flags() | Qt::ItemIsUserCheckable);
      item->setCheckState(kWhen, before.contains(info.id) ? Qt::Checked : Qt::Unchecked);
      if (info.id == wanted) {
        m_list->setCurrentItem(item);
      }
    }
  }
  for (int column = 0; column < kOutcome; ++column) {
    m_list->resizeColumnToContents(column);
  }
  // Qt counts the check box without what the style puts around it.
  constexpr int kAroundCheck = 14;
  m_list->header()->resizeSection(kWhen, m_list->header()->sectionSize(kWhen) + kAroundCheck);
  updateButtons();
}

void HistoryPanel::setOutcome(const QString& id, const QString& text) {
  for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
    QTreeWidgetItem* item = m_list->topLevelItem(i);
    if (item->data(0, kIdRole).toString() == id && item->text(kOutcome) != text) {
      item->setText(kOutcome, text);
      item->setToolTip(kOutcome, text);
    }
  }
}

void HistoryPanel::updateButtons() {
  const QString id = current();
  const auto found = std::find_if(m_runs.begin(), m_runs.end(), [&](const RunInfo& info) { return info.id == id; });
  const bool isThere = found != m_runs.end();
  const bool isOver = isThere && (found->state == RunState::ended || found->state == RunState::lost);
  m_rerun->setEnabled(isOver);
  m_remove->setEnabled(isOver);
  m_folder->setEnabled(isThere);
  m_stop->setVisible(isThere && !isOver);
  m_rejoin->setVisible(isThere && found->state == RunState::lost && found->keepsRunning);
}

}  // namespace coppice::designer
