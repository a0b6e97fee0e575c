// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/edit/array_dialog.hpp"
#include "designer/document/error_text.hpp"
#include "designer/theme/panel_widgets.hpp"

#include <QFormLayout>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <map>

#include "designer/document/counted.hpp"
#include "designer/document/measures.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kMaxCopies = 10000;
/// More than that is shown as rectangles alone.
constexpr std::size_t kMaxTried = 20'000;

/// "b1, b2 … b7".
QString fewOf(const std::vector<std::string>& names) {
  QStringList texts;
  for (const std::string& name : names) {
    texts << QString::fromStdString(name);
  }
  constexpr qsizetype kFew = 4;
  if (texts.size() <= kFew) {
    return texts.join(u", "_s);
  }
  return texts[0] + u", "_s + texts[1] + u" … "_s + texts.back();
}

}  // namespace

ArrayDialog::ArrayDialog(EditorContext& editor, QWidget* parent)
    : QDialog(parent),
      m_editor(editor),
      m_elements(editor.selection().elements()),
      m_ghost(new GhostLayer(editor.canvas())),
      m_count(new QSpinBox(this)),
      m_columns(new QSpinBox(this)),
      m_inner(new QCheckBox(tr("Links within the selection"), this)),
      m_outerHead(new QLabel(tr("Links to the outside, repeated for each copy:"), this)),
      m_outer(new QListWidget(this)),
      m_instances(new QCheckBox(tr("Edit all copies together"), this)),
      m_summary(new QLabel(this)),
      m_create(new QPushButton(tr("Create"), this)) {
  setObjectName(u"arrayDialog"_s);
  setWindowTitle(tr("Array"));
  setUpFields();
  listOuterLinks();
  auto* cancel = layOut();

  for (QSpinBox* spin : {m_count, m_columns}) {
    connect(spin, &QSpinBox::valueChanged, this, &ArrayDialog::preview);
  }
  for (QCheckBox* box : {m_inner, m_instances}) {
    connect(box, &QCheckBox::toggled, this, &ArrayDialog::preview);
  }
  connect(m_outer, &QListWidget::itemChanged, this, &ArrayDialog::preview);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_create, &QPushButton::clicked, this, &ArrayDialog::take);
  m_count->selectAll();
  m_count->setFocus();
  preview();
}

void ArrayDialog::setUpFields() {
  m_count->setObjectName(u"arrayCount"_s);
  m_count->setRange(2, kMaxCopies);
  constexpr int kUsual = 8;
  m_count->setValue(kUsual);
  m_count->setToolTip(tr("Total count, including the selection"));
  m_columns->setObjectName(u"arrayColumns"_s);
  m_columns->setRange(0, kMaxCopies);
  m_columns->setSpecialValueText(tr("all"));
  m_columns->setToolTip(tr("Copies per row"));
  m_inner->setObjectName(u"arrayInner"_s);
  m_inner->setChecked(true);
  m_outer->setObjectName(u"arrayOuter"_s);
  m_outer->setAccessibleName(m_outerHead->text());
  m_instances->setObjectName(u"arrayInstances"_s);
  m_instances->setToolTip(
      tr("The boxes become instances of one type: a change to one changes all, until "
         "one is detached"));
  m_instances->setChecked(true);
  m_instances->setVisible(!m_editor.selection().boxes().empty());
  m_summary->setObjectName(u"arraySummary"_s);
  m_summary->setWordWrap(true);
  m_summary->setProperty("role", u"muted"_s);
  constexpr int kSummaryHeight = 54;
  m_summary->setMinimumHeight(kSummaryHeight);
  m_summary->setAlignment(Qt::AlignTop);
  m_create->setObjectName(u"arrayCreate"_s);
  m_create->setDefault(true);
}

void ArrayDialog::listOuterLinks() {
  // The nodes outside that the selection is linked to, with the number of links.
  const std::vector<NodeId> inside = m_editor.selection().nodesAndContents();
  const std::set<NodeId> isInside(inside.begin(), inside.end());
  std::map<NodeId, int> neighbours;
  for (const NodeId id : inside) {
    for (const LinkId linkId : m_editor.model().linksOf(id)) {
      const Link& link = *m_editor.model().find(linkId);
      for (const NodeId other : {link.tail.node, link.head.node}) {
        if (other.isValid() && !isInside.contains(other)) {
          ++neighbours[other];
        }
      }
    }
  }
  for (const auto& [id, links] : neighbours) {
    auto* item = new QListWidgetItem(
        tr("%1 (%2)").arg(m_editor.model().title(id), counted(links, tr("link"), tr("links"))), m_outer);
    item->setFlags(item->flags() | Qt::ItemIsUserCheckable);
    item->setCheckState(Qt::Checked);
    item->setData(Qt::UserRole, id.value);
  }
  const bool hasOuter = m_outer->count() > 0;
  m_outerHead->setVisible(hasOuter);
  m_outer->setVisible(hasOuter);
  constexpr int kRow = 26;
  constexpr int kMaxRows = 6;
  m_outer->setFixedHeight(std::min(m_outer->count(), kMaxRows) * kRow + 6);
}

