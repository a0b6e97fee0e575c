// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/report/fabrics_dialog.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QPushButton>
#include <QVBoxLayout>
#include <chrono>
#include <utility>

#include "designer/document/figures.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

FabricsDialog::FabricsDialog(const std::vector<EditorContext*>& contexts, QWidget* parent)
    : QDialog(parent),
      m_table(new QTableWidget(this)),
      m_job(
          [this](const std::shared_ptr<const std::vector<Bound>>& bounds) {
            m_fabrics[m_next++].bounds = *bounds;
            fill();
            computeNext();
          },
          0ms) {
  setObjectName(u"fabricsDialog"_s);
  setWindowTitle(tr("Compare Open Fabrics"));
  for (EditorContext* context : contexts) {
    m_fabrics.push_back({context->file().displayName(), Snapshot::of(context->document()), {}});
  }
  setUpRowTable(*m_table, u"fabricsTable"_s, tr("Bounds of the open fabrics, GB/s"));
  m_table->setColumnCount(static_cast<int>(m_fabrics.size()) + 1);
  m_table->setRowCount(static_cast<int>(kBoundCollectives.size()) + 1);
  QStringList heads{tr("GB/s")};
  for (const Subject& subject : m_fabrics) {
    heads << subject.name;
  }
  m_table->setHorizontalHeaderLabels(heads);
  m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  auto* copy = new QPushButton(tr("Copy as CSV"), this);
  copy->setObjectName(u"fabricsCopy"_s);
  connect(copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(csv()); });
  auto* close = new QPushButton(tr("Close"), this);
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_table, 1);
  layout->addLayout(buttonRow({copy, close}));
  constexpr int kColumn = 190;
  constexpr int kHeight = 400;
  constexpr int kMaxColumns = 5;
  resize(kColumn * std::min(static_cast<int>(m_fabrics.size()) + 1, kMaxColumns), kHeight);
  fill();
  computeNext();
}

void FabricsDialog::computeNext() {
  if (isSettled()) {
    return;
  }
  m_job.submit([snapshot = m_fabrics[m_next].snapshot](const std::stop_token& stop) {
    auto bounds = std::make_shared<std::vector<Bound>>();
    for (const Collective collective : kBoundCollectives) {
      bounds->push_back(computeBound(snapshot, Question{collective, {}}, stop));
    }
    return std::shared_ptr<const std::vector<Bound>>(std::move(bounds));
  });
}

void FabricsDialog::fill() {
  const auto set = [this](int row, int column, const QString& text, const QString& tip = {}) {
    setCell(*m_table, row, column, text, column > 0, tip);
  };
  set(0, 0, tr("GPUs"));
  for (std::size_t row = 0; row < kBoundCollectives.size(); ++row) {
    set(static_cast<int>(row) + 1, 0, collectiveName(kBoundCollectives[row]));
  }
  for (std::size_t i = 0; i < m_fabrics.size(); ++i) {
    const int column = static_cast<int>(i) + 1;
    const std::vector<Bound>& bounds = m_fabrics[i].bounds;
    set(0, column, bounds.empty() ? tr("computing…") : QString::number(bounds.front().gpuCount));
    for (std::size_t row = 0; row < bounds.size(); ++row) {
      const Bound& bound = bounds[row];
      const std::vector<Bound>& first = m_fabrics.front().bounds;
      const bool isRelative = i > 0 && row < first.size() && first[row].algbw && bound.algbw;
      set(static_cast<int>(row) + 1, column,
          bound.algbw ? decimal(*bound.algbw) +
                            (isRelative ? u"  ("_s + percentOf(*bound.algbw, *first[row].algbw) + u')' : QString())
                      : u"–"_s,
          bound.algbw ? (bound.cuts.empty() ? exactly(*bound.algbw)
                                            : exactly(*bound.algbw) + u" GB/s\n"_s + bound.cuts.front().sentence)
                      : bound.why);
    }
  }
}

QString FabricsDialog::csv() const {
  QString text = u"collective"_s;
  for (const Subject& subject : m_fabrics) {
    QString name = subject.name;
    text += u",\""_s + name.replace(u'"', u"\"\""_s) + u"\""_s;
  }
  text += u'\n';
  for (std::size_t row = 0; row < kBoundCollectives.size(); ++row) {
    text += collectiveName(kBoundCollectives[row]);
    for (const Subject& subject : m_fabrics) {
      const bool isKnown = row < subject.bounds.size() && subject.bounds[row].algbw;
      text += u',' + (isKnown ? QString::fromStdString(toFraction(*subject.bounds[row].algbw)) : QString());
    }
    text += u'\n';
  }
  return text;
}

}  // namespace coppice::designer
