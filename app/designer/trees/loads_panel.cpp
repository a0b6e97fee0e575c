// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/loads_panel.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/trees/transfer_model.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

class LoadFilter : public QSortFilterProxyModel {
public:
  using QSortFilterProxyModel::QSortFilterProxyModel;
  void setFullestOnly(bool isOnly) {
    m_isFullestOnly = isOnly;
    invalidateFilter();
  }

protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
    const QModelIndex index = sourceModel()->index(row, LoadModel::kLink, parent);
    return (!m_isFullestOnly || index.data(LoadModel::kBusiestRole).toBool()) &&
           index.data().toString().contains(filterRegularExpression());
  }
  [[nodiscard]] bool lessThan(const QModelIndex& a, const QModelIndex& b) const override {
    return static_cast<const LoadModel*>(sourceModel())->isLess(a, b);
  }

private:
  bool m_isFullestOnly = false;
};

/// A bar and the percentage behind it.
class BarDelegate : public QStyledItemDelegate {
public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem plain = option;
    initStyleOption(&plain, index);
    const QString text = std::exchange(plain.text, QString());
    plain.widget->style()->drawControl(QStyle::CE_ItemViewItem, &plain, painter, plain.widget);
    const Theme& theme = Theme::instance();
    const bool isBusiest = index.data(LoadModel::kBusiestRole).toBool();
    constexpr double kTextWidth = 64;
    constexpr double kBarHeight = 7;
    constexpr double kInset = 8;
    const QRectF cell(option.rect);
    const QRectF groove(cell.left() + kInset, cell.center().y() - kBarHeight / 2 + 0.5,
                        std::max(0.0, cell.width() - kTextWidth - 2 * kInset), kBarHeight);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(Qt::NoPen);
    painter->setBrush(theme.color(Token::hover));
    painter->drawRoundedRect(groove, kBarHeight / 2, kBarHeight / 2);
    const double share = std::clamp(index.data(LoadModel::kShareRole).toDouble(), 0.0, 1.0);
    if (share > 0) {
      QRectF bar = groove;
      bar.setWidth(std::max(kBarHeight, groove.width() * share));
      painter->setBrush(heat(share, theme.scheme()));
      painter->drawRoundedRect(bar, kBarHeight / 2, kBarHeight / 2);
    }
    painter->setFont(figureFont(12, isBusiest ? QFont::DemiBold : QFont::Normal));
    painter->setPen(theme.color(isBusiest ? Token::cut : Token::text));
    painter->drawText(QRectF(groove.right(), cell.top(), cell.right() - groove.right() - kInset, cell.height()),
                      Qt::AlignRight | Qt::AlignVCenter, text);
    painter->restore();
  }
};

}  // namespace

// ---- model

void LoadModel::setResult(ScheduleResultPtr result) {
  beginResetModel();
  m_result = std::move(result);
  m_stepLoads.reset();
  endResetModel();
}

void LoadModel::setStepLoads(std::optional<std::vector<ArcLoad>> loads) {
  beginResetModel();
  m_stepLoads = std::move(loads);
  endResetModel();
}

std::pair<QString, QString> LoadModel::endsAt(int row) const {
  const ArcLoad& load = loads()[row];
  const auto nodes = m_result->fabric->nodes();
  return {QString::fromStdString(nodes[load.tail].id), QString::fromStdString(nodes[load.head].id)};
}

bool LoadModel::isLess(const QModelIndex& a, const QModelIndex& b) const {
  const ArcLoad& left = loads()[a.row()];
  const ArcLoad& right = loads()[b.row()];
  switch (a.column()) {
    case kBandwidth:
      return left.bandwidth < right.bandwidth;
    case kLoad:
      return left.rate < right.rate;
    case kShare: {
      // What is fullest is known exactly; among the others a rounding error does no harm.
      const double x = toGBps(left.rate) / toGBps(left.bandwidth);
      const double y = toGBps(right.rate) / toGBps(right.bandwidth);
      return left.isBusiest == right.isBusiest ? !left.isBusiest && x < y : right.isBusiest;
    }
    case kTrees:
      return m_result->treesAtOnce(left) < m_result->treesAtOnce(right);
    default:
      return QString::localeAwareCompare(a.data().toString(), b.data().toString()) < 0;
  }
}

int LoadModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !m_result ? 0 : static_cast<int>(loads().size());
}

int LoadModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(kColumns);
}

QVariant LoadModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !m_result) {
    return {};
  }
  const ArcLoad& load = loads()[index.row()];
  switch (role) {
    case Qt::DisplayRole:
      switch (index.column()) {
        case kLink: {
          const auto [tail, head] = endsAt(index.row());
          return tail + u" → "_s + head;
        }
        case kBandwidth:
          return decimal(load.bandwidth);
        case kLoad:
          return decimal(load.rate);
        case kShare:
          return percentOf(load.rate, load.bandwidth);
        case kTrees:
          return QString::number(m_result->treesAtOnce(load));
        default:
          return {};
      }
    case Qt::ToolTipRole: {
      QString text = tr("%1 of %2 GB/s").arg(exactly(load.rate), exactly(load.bandwidth));
      if (m_result->isOverlapped()) {
        text = tr("Sums %1 and results %2 at the same time, of %3 GB/s")
                   .arg(exactly(load.rates[0]), exactly(load.rates[1]), exactly(load.bandwidth));
      } else if (m_result->hasTwoForests()) {
        text = tr("First half %1, second half %2, of %3 GB/s")
                   .arg(exactly(load.rates[0]), exactly(load.rates[1]), exactly(load.bandwidth));
      }
      return load.isBusiest ? text + u'\n' + tr("No link has a higher load, so this one limits the speed.") : text;
    }
    case Qt::TextAlignmentRole:
      return index.column() == kLink ? QVariant(Qt::AlignLeft | Qt::AlignVCenter)
                                     : QVariant(Qt::AlignRight | Qt::AlignVCenter);
    case Qt::FontRole:
      return index.column() == kLink ? QVariant() : QVariant(figureFont());
    case Qt::AccessibleTextRole:
      return data(index, Qt::DisplayRole).toString() +
             (load.isBusiest && index.column() == kLink ? u", "_s + tr("bottleneck") : QString());
    case kShareRole:
      return toGBps(load.rate) / toGBps(load.bandwidth);
    case kBusiestRole:
      return load.isBusiest;
    default:
      return {};
  }
}

QVariant LoadModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    return section == kLink || section == kShare ? QVariant(Qt::AlignLeft | Qt::AlignVCenter)
                                                 : QVariant(Qt::AlignRight | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kLink:
      return tr("Link");
    case kBandwidth:
      return tr("GB/s");
    case kLoad:
      return tr("Used");
    case kShare:
      return tr("Load");
    case kTrees:
      return m_result && m_result->stepSchedule() != nullptr ? tr("Transfers") : tr("Trees");
    default:
      return {};
  }
}

// ---- panel

