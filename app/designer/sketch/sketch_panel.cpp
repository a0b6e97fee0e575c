// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/sketch_panel.hpp"

#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/style.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using sketch::Sketch;

namespace {

constexpr int kMargin = 8;
constexpr int kPanelGap = 6;

/// The key that an error names; empty if it names none.
QString keyOf(const Error& error) {
  const ElementPart* const key = error.where.element.as(RefKind::key);
  return key == nullptr ? QString() : QString::fromStdString(key->name);
}

}  // namespace

SketchPanel::SketchPanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_open(iconButton(u"sketchOpen"_s, u"open"_s, tr("Open a communication sketch (TACCL JSON)"), this)),
      m_save(iconButton(u"sketchSave"_s, u"save"_s, tr("Save the sketch as TACCL JSON"), this)),
      m_topology(
          iconButton(u"sketchTopology"_s, u"export"_s, tr("Save the topology with its costs as TACCL JSON"), this)),
      m_undo(iconButton(u"sketchUndo"_s, u"undo"_s, tr("Undo the last change of the sketch"), this)),
      m_state(new QLabel(this)),
      m_chunks(new QSpinBox(this)),
      m_wholeNics(new QCheckBox(tr("Whole"), this)),
      m_size(new QLineEdit(this)),
      m_problem(new QLabel(this)),
      m_tabs(new QTabWidget(this)),
      m_relays(new RelayPage(this)),
      m_switches(new SwitchPage(this)),
      m_symmetry(new SymmetryPage(this)),
      m_search(new SearchPanel(this)) {
  setObjectName(u"sketchPanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  auto* empty =
      new EmptyPage(tr("A communication sketch defines which GPUs send to other boxes, how switches are used, and "
                       "which parts are symmetric. Within a sketch, a search finds a schedule in seconds."),
                    tr("Propose a Sketch"), m_pages);
  empty->setObjectName(u"sketchEmpty"_s);
  connect(empty, &EmptyPage::clicked, this, &SketchPanel::proposeWanted);
  m_tabs->setObjectName(u"sketchTabs"_s);
  m_tabs->addTab(m_relays, tr("Relays"));
  m_tabs->addTab(m_switches, tr("Switches"));
  m_tabs->addTab(m_symmetry, tr("Symmetry"));
  auto* parts = new QSplitter(Qt::Horizontal, m_pages);
  parts->setChildrenCollapsible(false);
  parts->addWidget(makeSizes());
  auto* middle = new QWidget(parts);
  auto* layout = new QVBoxLayout(middle);
  layout->setContentsMargins(kPanelGap, 0, kPanelGap, 0);
  layout->addWidget(m_tabs);
  parts->addWidget(middle);
  auto* right = new QWidget(parts);
  layout = new QVBoxLayout(right);
  layout->setContentsMargins(kPanelGap, kMargin, kPanelGap, 0);
  layout->addWidget(m_search);
  parts->addWidget(right);
  constexpr int kSizesWidth = 262;
  constexpr int kTabsWidth = 420;
  constexpr int kSearchWidth = 340;
  parts->setSizes({kSizesWidth, kTabsWidth, kSearchWidth});
  parts->setStretchFactor(0, 0);
  parts->setStretchFactor(1, 1);
  parts->setStretchFactor(2, 1);
  // Where the dock is small, it scrolls.
  auto* area = new QScrollArea(m_pages);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setWidget(parts);
  m_pages->addWidget(empty);
  m_pages->addWidget(area);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_pages);

  connect(m_open, &QToolButton::clicked, this, &SketchPanel::openWanted);
  connect(m_save, &QToolButton::clicked, this, &SketchPanel::saveWanted);
  connect(m_topology, &QToolButton::clicked, this, &SketchPanel::topologyWanted);
  connect(m_undo, &QToolButton::clicked, this, &SketchPanel::undoWanted);
  connect(m_chunks, &QSpinBox::valueChanged, this, [this](int chunks) {
    if (m_desk != nullptr && !m_isFilling) {
      m_desk->edit([&](Sketch& sketch) { sketch.chunksPerGpu = chunks; });
    }
  });
  connect(m_wholeNics, &QCheckBox::clicked, this, [this](bool isOn) {
    if (m_desk != nullptr) {
      m_desk->edit([&](Sketch& sketch) {
        if (sketch.remote) {
          sketch.remote->sharesNics = isOn;
        }
      });
    }
  });
  connect(m_size, &QLineEdit::editingFinished, this, [this] {
    if (m_desk != nullptr && !m_isFilling) {
      m_desk->edit([&](Sketch& sketch) {
        const std::string text = m_size->text().trimmed().toStdString();
        sketch.inputSize = text.empty() ? std::nullopt : std::optional(text);
      });
    }
  });
  connect(m_relays, &RelayPage::refused, this, &SketchPanel::refuse);
  connect(m_switches, &SwitchPage::refused, this, &SketchPanel::refuse);
  connect(m_symmetry, &SymmetryPage::refused, this, &SketchPanel::refuse);
  connect(m_search, &SearchPanel::refused, this, &SketchPanel::refuse);
  connect(m_symmetry, &SymmetryPage::orbitChosen, this, &SketchPanel::areaChanged);
  connect(m_switches, &SwitchPage::switchChosen, this, &SketchPanel::areaChanged);
  connect(m_tabs, &QTabWidget::currentChanged, this, &SketchPanel::areaChanged);
  fill();
}

