// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/parameter_form.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>

#include "presets/generators.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {}  // namespace

std::vector<presets::Rule> parameterRules(const std::string& preset) {
  for (auto* const part :
       {presets::machineRecipes, presets::clusterRecipes, presets::switchedRecipes, presets::directRecipes}) {
    for (const presets::Recipe& recipe : part()) {
      if (recipe.name == preset) {
        return recipe.rules;
      }
    }
  }
  return {};
}

QString parameterTitle(const presets::Rule& rule) {
  static const std::map<std::string, QString> kKnown = {{"gpus", u"GPUs"_s},
                                                        {"nic", u"NIC, GB/s"_s},
                                                        {"nvlink", u"NVLink, GB/s"_s},
                                                        {"nvls", u"NVLink SHARP"_s},
                                                        {"sharp", u"SHARP"_s},
                                                        {"pcie", u"PCIe, GB/s"_s},
                                                        {"cpu", u"CPU link, GB/s"_s},
                                                        {"link", u"Link, GB/s"_s},
                                                        {"bandwidth", u"Link, GB/s"_s},
                                                        {"terminal", u"GPU link, GB/s"_s},
                                                        {"local", u"Local link, GB/s"_s},
                                                        {"global", u"Global link, GB/s"_s},
                                                        {"gpus_per_leaf", u"GPUs per leaf"_s},
                                                        {"dims", u"Sides"_s},
                                                        {"a", u"Routers per group (a)"_s},
                                                        {"p", u"GPUs per router (p)"_s},
                                                        {"h", u"Global links (h)"_s}};
  if (const auto found = kKnown.find(rule.name); found != kKnown.end()) {
    return found->second;
  }
  QString title = QString::fromStdString(rule.name).replace(u'_', u' ');
  title[0] = title[0].toUpper();
  return title;
}

ParameterForm::ParameterForm(const QString& preset, const Arguments& initial, QWidget* parent) : QWidget(parent) {
  auto* layout = new QFormLayout(this);
  layout->setContentsMargins({});
  constexpr int kGap = 8;
  constexpr int kColumnGap = 14;
  layout->setVerticalSpacing(kGap);
  layout->setHorizontalSpacing(kColumnGap);
  layout->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  layout->setLabelAlignment(Qt::AlignLeft | Qt::AlignTop);
  for (presets::Rule& rule : parameterRules(preset.toStdString())) {
    const auto given = initial.find(rule.name);
    const QString value = QString::fromStdString(given != initial.end() ? given->second : rule.defaultText);
    Field field;
    field.editor = makeEditor(rule, value);
    const QString name = QString::fromStdString(rule.name);
    field.editor->setObjectName(u"parameter-"_s + name);
    field.editor->setAccessibleName(parameterTitle(rule));
    const QString tip = QString::fromStdString(rule.description) + u"\n"_s +
                        tr("Accepts: %1").arg(QString::fromStdString(presets::allowedText(rule)));
    field.editor->setToolTip(tip);
    field.label = new QLabel(parameterTitle(rule), this);
    field.label->setToolTip(tip);
    field.label->setBuddy(field.editor);
    field.label->setContentsMargins(0, 3, 0, 0);
    field.row = new QWidget(this);
    auto* column = new QVBoxLayout(field.row);
    column->setContentsMargins({});
    column->setSpacing(2);
    const bool isCount = rule.kind == presets::ValueKind::integer && (rule.name == "boxes" || rule.name == "racks");
    column->addWidget(isCount ? withChips(field.editor, rule) : field.editor);
    field.fault = new QLabel(field.row);
    field.fault->setObjectName(u"fault-"_s + name);
    field.fault->setProperty("role", u"error"_s);
    field.fault->setWordWrap(true);
    field.fault->hide();
    column->addWidget(field.fault);
    layout->addRow(field.label, field.row);
    field.rule = std::move(rule);
    m_fields.push_back(std::move(field));
  }
  refresh();
}

QWidget* ParameterForm::makeEditor(const presets::Rule& rule, const QString& value) {
  using presets::ValueKind;
  const auto tell = [this] {
    clearFaults();
    refresh();
    Q_EMIT changed();
  };
  switch (rule.kind) {
    case ValueKind::integer: {
      auto* spin = new QSpinBox(this);
      constexpr std::int64_t kMax = std::numeric_limits<int>::max();
      spin->setRange(static_cast<int>(rule.low), static_cast<int>(std::min(rule.high, kMax)));
      spin->setValue(value.toInt());
      spin->setButtonSymbols(QAbstractSpinBox::NoButtons);
      connect(spin, &QSpinBox::valueChanged, this, tell);
      return spin;
    }
    case ValueKind::choice: {
      auto* combo = new QComboBox(this);
      for (const std::string& word : rule.words) {
        combo->addItem(QString::fromStdString(word));
      }
      combo->setCurrentText(value);
      connect(combo, &QComboBox::currentIndexChanged, this, tell);
      return combo;
    }
    case ValueKind::flag: {
      auto* box = new QCheckBox(this);
      box->setChecked(value == u"true"_s);
      box->setText(tr("yes"));
      connect(box, &QCheckBox::toggled, this, tell);
      return box;
    }
    case ValueKind::integers:
    case ValueKind::list:
    case ValueKind::sides:
    case ValueKind::bandwidth:
    case ValueKind::bandwidths:
    case ValueKind::ratio:
    case ValueKind::gpuSets:
      break;
  }
  auto* line = new QLineEdit(value, this);
  connect(line, &QLineEdit::textChanged, this, tell);
  return line;
}

