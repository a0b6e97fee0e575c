// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/differences_panel.hpp"

#include <QHeaderView>
#include <QVBoxLayout>
#include <utility>

#include "designer/run/panel_parts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

DifferencesPanel::DifferencesPanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_message(emptyLabel(
          tr("Connect to a machine and press Compare to list the differences between the drawing and the machine."),
          this)),
      m_title(new QLabel(this)),
      m_list(new QTreeWidget(this)) {
  setUpPanel(this, u"differences"_s, tr("Drawn vs. Detected"));
  m_title->setProperty("role", u"muted"_s);
  constexpr int kMargin = 12;
  constexpr int kSmall = 6;
  m_title->setContentsMargins(kMargin, kSmall, kMargin, kSmall);
  m_list->setObjectName(u"differenceList"_s);
  m_list->setAccessibleName(tr("Differences"));
  m_list->setHeaderLabels({tr("Where"), tr("Drawn"), tr("Detected"), tr("Difference")});
  m_list->setRootIsDecorated(false);
  m_list->setUniformRowHeights(true);
  m_list->setAlternatingRowColors(true);
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->header()->setStretchLastSection(true);
  for (int column = 0; column < 3; ++column) {
    m_list->header()->setSectionResizeMode(column, QHeaderView::ResizeToContents);
  }
  auto* page = new QWidget(this);
  auto* inner = new QVBoxLayout(page);
  inner->setContentsMargins({});
  inner->setSpacing(0);
  inner->addWidget(m_title);
  inner->addWidget(m_list, 1);
  m_pages->addWidget(m_message);
  m_pages->addWidget(page);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_pages);
  const auto go = [this](QTreeWidgetItem* item) {
    const int row = m_list->indexOfTopLevelItem(item);
    if (row >= 0 && m_differences[row].element.isValid()) {
      Q_EMIT elementChosen(m_differences[row].element);
    }
  };
  connect(m_list, &QTreeWidget::itemClicked, this, go);
  connect(m_list, &QTreeWidget::itemActivated, this, go);
  connect(&Theme::instance(), &Theme::changed, this, &DifferencesPanel::fill);
}

void DifferencesPanel::setMessage(const QString& text) {
  m_differences.clear();
  m_list->clear();
  m_message->setText(text);
  m_pages->setCurrentIndex(0);
}

void DifferencesPanel::setDifferences(const QString& title, std::vector<FabricDifference> differences) {
  if (differences.empty()) {
    setMessage(tr("%1: the machine has exactly what is drawn.").arg(title));
    return;
  }
  m_differences = std::move(differences);
  m_title->setText(tr("%1: %n difference(s)", nullptr, static_cast<int>(m_differences.size())).arg(title));
  m_pages->setCurrentIndex(1);
  fill();
}

void DifferencesPanel::fill() {
  m_list->clear();
  constexpr std::size_t kMax = 5'000;
  for (std::size_t i = 0; i < std::min(m_differences.size(), kMax); ++i) {
    const FabricDifference& difference = m_differences[i];
    auto* item = new QTreeWidgetItem(m_list, {difference.place, difference.drawn, difference.found, difference.text});
    const Token token = difference.severity == Severity::error
                            ? Token::error
                            : (difference.severity == Severity::warning ? Token::warning : Token::muted);
    item->setForeground(3, Theme::instance().color(token));
  }
}

}  // namespace coppice::designer
