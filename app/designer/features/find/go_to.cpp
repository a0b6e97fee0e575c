// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/find/go_to.hpp"

#include <algorithm>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/models/element_table_model.hpp"
#include "designer/models/fuzzy_score.hpp"
#include "designer/theme/icons.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

GoTo::GoTo(EditorContext& editor, QWidget* parent)
    : PickPopup({u"goTo"_s, tr("Name of a node or box"), tr("Go to"), tr("Nodes and boxes"),
                 tr("No node or box has such a name")},
                QSize(460, 360), parent),
      m_editor(&editor) {
  start();
}

void GoTo::fill(const QString& typed) {
  constexpr std::size_t kMax = 60;
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
  const auto end = hits.begin() + static_cast<std::ptrdiff_t>(std::min(hits.size(), kMax));
  std::partial_sort(hits.begin(), end, hits.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  hits.erase(end, hits.end());
  for (const auto& [score, id] : hits) {
    const Node* node = model.find(id.node());
    const QString where = QString::fromStdString(node != nullptr ? model.boxPath(node->facts.box)
                                                                 : model.boxPath(model.find(id.box())->parent));
    auto* item = new QListWidgetItem(model.title(id) + (where.isEmpty() ? QString() : u"    "_s + where), &list());
    QString picture = u"box"_s;
    if (node != nullptr) {
      picture = node->facts.kind == "gpu" ? u"gpu"_s : (node->facts.kind == "nic" ? u"nic"_s : u"switch"_s);
    }
    item->setIcon(icon(picture));
    item->setData(kElementRole, QVariant::fromValue(id));
  }
}

void GoTo::take(const QListWidgetItem& item) {
  const auto id = item.data(kElementRole).value<ElementId>();
  EditorContext* editor = m_editor;
  close();
  if (editor != nullptr) {
    editor->goTo(id);
    editor->canvas().setFocus();
  }
}

}  // namespace coppice::designer
