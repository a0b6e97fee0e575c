// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/program_head.hpp"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QSignalBlocker>

#include "designer/export/export_check.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/style.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

ProgramHead::ProgramHead(QWidget* parent)
    : QWidget(parent),
      m_open(iconButton(u"programOpen"_s, u"open"_s, tr("Open a program"), this)),
      m_ofSchedule(
          iconButton(u"programOfSchedule"_s, u"schedule"_s, tr("Show the program of the current schedule"), this)),
      m_file(new QLabel(this)),
      m_close(iconButton(u"programClose"_s, u"close"_s, tr("Close the program file"), this)),
      m_verdict(new QLabel(this)),
      m_trees(new QLabel(this)),
      m_progress(new QProgressBar(this)),
      m_stop(iconButton(u"programCancel"_s, u"stop"_s, tr("Stop reading the program"), this)),
      m_rank(new QComboBox(this)),
      m_runtime(new QComboBox(this)) {
  m_ofSchedule->setEnabled(false);
  m_file->setObjectName(u"programFile"_s);
  m_file->setFont(uiFont(13, QFont::DemiBold));
  m_file->setTextFormat(Qt::PlainText);
  m_verdict->setObjectName(u"programVerdict"_s);
  m_verdict->setTextFormat(Qt::PlainText);
  m_verdict->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_trees->setObjectName(u"programTrees"_s);
  m_trees->setTextFormat(Qt::PlainText);
  m_trees->setToolTip(tr("Steps of the trees that are chosen in the dock Trees"));
  constexpr int kProgressWidth = 90;
  m_progress->setRange(0, kProgressParts);
  m_progress->setTextVisible(false);
  m_progress->setFixedWidth(kProgressWidth);
  m_progress->setAccessibleName(tr("Reading the program"));
  m_rank->setObjectName(u"programRank"_s);
  m_rank->setAccessibleName(tr("Ranks shown"));
  m_rank->setToolTip(tr("Show the steps of one rank alone"));
  m_runtime->setObjectName(u"programRuntime"_s);
  m_runtime->setAccessibleName(tr("Checked against the rules of"));
  m_runtime->setToolTip(tr("The runtime against whose rules and limits the program is checked"));
  for (const auto runtime : program::kRuntimes) {
    m_runtime->addItem(runtimeTitle(runtime), static_cast<int>(runtime));
  }
  constexpr int kMargin = 8;
  auto* line = new QHBoxLayout(this);
  line->setContentsMargins(kMargin, kMargin / 2, kMargin, kMargin / 2);
  line->setSpacing(kMargin);
  line->addWidget(m_open);
  line->addWidget(m_ofSchedule);
  line->addWidget(m_file);
  line->addWidget(m_close);
  line->addWidget(m_verdict, 1);
  line->addWidget(m_trees);
  line->addWidget(m_progress);
  line->addWidget(m_stop);
  line->addWidget(m_rank);
  line->addWidget(m_runtime);
  setProgress(std::nullopt);
  connect(m_open, &QToolButton::clicked, this, &ProgramHead::openWanted);
  connect(m_ofSchedule, &QToolButton::clicked, this, &ProgramHead::scheduleWanted);
  connect(m_close, &QToolButton::clicked, this, &ProgramHead::closeWanted);
  connect(m_stop, &QToolButton::clicked, this, &ProgramHead::stopWanted);
  connect(m_runtime, &QComboBox::currentIndexChanged, this, &ProgramHead::runtimeChanged);
  connect(m_rank, &QComboBox::currentIndexChanged, this, [this] { Q_EMIT rankChanged(m_rank->currentData().toInt()); });
}

void ProgramHead::setFile(const QString& path, bool isFile) {
  m_file->setText(QFileInfo(path).fileName());
  m_file->setToolTip(path);
  m_close->setVisible(isFile);
}

void ProgramHead::setVerdict(const QString& text, const QString& role) {
  m_verdict->setText(text);
  m_verdict->setToolTip(text);
  setRole(m_verdict, role);
}

void ProgramHead::setProgress(std::optional<double> fraction) {
  m_progress->setValue(static_cast<int>(fraction.value_or(0) * kProgressParts));
  m_progress->setVisible(fraction.has_value());
  m_stop->setVisible(fraction.has_value());
}

void ProgramHead::setRanks(int count) {
  const QSignalBlocker blocker(m_rank);
  m_rank->clear();
  m_rank->addItem(tr("All ranks"), -1);
  for (int rank = 0; rank < count; ++rank) {
    m_rank->addItem(tr("Rank %1").arg(rank), rank);
  }
}

void ProgramHead::setRank(int rank) {
  m_rank->setCurrentIndex(m_rank->findData(rank));
}

program::Runtime ProgramHead::runtime() const {
  return static_cast<program::Runtime>(m_runtime->currentData().toInt());
}

}  // namespace coppice::designer