QWidget* SketchPanel::makeSizes() {
  auto* propose = new QPushButton(tr("Propose"), this);
  propose->setObjectName(u"sketchPropose"_s);
  propose->setToolTip(tr("Propose a sketch for the drawn fabric: relays by NICs, symmetry found by the program"));
  connect(propose, &QPushButton::clicked, this, &SketchPanel::proposeWanted);
  m_state->setObjectName(u"sketchState"_s);
  m_state->setProperty("role", u"muted"_s);
  m_state->setWordWrap(true);
  m_wholeNics->setObjectName(u"sketchWholeNics"_s);
  m_wholeNics->setAccessibleName(tr("Links between boxes share whole NICs"));
  m_wholeNics->setToolTip(
      tr("coppice_share: a link between boxes waits for a whole NIC, instead of having a fixed part of its bandwidth. "
         "Not the model of the paper"));
  m_chunks->setObjectName(u"sketchChunks"_s);
  m_chunks->setAccessibleName(tr("Chunks of each GPU"));
  m_chunks->setToolTip(tr("input_chunkup: pieces into which each GPU's data is cut; each takes its own route"));
  constexpr int kMaxChunks = 4096;
  m_chunks->setRange(1, kMaxChunks);
  m_size->setObjectName(u"sketchSize"_s);
  m_size->setAccessibleName(tr("Data of each GPU"));
  m_size->setToolTip(tr("input_size: the data that each GPU cuts into chunks, for example 1MiB"));
  m_size->setPlaceholderText(bytesText(workflow::kSketchBytes));
  m_problem->setObjectName(u"sketchProblem"_s);
  m_problem->setWordWrap(true);
  m_problem->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* line = new QHBoxLayout;
  line->setSpacing(0);
  line->addWidget(propose, 1);
  for (QToolButton* each : {m_open, m_save, m_topology, m_undo}) {
    line->addWidget(each);
  }
  auto* form = new QFormLayout;
  form->setHorizontalSpacing(kMargin);
  form->setVerticalSpacing(kPanelGap);
  form->addRow(tr("Chunks per GPU"), m_chunks);
  form->addRow(tr("Data per GPU"), m_size);
  form->addRow(tr("NICs"), m_wholeNics);
  form->addRow(tr("Seed"), m_search->seed());
  form->addRow(tr("Engine"), m_search->engine());
  auto* sizes = new QWidget(this);
  auto* layout = new QVBoxLayout(sizes);
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->setSpacing(kPanelGap);
  layout->addLayout(line);
  layout->addLayout(form);
  layout->addWidget(m_problem);
  layout->addWidget(m_state);
  layout->addStretch(1);
  auto* area = scrolled(sizes, this);
  constexpr int kMin = 228;
  area->setMinimumWidth(kMin);
  return area;
}

void SketchPanel::setDesk(SketchDesk* desk) {
  m_followed.clear();
  m_desk = desk;
  m_refused.clear();
  if (desk != nullptr) {
    m_followed.connect(desk, &SketchDesk::changed, [this] {
      m_refused.clear();
      fill();
    });
  }
  m_relays->setDesk(desk);
  m_switches->setDesk(desk);
  m_symmetry->setDesk(desk);
  m_search->setDesk(desk);
  fill();
}

SketchArea SketchPanel::area() const {
  if (m_desk == nullptr || !m_desk->fit()) {
    return {};
  }
  if (m_tabs->currentWidget() == m_switches) {
    const sketch::Model& model = m_desk->fit()->fit.model;
    const int chosen = m_switches->chosen();
    SketchArea area;
    if (chosen >= 0 && chosen < static_cast<int>(model.switches.size())) {
      for (int node = 0; node < model.nodes; ++node) {
        for (const int gpu : model.switches[chosen]) {
          area.gpus.push_back(node * model.gpusPerNode + gpu);
        }
      }
      area.label = tr("switch %1 of each box").arg(chosen);
    }
    return area;
  }
  const int orbit = m_symmetry->orbit();
  const auto& orbits = m_symmetry->orbits();
  if (orbit < 0 || orbit >= static_cast<int>(orbits.size())) {
    return {};
  }
  const auto& gpus = orbits[orbit];
  return {gpus,
          tr("orbit %1: %2").arg(orbit + 1).arg(counted(static_cast<qsizetype>(gpus.size()), tr("GPU"), tr("GPUs")))};
}

