// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/edit/link_dialog.hpp"
#include "designer/document/error_text.hpp"
#include "designer/theme/panel_widgets.hpp"

#include <QFormLayout>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/units.hpp"
#include "designer/document/counted.hpp"
#include "designer/features/edit/link_patterns.hpp"
#include "designer/theme/icons.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kMaxParallel = 1'000'000;

int countOf(const Model& model, fabric::NodeKind kind) {
  int count = 0;
  for (const auto& [id, node] : model.nodes()) {
    count += node.kind() == kind ? 1 : 0;
  }
  return count;
}

/// Some GPU has a link to a switch.
bool hasLinkedGpus(const Model& model) {
  const auto isOf = [&](NodeId id, fabric::NodeKind kind) {
    const Node* node = model.find(id);
    return node != nullptr && node->kind() == kind;
  };
  for (const auto& [id, link] : model.links()) {
    for (const auto& [a, b] : {std::pair(link.tail.node, link.head.node), std::pair(link.head.node, link.tail.node)}) {
      if (isOf(a, fabric::NodeKind::gpu) && isOf(b, fabric::NodeKind::switchNode)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

LinkDialog::LinkDialog(EditorContext& editor, QWidget* parent)
    : QDialog(parent),
      m_editor(editor),
      m_selection(editor.selection().elements()),
      m_ghost(new GhostLayer(editor.canvas())),
      m_tabs(new QTabWidget(this)),
      m_from(new QLineEdit(this)),
      m_to(new QLineEdit(this)),
      m_pattern(new QComboBox(this)),
      m_names(new QLineEdit(this)),
      m_bandwidth(new QLineEdit(this)),
      m_meaning(new QLabel(this)),
      m_count(new QSpinBox(this)),
      m_duplex(new QCheckBox(tr("both ways"), this)),
      m_summary(new QLabel(this)),
      m_create(new QPushButton(tr("Link"), this)) {
  setObjectName(u"linkDialog"_s);
  setWindowTitle(tr("Link by Pattern"));
  for (const NodeId id : editor.selection().nodesAndContents()) {
    m_selection.insert(id);
  }
  const bool isPairing = proposeSets();
  offerPatterns();
  if (isPairing) {
    m_pattern->setCurrentIndex(m_pattern->findData(static_cast<int>(edits::LinkPattern::oneToOne)));
  }
  setUpFields();
  fillTabs();
  auto* cancel = layOut();

  for (QLineEdit* field : {m_from, m_to, m_names, m_bandwidth}) {
    connect(field, &QLineEdit::textChanged, this, &LinkDialog::preview);
  }
  connect(m_pattern, &QComboBox::currentIndexChanged, this, &LinkDialog::preview);
  connect(m_count, &QSpinBox::valueChanged, this, &LinkDialog::preview);
  connect(m_duplex, &QCheckBox::toggled, this, &LinkDialog::preview);
  connect(m_tabs, &QTabWidget::currentChanged, this, &LinkDialog::preview);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_create, &QPushButton::clicked, this, &LinkDialog::take);
  preview();
  // Where the proposal can be made, its bandwidth is what is left to say.
  QLineEdit* first = m_create->isEnabled() ? m_bandwidth : m_from;
  first->selectAll();
  first->setFocus();
}

bool LinkDialog::proposeSets() {
  bool hasSwitch = false;
  bool hasOther = false;
  for (const ElementId& id : m_selection) {
    if (const Node* node = m_editor.model().find(id.node())) {
      (node->kind() == fabric::NodeKind::switchNode ? hasSwitch : hasOther) = true;
    }
  }
  m_from->setObjectName(u"linkFrom"_s);
  m_to->setObjectName(u"linkTo"_s);
  for (QLineEdit* field : {m_from, m_to}) {
    field->setToolTip(tr("Which nodes: names and expressions as in Find (Ctrl+F), such as selected and kind = nic"));
  }
  bool isPairing = false;
  if (hasSwitch && hasOther) {
    m_from->setText(u"selected and not kind = switch"_s);
    m_to->setText(u"selected and kind = switch"_s);
  } else if (hasSwitch) {
    // A switch that was just put there: GPUs come to it first, and NICs once the GPUs have a switch.
    m_from->setText(hasLinkedGpus(m_editor.model()) ? u"kind = nic"_s : u"kind = gpu"_s);
    m_to->setText(u"selected"_s);
  } else {
    m_from->setText(m_selection.empty() ? u"kind = nic"_s : u"selected"_s);
    m_to->setText(u"kind = switch"_s);
    // Without a switch, NICs are for GPUs, and GPUs for NICs.
    using fabric::NodeKind;
    const auto ofKind = [&](NodeKind kind) { return countOf(m_editor.model(), kind); };
    for (const auto& [own, other, text] : {std::tuple(NodeKind::nic, NodeKind::gpu, u"kind = gpu"_s),
                                           std::tuple(NodeKind::gpu, NodeKind::nic, u"kind = nic"_s)}) {
      const bool isOwn = std::all_of(m_selection.begin(), m_selection.end(), [&, kind = own](const ElementId& id) {
        const Node* node = m_editor.model().find(id.node());
        return node == nullptr || node->kind() == kind;
      });
      if (!m_selection.empty() && isOwn && ofKind(NodeKind::switchNode) == 0 && ofKind(other) > 0) {
        m_to->setText(text);
        isPairing = ofKind(own) == ofKind(other);
      }
    }
  }
  return isPairing;
}

void LinkDialog::offerPatterns() {
  m_pattern->setObjectName(u"linkPattern"_s);
  using edits::LinkPattern;
  const auto offer = [this](LinkPattern pattern, const QString& picture, const QString& text, const QString& tip) {
    m_pattern->addItem(icon(picture), text, static_cast<int>(pattern));
    m_pattern->setItemData(m_pattern->count() - 1, tip, Qt::ToolTipRole);
  };
  offer(LinkPattern::allToAll, u"all-to-all"_s, tr("All to all"),
        tr("Every node of the first set to every node of the second"));
  offer(LinkPattern::oneToOne, u"one-to-one"_s, tr("One to one"), tr("First to first, second to second"));
  offer(LinkPattern::roundRobin, u"round-robin"_s, tr("Round robin"), tr("In turn over the nodes of the second set"));
  offer(LinkPattern::rail, u"rail"_s, tr("Rail"), tr("The j-th node of every box to the j-th of the second set"));
  offer(LinkPattern::ring, u"ring"_s, tr("Ring"), tr("Each to the next, and the last to the first"));
}

void LinkDialog::setUpFields() {
  m_names->setObjectName(u"linkNames"_s);
  m_names->setPlaceholderText(u"leaf(\\d+)->host$1"_s);
  m_names->setToolTip(
      tr("Left: a regular expression for whole names. Right: the node to link to; $1 is the text that the "
         "first parentheses captured; * and ? are wildcards"));
  m_bandwidth->setObjectName(u"linkDialogBandwidth"_s);
  m_bandwidth->setAccessibleName(tr("Bandwidth"));
  m_bandwidth->setText(QString::fromStdString(m_editor.canvas().linkTemplate().bandwidth));
  m_bandwidth->setToolTip(tr("GB/s per direction of each link: 50, 400Gb/s, 12x25 GB/s"));
  m_meaning->setProperty("role", u"muted"_s);
  m_count->setRange(1, kMaxParallel);
  m_count->setAccessibleName(tr("Parallel"));
  m_count->setToolTip(tr("Number of parallel links between two nodes"));
  m_duplex->setChecked(true);
  m_summary->setObjectName(u"linkSummary"_s);
  m_summary->setWordWrap(true);
  m_summary->setAlignment(Qt::AlignTop);
  constexpr int kSummaryHeight = 40;
  m_summary->setMinimumHeight(kSummaryHeight);
  m_create->setObjectName(u"linkCreate"_s);
  m_create->setDefault(true);
}

void LinkDialog::fillTabs() {
  auto* sets = new QWidget(m_tabs);
  auto* setsForm = new QFormLayout(sets);
  setsForm->addRow(tr("From"), m_from);
  setsForm->addRow(tr("To"), m_to);
  setsForm->addRow(tr("Pattern"), m_pattern);
  auto* names = new QWidget(m_tabs);
  auto* namesForm = new QFormLayout(names);
  namesForm->addRow(tr("Names"), m_names);
  auto* explanation = new QLabel(tr("leaf(\\d+)->host$1 links leaf3 to host3; b(\\d+)nic(\\d+)->rail$2 links every NIC "
                                    "to the rail of its number."),
                                 names);
  explanation->setWordWrap(true);
  explanation->setProperty("role", u"muted"_s);
  namesForm->addRow(explanation);
  m_tabs->setObjectName(u"linkTabs"_s);
  m_tabs->setAccessibleName(tr("Which nodes"));
  m_tabs->setDocumentMode(true);
  m_tabs->addTab(sets, tr("Between two sets"));
  m_tabs->addTab(names, tr("By names"));
}

QPushButton* LinkDialog::layOut() {
  auto* speed = new QHBoxLayout;
  speed->addWidget(m_bandwidth, 1);
  speed->addWidget(m_meaning);
  auto* number = new QHBoxLayout;
  number->addWidget(m_count, 1);
  number->addWidget(m_duplex);
  auto* form = new QFormLayout;
  form->addRow(tr("Bandwidth"), speed);
  form->addRow(tr("Parallel"), number);
  auto* cancel = new QPushButton(tr("Cancel"), this);
  cancel->setAutoDefault(false);
  auto* layout = new QVBoxLayout(this);
  constexpr QMargins kMargins(18, 10, 18, 14);
  layout->setContentsMargins(kMargins);
  constexpr int kGap = 10;
  layout->setSpacing(kGap);
  layout->addWidget(m_tabs);
  layout->addLayout(form);
  layout->addWidget(m_summary);
  layout->addLayout(buttonRow({cancel, m_create}));
  constexpr int kWidth = 400;
  setFixedWidth(kWidth);
  return cancel;
}

LinkDialog::~LinkDialog() {
  delete m_ghost.data();
}

Result<std::vector<NodeId>> LinkDialog::nodesOf(const QLineEdit& input) const {
  const auto query = Query::parse(input.text());
  if (!query) {
    return query.error();
  }
  QueryContext context = m_editor.queryContext();
  context.selection = &m_selection;
  std::vector<NodeId> nodes;
  if (!query->isEmpty()) {
    for (const ElementId& id : query->hits(context)) {
      if (id.node().isValid()) {
        nodes.push_back(id.node());
      }
    }
  }
  return nodes;
}

Result<edits::LinkTemplate> LinkDialog::linkTemplate() const {
  const std::string text = m_bandwidth->text().trimmed().toStdString();
  const auto bandwidth = Bandwidth::parse(text);
  if (!bandwidth) {
    return bandwidth.error();
  }
  if (!bandwidth->isPositive()) {
    return Error{ErrorCode::badInput, tr("a bandwidth must be above 0").toStdString(),
                 tr("write 50 or 400Gb/s").toStdString()};
  }
  return edits::LinkTemplate{text, m_duplex->isChecked(), m_count->value()};
}

Outcome LinkDialog::fill(Edit& edit) const {
  const auto link = linkTemplate();
  if (!link) {
    return link.error();
  }
  if (m_tabs->currentIndex() == 1) {
    const auto named = pairsByName(m_editor.model(), m_names->text());
    if (!named) {
      return named.error();
    }
    for (const auto& [tail, head] : named->pairs) {
      if (const auto made = edits::addLink(edit, tail, head, *link); !made) {
        return made.error();
      }
    }
    return Done{};
  }
  const auto from = nodesOf(*m_from);
  const auto to = nodesOf(*m_to);
  if (!from || !to) {
    return from ? to.error() : from.error();
  }
  const auto made =
      edits::linkSets(edit, *from, *to, static_cast<edits::LinkPattern>(m_pattern->currentData().toInt()), *link);
  return made ? Outcome(Done{}) : Outcome(made.error());
}

void LinkDialog::preview() {
  const auto link = linkTemplate();
  m_meaning->setText(
      link ? tr("= %1 GB/s per direction")
                 .arg(QString::fromStdString(toDecimal(Bandwidth::parse(link->bandwidth)->gigabytesPerSecond())))
           : QString());
  QString sizes;
  if (m_tabs->currentIndex() == 0) {
    const auto from = nodesOf(*m_from);
    const auto to = nodesOf(*m_to);
    if (from && to) {
      sizes = tr("%1 to %2: ")
                  .arg(counted(static_cast<qsizetype>(from->size()), tr("node"), tr("nodes")),
                       counted(static_cast<qsizetype>(to->size()), tr("node"), tr("nodes")));
    }
  } else if (const auto named = pairsByName(m_editor.model(), m_names->text()); named && named->withoutPartner > 0) {
    sizes = tr("%1 unmatched; ").arg(counted(named->withoutPartner, tr("node"), tr("nodes")));
  }
  Outcome outcome = Done{};
  Trial trial = tryEdit(m_editor.model(), [&](Edit& edit) { outcome = fill(edit); });
  m_create->setEnabled(outcome && trial.links > 0);
  if (!outcome) {
    m_ghost->setGhost({});
    const bool isBlank = m_tabs->currentIndex() == 1 && m_names->text().isEmpty();
    m_summary->setText(isBlank ? QString() : sentence(outcome.error()));
    return;
  }
  m_ghost->setGhost(std::move(trial.ghost));
  m_summary->setText(sizes + counted(trial.links, tr("link"), tr("links")));
}

void LinkDialog::take() {
  Outcome outcome = Done{};
  // The history says what was linked.
  m_editor.document().edit(tr("Link by pattern, %1").arg(m_summary->text()), [&](Edit& edit) { outcome = fill(edit); });
  if (const auto link = linkTemplate(); outcome && link) {
    m_editor.canvas().setLinkTemplate(*link);
  }
  accept();
}

}  // namespace coppice::designer
