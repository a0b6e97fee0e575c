// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/template_dialog.hpp"
#include "designer/theme/panel_widgets.hpp"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/palette/sweep_dialog.hpp"
#include "presets/presets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

TemplateDialog::TemplateDialog(const PaletteEntry& entry, Drawing drawing, QWidget* parent)
    : QDialog(parent),
      m_entry(entry),
      m_form(new ParameterForm(entry.preset, entry.arguments, this)),
      m_preview(new FabricPreview(u"template"_s, this)),
      m_fault(new QLabel(this)),
      m_create(new QPushButton(drawing == Drawing::filled ? tr("New Fabric") : tr("Create"), this)),
      m_add(new QPushButton(tr("Add to This Fabric"), this)),
      m_place(new QPushButton(tr("Place by Click"), this)) {
  setObjectName(u"templateDialog"_s);
  setWindowTitle(entry.title);
  m_fault->setObjectName(u"templateFault"_s);
  m_fault->setProperty("role", u"error"_s);
  m_fault->setWordWrap(true);
  m_fault->hide();
  m_create->setObjectName(u"templateCreate"_s);
  m_create->setDefault(true);
  m_create->setToolTip(drawing == Drawing::empty ? tr("Adds it to the empty fabric (Enter)")
                                                 : tr("Opens it as a new fabric (Enter)"));
  m_add->setObjectName(u"templateAdd"_s);
  m_add->setAutoDefault(false);
  m_add->setVisible(drawing == Drawing::filled);
  m_add->setToolTip(tr("Adds it beside the drawing, without links to it"));
  m_place->setObjectName(u"templatePlace"_s);
  m_place->setAutoDefault(false);
  m_place->setVisible(drawing != Drawing::none);
  m_place->setToolTip(tr("The next click on the drawing places it"));
  auto* sweep = new QPushButton(tr("Sweep…"), this);
  sweep->setObjectName(u"templateSweep"_s);
  sweep->setAutoDefault(false);
  sweep->setToolTip(tr("The bound over the values of one of the parameters, as a chart"));
  sweep->setVisible(!entry.preset.isEmpty() && !m_form->isEmpty());
  connect(sweep, &QPushButton::clicked, this, [this] {
    auto* dialog = new SweepDialog(m_entry, m_form->arguments(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->show();
  });
  auto* prices = new QPushButton(tr("Prices…"), this);
  prices->setObjectName(u"templatePrices"_s);
  prices->setAutoDefault(false);
  prices->setToolTip(tr("What networks between these boxes cost, against what collectives reach"));
  const std::vector<presets::Rule> rules = parameterRules(entry.preset.toStdString());
  prices->setVisible(std::ranges::any_of(rules, [](const presets::Rule& rule) { return rule.name == "network"; }));
  connect(prices, &QPushButton::clicked, this, [this] {
    const QString preset = m_entry.preset;
    const int gpus = part() != nullptr ? sizeOf(*part()).gpus : 0;
    reject();
    Q_EMIT pricesWanted(preset, gpus);
  });
  auto* cancel = new QPushButton(tr("Cancel"), this);
  cancel->setAutoDefault(false);

  auto* about = new QLabel(this);
  about->setWordWrap(true);
  about->setProperty("role", u"muted"_s);
  about->setText(entry.tip);
  const presets::Preset* preset = presets::find(entry.preset.toStdString());
  if (preset != nullptr) {
    about->setToolTip(tr("Sources: %1").arg(QString::fromStdString(preset->sources)));
  }

  auto* body = new QWidget(this);
  auto* bodyLayout = new QVBoxLayout(body);
  bodyLayout->setContentsMargins(0, 0, 10, 0);
  constexpr int kGap = 12;
  bodyLayout->setSpacing(kGap);
  bodyLayout->addWidget(about);
  bodyLayout->addWidget(m_form);
  bodyLayout->addWidget(m_fault);
  bodyLayout->addStretch();
  auto* scroll = scrolled(body, this);
  constexpr int kFormWidth = 360;
  scroll->setMinimumWidth(kFormWidth);

  auto* columns = new QHBoxLayout;
  constexpr int kColumns = 20;
  columns->setSpacing(kColumns);
  columns->addWidget(m_preview);
  columns->addWidget(scroll, 1);
  auto* layout = new QVBoxLayout(this);
  constexpr QMargins kMargins(20, 20, 20, 16);
  layout->setContentsMargins(kMargins);
  layout->setSpacing(kGap);
  layout->addLayout(columns, 1);
  layout->addLayout(buttonRow({sweep, prices, cancel, m_place, m_add, m_create}));

  connect(m_preview, &FabricPreview::ready, this, &TemplateDialog::receive);
  connect(m_form, &ParameterForm::changed, this, &TemplateDialog::follow);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_create, &QPushButton::clicked, this, [this] { want(Then::create); });
  connect(m_add, &QPushButton::clicked, this, [this] { want(Then::add); });
  connect(m_place, &QPushButton::clicked, this, [this] { want(Then::place); });
  follow();
  m_preview->startNow();
  if (QWidget* first = m_form->nextInFocusChain(); !m_form->isEmpty() && first != nullptr) {
    first->setFocus();
  }
}

TemplateDialog::~TemplateDialog() = default;

const Model* TemplateDialog::part() const {
  return m_preview->model().get();
}

void TemplateDialog::follow() {
  m_fault->hide();
  m_create->setEnabled(true);
  m_preview->submit([entry = m_entry, arguments = m_form->arguments()](const std::stop_token& /*stop*/) {
    return makePart(entry, arguments);
  });
}

void TemplateDialog::receive() {
  m_form->clearFaults();
  const Error* const error = m_preview->error();
  for (QPushButton* button : {m_create, m_add, m_place}) {
    button->setEnabled(error == nullptr);
  }
  if (error != nullptr) {
    m_then = Then::nothing;
    const QString text = sentence(*error);
    const ElementPart* const parameter = error->where.element.as(RefKind::parameter);
    if (parameter == nullptr || !m_form->setFault(QString::fromStdString(parameter->name), text)) {
      m_fault->setText(text);
      m_fault->show();
    }
  } else if (m_then != Then::nothing) {
    finish();
  }
}

void TemplateDialog::want(Then then) {
  m_then = then;
  if (m_preview->isWorking()) {
    m_preview->startNow();
    return;  // as soon as it is made
  }
  finish();
}

void TemplateDialog::finish() {
  const Then then = std::exchange(m_then, Then::nothing);
  if (part() == nullptr) {
    return;
  }
  // The window may delete this dialog while it places the part.
  const std::shared_ptr<const Model> kept = m_preview->model();
  const QString name = m_entry.title;
  hide();
  if (then == Then::create) {
    Q_EMIT createWanted(*kept, name);
  } else if (then == Then::add) {
    Q_EMIT addWanted(*kept, name);
  } else {
    Q_EMIT placeWanted(*kept, name);
  }
  accept();
}

}  // namespace coppice::designer