QPushButton* ArrayDialog::layOut() {
  auto* form = new QFormLayout;
  form->addRow(tr("Total count"), m_count);
  form->addRow(tr("Per row"), m_columns);
  auto* cancel = new QPushButton(tr("Cancel"), this);
  cancel->setAutoDefault(false);
  auto* layout = new QVBoxLayout(this);
  constexpr QMargins kMargins(18, 16, 18, 14);
  layout->setContentsMargins(kMargins);
  constexpr int kGap = 10;
  layout->setSpacing(kGap);
  layout->addLayout(form);
  layout->addWidget(m_inner);
  layout->addWidget(m_outerHead);
  layout->addWidget(m_outer);
  layout->addWidget(m_instances);
  layout->addWidget(m_summary);
  layout->addLayout(buttonRow({cancel, m_create}));
  constexpr int kWidth = 320;
  setFixedWidth(kWidth);
  return cancel;
}

ArrayDialog::~ArrayDialog() {
  delete m_ghost.data();
}

edits::ArrayOptions ArrayDialog::options() const {
  edits::ArrayOptions options;
  options.copies = m_count->value() - 1;
  options.columns = m_columns->value();
  options.asInstances = m_instances->isChecked() && !m_instances->isHidden();
  bool hasAll = true;
  for (int row = 0; row < m_outer->count(); ++row) {
    if (m_outer->item(row)->checkState() == Qt::Checked) {
      options.outerNodes.insert(NodeId{m_outer->item(row)->data(Qt::UserRole).toUInt()});
    } else {
      hasAll = false;
    }
  }
  options.keepOuterLinks = !options.outerNodes.empty();
  if (hasAll) {
    options.outerNodes.clear();
  }
  return options;
}

Outcome ArrayDialog::fill(Edit& edit, std::set<ElementId>* made) const {
  const auto copies = edits::replicate(edit, m_elements, options());
  if (!copies) {
    return copies.error();
  }
  std::set<ElementId> all = *copies;
  if (!m_inner->isChecked()) {
    for (const ElementId& id : *copies) {
      const Link* link = edit.find(id.link());
      if (link != nullptr && all.contains(link->tail.node) && all.contains(link->head.node)) {
        edit.remove(id.link());
      }
    }
    std::erase_if(all, [&](const ElementId& id) { return id.link().isValid() && edit.find(id.link()) == nullptr; });
  }
  if (made != nullptr) {
    *made = std::move(all);
  }
  return Done{};
}

void ArrayDialog::preview() {
  const Model& model = m_editor.model();
  const std::size_t each = m_editor.selection().nodesAndContents().size() + 1;
  const auto copies = static_cast<std::size_t>(m_count->value());
  if (model.nodes().size() + model.links().size() + each * copies > kMaxTried) {
    QRectF rect;
    for (const ElementId& id : m_elements) {
      rect |= elementRect(model, id);
    }
    Ghost ghost;
    for (const Point& by : edits::arrayOffsets(model, m_elements, options())) {
      ghost.boxes.push_back(rect.translated(by.toPointF()));
    }
    m_ghost->setGhost(std::move(ghost));
    m_summary->setText(tr("Adds about %1 nodes").arg((copies - 1) * (each - 1)));
    m_create->setEnabled(true);
    return;
  }
  Outcome outcome = Done{};
  Trial trial = tryEdit(model, [&](Edit& edit) { outcome = fill(edit, nullptr); });
  m_create->setEnabled(static_cast<bool>(outcome));
  if (!outcome) {
    m_ghost->setGhost({});
    m_summary->setText(sentence(outcome.error()));
    return;
  }
  m_ghost->setGhost(std::move(trial.ghost));
  m_summary->setText(
      tr("Adds %1, %2: ")
          .arg(counted(trial.nodes, tr("node"), tr("nodes")), counted(trial.links, tr("link"), tr("links"))) +
      fewOf(trial.boxNames.empty() ? trial.nodeNames : trial.boxNames));
}

void ArrayDialog::take() {
  Outcome outcome = Done{};
  std::set<ElementId> made;
  // The history says of what.
  const Model& model = m_editor.model();
  std::vector<std::string> names;
  for (const ElementId& id : m_elements) {
    if (const Box* box = model.find(id.box())) {
      names.push_back(box->name);
    } else if (const Node* node = model.find(id.node())) {
      names.push_back(node->facts.name);
    }
  }
  const QString what = fewOf(names);
  m_editor.document().edit(tr("Array of %1: %2").arg(m_count->value()).arg(what),
                           [&](Edit& edit) { outcome = fill(edit, &made); });
  if (outcome) {
    // The copies and what they were made of, as the next step is mostly about all of them.
    std::set<ElementId> all = m_elements;
    for (const ElementId& id : made) {
      const Node* node = m_editor.model().find(id.node());
      const Box* box = m_editor.model().find(id.box());
      const BoxId parent = node != nullptr ? node->facts.box : (box != nullptr ? box->parent : BoxId{});
      if (id.kind != ElementKind::link && (!parent.isValid() || !made.contains(parent))) {
        all.insert(id);
      }
    }
    m_editor.selection().set(std::move(all));
    m_editor.canvas().zoomToFit();
  }
  accept();
}

}  // namespace coppice::designer