QWidget* ParameterForm::withChips(QWidget* spin, const presets::Rule& rule) {
  auto* holder = new QWidget(this);
  auto* row = new QHBoxLayout(holder);
  row->setContentsMargins({});
  constexpr int kGap = 4;
  row->setSpacing(kGap);
  constexpr int kSpinWidth = 64;
  spin->setMinimumWidth(kSpinWidth);
  row->addWidget(spin, 1);
  auto* box = static_cast<QSpinBox*>(spin);
  for (const int count : {1, 2, 4, 8, 16}) {
    if (count < rule.low || count > rule.high) {
      continue;
    }
    auto* chip = new QPushButton(QString::number(count), holder);
    chip->setObjectName(u"chip-%1-%2"_s.arg(QString::fromStdString(rule.name)).arg(count));
    chip->setProperty("role", u"choice"_s);
    chip->setAutoDefault(false);
    chip->setCheckable(true);
    chip->setChecked(box->value() == count);
    chip->setAccessibleName(u"%1: %2"_s.arg(parameterTitle(rule)).arg(count));
    connect(chip, &QPushButton::clicked, box, [box, count] { box->setValue(count); });
    connect(box, &QSpinBox::valueChanged, chip, [chip, count](int value) { chip->setChecked(value == count); });
    // A click on the one that is on leaves it on.
    connect(chip, &QPushButton::toggled, chip, [chip, box, count] { chip->setChecked(box->value() == count); });
    row->addWidget(chip);
  }
  return holder;
}

std::string ParameterForm::valueOf(const Field& field) const {
  if (const auto* spin = qobject_cast<const QSpinBox*>(field.editor)) {
    return std::to_string(spin->value());
  }
  if (const auto* combo = qobject_cast<const QComboBox*>(field.editor)) {
    return combo->currentText().toStdString();
  }
  if (const auto* check = qobject_cast<const QCheckBox*>(field.editor)) {
    return check->isChecked() ? "true" : "false";
  }
  return static_cast<const QLineEdit*>(field.editor)->text().trimmed().toStdString();
}

const ParameterForm::Field* ParameterForm::fieldNamed(const std::string& name) const {
  const auto found =
      std::find_if(m_fields.begin(), m_fields.end(), [&](const Field& field) { return field.rule.name == name; });
  return found != m_fields.end() ? &*found : nullptr;
}

bool ParameterForm::isInUse(const presets::Rule& rule) const {
  const Field* field = fieldNamed(rule.switchedBy);
  return field == nullptr || (isInUse(field->rule) && std::find(rule.switchedOn.begin(), rule.switchedOn.end(),
                                                                valueOf(*field)) != rule.switchedOn.end());
}

ParameterForm::Arguments ParameterForm::arguments() const {
  Arguments result;
  for (const Field& field : m_fields) {
    std::string value = valueOf(field);
    if (isInUse(field.rule) && value != field.rule.defaultText) {
      result.emplace(field.rule.name, std::move(value));
    }
  }
  return result;
}

void ParameterForm::refresh() {
  for (const Field& field : m_fields) {
    const bool isShown = isInUse(field.rule);
    field.row->setVisible(isShown);
    field.label->setVisible(isShown);
  }
}

bool ParameterForm::setFault(const QString& parameter, const QString& text) {
  const Field* field = fieldNamed(parameter.toStdString());
  if (field == nullptr) {
    return false;
  }
  field->fault->setText(text);
  field->fault->show();
  field->editor->setProperty("invalid", true);
  field->editor->style()->unpolish(field->editor);
  field->editor->style()->polish(field->editor);
  return true;
}

void ParameterForm::clearFaults() {
  for (const Field& field : m_fields) {
    field.fault->hide();
    if (field.editor->property("invalid").toBool()) {
      field.editor->setProperty("invalid", false);
      field.editor->style()->unpolish(field.editor);
      field.editor->style()->polish(field.editor);
    }
  }
}

}  // namespace coppice::designer