SketchView SketchPanel::view() const {
  const bool showsOrbits = m_tabs->currentWidget() == m_symmetry;
  return {area(), showsOrbits ? m_symmetry->orbits() : std::vector<std::vector<int>>()};
}

void SketchPanel::refuse(const QString& why) {
  m_refused = why;
  showProblem();
}

void SketchPanel::fill() {
  const Sketch* sketch = m_desk != nullptr ? m_desk->current() : nullptr;
  const bool hasFault = m_desk != nullptr && m_desk->problem().has_value();
  m_pages->setCurrentIndex(sketch != nullptr ? 1 : 0);
  if (auto* empty = m_pages->findChild<EmptyPage*>(u"sketchEmpty"_s); empty != nullptr && sketch == nullptr) {
    empty->setText(hasFault
                       ? errorText(*m_desk->problem())
                       : tr("A communication sketch defines which GPUs send to other boxes, how switches are used, and "
                            "which parts are symmetric. Within a sketch, a search finds a schedule in seconds."));
  }
  if (sketch == nullptr) {
    return;
  }
  m_isFilling = true;
  m_chunks->setValue(sketch->chunksPerGpu);
  m_wholeNics->setEnabled(sketch->remote.has_value());
  m_wholeNics->setChecked(sketch->remote && sketch->remote->sharesNics);
  if (!m_size->hasFocus() || !m_size->isModified()) {
    m_size->setText(QString::fromStdString(sketch->inputSize.value_or(std::string())));
  }
  m_isFilling = false;
  m_undo->setEnabled(m_desk->canUndo());
  m_topology->setEnabled(m_desk->fit() != nullptr);
  QStringList state;
  if (const auto& fit = m_desk->fit()) {
    const sketch::Model& model = fit->fit.model;
    state << tr("%1 of %2, chunks of %3")
                 .arg(counted(model.nodes, tr("box"), tr("boxes")), counted(model.gpusPerNode, tr("GPU"), tr("GPUs")),
                      bytesText(fit->chunkBytes));
    if (!model.nics.empty()) {
      state << tr("whole NICs, not the model of the paper");
    }
  }
  const QString file = m_desk->path().isEmpty() ? tr("not saved") : QFileInfo(m_desk->path()).fileName();
  state << file + (m_desk->isModified() && !m_desk->path().isEmpty() ? tr(", changed") : QString());
  for (const Finding& note : m_desk->notes()) {
    state << sentence(note);
  }
  m_state->setText(state.join(u'\n'));
  m_relays->fill();
  m_switches->fill();
  m_symmetry->fill();
  m_search->fill();
  showProblem();
}

int SketchPanel::tabOf(const QString& key) const {
  static const QStringList kRelayKeys{u"internode_sketch"_s,   u"internode_conn"_s, u"gpus_to_sender_rev_map"_s,
                                      u"chunk_to_relay_map"_s, u"beta_split"_s,     u"nics_per_node"_s,
                                      u"remote_alpha"_s,       u"remote_beta"_s};
  static const QStringList kSwitchKeys{u"intranode_sketch"_s, u"switches"_s, u"switch_hyperedge_strategy"_s};
  return kRelayKeys.contains(key)       ? m_tabs->indexOf(m_relays)
         : kSwitchKeys.contains(key)    ? m_tabs->indexOf(m_switches)
         : key == u"symmetry_offsets"_s ? m_tabs->indexOf(m_symmetry)
                                        : -1;
}

void SketchPanel::showProblem() {
  const std::optional<Error> fault = m_desk != nullptr ? m_desk->problem() : std::nullopt;
  const QString key = fault ? keyOf(*fault) : QString();
  m_problem->setText(!m_refused.isEmpty() ? m_refused
                     : fault              ? (key.isEmpty() ? sentence(*fault) : key + u": "_s + sentence(*fault))
                                          : QString());
  m_problem->setVisible(!m_problem->text().isEmpty());
  setRole(m_problem, u"error"_s);
  const int tab = tabOf(key);
  for (int i = 0; i < m_tabs->count(); ++i) {
    m_tabs->setTabIcon(i, i == tab ? icon(u"error"_s) : QIcon());
  }
  m_size->setProperty("invalid", key == u"input_size"_s);
  m_size->style()->unpolish(m_size);
  m_size->style()->polish(m_size);
}

}  // namespace coppice::designer
