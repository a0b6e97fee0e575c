// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/find/go_to.hpp"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/models/element_table_model.hpp"
#include "designer/models/fuzzy_score.hpp"
#include "designer/theme/icons.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

GoTo::GoTo(EditorContext& editor, QWidget* parent)
    : QDialog(parent, Qt::Popup), m_editor(&editor), m_input(new QLineEdit(this)), m_list(new QListWidget(this)) {
  setObjectName(u"goTo"_s);
  setAttribute(Qt::WA_DeleteOnClose);
  m_input->setPlaceholderText(tr("Name of a node or box"));
  m_input->setAccessibleName(tr("Go to"));
  m_list->setAccessibleName(tr("Nodes and boxes"));
  m_list->setFocusPolicy(Qt::NoFocus);
  m_list->setUniformItemSizes(true);
  setProperty("role", u"popup"_s);
  setAttribute(Qt::WA_StyledBackground);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_input);
  layout->addWidget(m_list);
  constexpr QSize kSize(460, 360);
  resize(kSize);
  m_input->installEventFilter(this);
  connect(m_input, &QLineEdit::textChanged, this, &GoTo::fill);
  connect(m_input, &QLineEdit::returnPressed, this, &GoTo::go);
  connect(m_list, &QListWidget::itemClicked, this, &GoTo::go);
  fill({});
  m_input->setFocus();
}

void GoTo::fill(const QString& typed) {
  constexpr std::size_t kMost = 60;
  m_list->clear();
  if (!m_editor) {
    return;
  }
  const Model& model = m_editor->model();
  std::vector<std::pair<int, ElementId>> hits;
  const auto offer = [&](const ElementId& id, const QString& title) {
    // The shorter of two names that fit alike is meant.
    const int score = fuzzyScore(typed, title);
    if (score >= 0) {
      constexpr int kWeight = 64;
      hits.emplace_back(score * kWeight - std::min<int>(kWeight - 1, static_cast<int>(title.size())), id);
    }
  };
  for (const auto& [id, box] : model.boxes()) {
    offer(id, QString::fromStdString(model.boxPath(id)));
  }
  for (const auto& [id, node] : model.nodes()) {
    offer(id, QString::fromStdString(node.facts.name));
  }
  const auto end = hits.begin() + static_cast<std::ptrdiff_t>(std::min(hits.size(), kMost));
  std::partial_sort(hits.begin(), end, hits.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  hits.erase(end, hits.end());
  for (const auto& [score, id] : hits) {
    const Node* node = model.find(id.node());
    const QString where = QString::fromStdString(node != nullptr ? model.boxPath(node->facts.box)
                                                                 : model.boxPath(model.find(id.box())->parent));
    auto* item = new QListWidgetItem(model.title(id) + (where.isEmpty() ? QString() : u"    "_s + where), m_list);
    QString picture = u"box"_s;
    if (node != nullptr) {
      picture = node->facts.kind == "gpu" ? u"gpu"_s : (node->facts.kind == "nic" ? u"nic"_s : u"switch"_s);
    }
    item->setIcon(icon(picture));
    item->setData(kElementRole, QVariant::fromValue(id));
  }
  m_list->setCurrentRow(m_list->count() > 0 ? 0 : -1);
}

void GoTo::go() {
  const QListWidgetItem* item = m_list->currentItem();
  if (item == nullptr) {
    return;
  }
  const auto id = item->data(kElementRole).value<ElementId>();
  EditorContext* editor = m_editor;
  close();
  if (editor != nullptr) {
    editor->goTo(id);
    editor->canvas().setFocus();
  }
}

bool GoTo::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_input && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown) {
      QCoreApplication::sendEvent(m_list, event);
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace coppice::designer