LoadsPanel::LoadsPanel(QWidget* parent)
    : QWidget(parent),
      m_filter(new LoadFilter(this)),
      m_pages(new QStackedWidget(this)),
      m_search(new QLineEdit(this)),
      m_fullest(new QCheckBox(tr("Most loaded only"), this)),
      m_heat(new QCheckBox(tr("Heat map on the drawing"), this)),
      m_state(new QLabel(this)),
      m_table(new QTableView(this)) {
  setObjectName(u"loadsPanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_filter->setSourceModel(&m_model);
  constexpr int kSearchWidth = 200;
  setUpSearch(*m_search, u"loadsSearch"_s, tr("Find a link"), kSearchWidth);
  m_fullest->setObjectName(u"loadsFullest"_s);
  m_heat->setObjectName(u"loadsHeat"_s);
  m_heat->setChecked(true);
  m_heat->setToolTip(tr("Colour the links by their load while no tree is drawn"));
  m_state->setObjectName(u"loadsState"_s);
  m_state->setProperty("role", u"muted"_s);
  setUpRowTable(*m_table, u"loadsTable"_s, tr("Link loads"));
  m_table->setModel(m_filter);
  m_table->setAlternatingRowColors(true);
  m_table->setItemDelegateForColumn(LoadModel::kShare, new BarDelegate(m_table));
  m_table->setSortingEnabled(true);
  m_table->sortByColumn(LoadModel::kShare, Qt::DescendingOrder);
  m_table->horizontalHeader()->setSectionResizeMode(LoadModel::kShare, QHeaderView::Stretch);
  constexpr int kLinkWidth = 260;
  constexpr int kFigureWidth = 90;
  m_table->horizontalHeader()->resizeSection(LoadModel::kLink, kLinkWidth);
  for (const int column : {LoadModel::kBandwidth, LoadModel::kLoad, LoadModel::kTrees}) {
    m_table->horizontalHeader()->resizeSection(column, kFigureWidth);
  }
  constexpr int kSpacing = 16;
  auto* body = panelPage(controlRow({m_search, m_fullest, m_heat}, m_state, kSpacing), m_table, m_pages);
  auto* empty = new EmptyPage(tr("The load of each link while the schedule runs, and which links limit its speed."),
                              tr("Generate"), m_pages);
  connect(empty, &EmptyPage::clicked, this, &LoadsPanel::generateWanted);
  m_pages->addWidget(empty);
  m_pages->addWidget(body);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_pages);
  connect(m_search, &QLineEdit::textChanged, this, [this](const QString& text) {
    m_filter->setFilterRegularExpression(
        QRegularExpression(QRegularExpression::escape(text.trimmed()), QRegularExpression::CaseInsensitiveOption));
    refresh();
  });
  connect(m_fullest, &QCheckBox::toggled, this, [this](bool isOn) {
    static_cast<LoadFilter*>(m_filter)->setFullestOnly(isOn);
    refresh();
  });
  connect(m_heat, &QCheckBox::toggled, this, &LoadsPanel::heatToggled);
  const auto choose = [this](const QModelIndex& index) {
    const QModelIndex source = m_filter->mapToSource(index);
    if (source.isValid()) {
      const auto [tail, head] = m_model.endsAt(source.row());
      Q_EMIT linkChosen(tail, head);
    }
  };
  connect(m_table, &QTableView::clicked, this, choose);
  connect(m_table, &QTableView::activated, this, choose);
  refresh();
}

void LoadsPanel::setResult(ScheduleResultPtr result) {
  if (m_model.result() != result) {
    m_step.reset();
    m_model.setResult(std::move(result));
    m_table->scrollToTop();
    refresh();
  }
}

void LoadsPanel::setStep(std::optional<std::int32_t> step) {
  const schedule::StepSchedule* schedule = m_model.result() ? m_model.result()->stepSchedule() : nullptr;
  if (schedule == nullptr || m_step == step) {
    return;
  }
  m_step = step;
  m_model.setStepLoads(
      step ? std::optional(arcLoadsInStep(*m_model.result()->fabric, *schedule, *m_model.result()->cost, *step))
           : std::nullopt);
  refresh();
}

void LoadsPanel::refresh() {
  m_pages->setCurrentIndex(m_model.result() ? 1 : 0);
  if (m_model.result()) {
    const auto& loads = m_model.loads();
    const auto fullest = std::count_if(loads.begin(), loads.end(), [](const ArcLoad& load) { return load.isBusiest; });
    const QString step = m_step ? stepTitle(*m_model.result()->stepSchedule(), *m_step) + u": "_s : QString();
    m_state->setText(step + (m_filter->rowCount() == m_model.rowCount()
                                 ? tr("%1 of %2 link directions have the highest load").arg(fullest).arg(loads.size())
                                 : tr("%1 of %2 shown").arg(m_filter->rowCount()).arg(loads.size())));
  }
}

}  // namespace coppice::designer
