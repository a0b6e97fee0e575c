// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/option_form.hpp"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>
#include <algorithm>
#include <limits>

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

int inSpinBox(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<int>::max()));
}

}  // namespace

OptionForm::OptionForm(const std::vector<workflow::Option>& options, QWidget* parent) : QWidget(parent) {
  auto* layout = new QFormLayout(this);
  layout->setContentsMargins({});
  constexpr int kGap = 8;
  layout->setHorizontalSpacing(2 * kGap);
  layout->setVerticalSpacing(kGap);
  layout->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  for (const workflow::Option& option : options) {
    addField(option);
  }
  setValues({});
}

void OptionForm::addField(const workflow::Option& option) {
  auto* layout = static_cast<QFormLayout*>(this->layout());
  const QString title = QString::fromStdString(option.title);
  Field field{.option = option};
  QWidget* row = nullptr;
  switch (option.kind) {
    case workflow::OptionKind::flag: {
      auto* box = new QCheckBox(title, this);
      connect(box, &QCheckBox::toggled, this, &OptionForm::tell);
      field.editor = row = box;
      break;
    }
    case workflow::OptionKind::integer: {
      auto* spin = new QSpinBox(this);
      spin->setRange(inSpinBox(option.min), inSpinBox(option.max));
      connect(spin, &QSpinBox::valueChanged, this, &OptionForm::tell);
      field.editor = row = spin;
      if (option.defaultText.empty()) {
        field.isSet = new QCheckBox(this);
        field.isSet->setAccessibleName(tr("Set %1").arg(title));
        connect(field.isSet, &QCheckBox::toggled, spin, &QWidget::setEnabled);
        connect(field.isSet, &QCheckBox::toggled, this, &OptionForm::tell);
        row = new QWidget(this);
        auto* line = new QHBoxLayout(row);
        line->setContentsMargins({});
        line->addWidget(field.isSet);
        line->addWidget(spin, 1);
      }
      break;
    }
    case workflow::OptionKind::choice: {
      auto* combo = new QComboBox(this);
      for (const std::string& word : option.words) {
        combo->addItem(QString::fromStdString(word));
      }
      connect(combo, &QComboBox::currentIndexChanged, this, &OptionForm::tell);
      field.editor = row = combo;
      break;
    }
    case workflow::OptionKind::text: {
      auto* line = new QLineEdit(this);
      line->setPlaceholderText(QString::fromStdString(option.placeholder));
      connect(line, &QLineEdit::textChanged, this, &OptionForm::tell);
      field.editor = row = line;
      break;
    }
  }
  field.editor->setObjectName(u"option-"_s + QString::fromStdString(option.name));
  field.editor->setAccessibleName(title);
  field.editor->setToolTip(QString::fromStdString(option.help));
  auto* label = option.kind == workflow::OptionKind::flag ? nullptr : new QLabel(title, this);
  if (label != nullptr) {
    label->setToolTip(field.editor->toolTip());
    label->setBuddy(field.editor);
    layout->addRow(label, row);
  } else {
    layout->addRow(row);
  }
  m_fields.push_back(std::move(field));
}

void OptionForm::tell() {
  if (!m_isFilling) {
    Q_EMIT changed();
  }
}

std::string OptionForm::valueOf(const Field& field) {
  if (field.isSet != nullptr && !field.isSet->isChecked()) {
    return {};
  }
  if (const auto* spin = qobject_cast<const QSpinBox*>(field.editor)) {
    return std::to_string(spin->value());
  }
  if (const auto* combo = qobject_cast<const QComboBox*>(field.editor)) {
    return combo->currentText().toStdString();
  }
  if (const auto* box = qobject_cast<const QCheckBox*>(field.editor)) {
    return box->isChecked() ? "true" : "";
  }
  return static_cast<const QLineEdit*>(field.editor)->text().trimmed().toStdString();
}

workflow::Values OptionForm::values() const {
  workflow::Values values;
  for (const Field& field : m_fields) {
    std::string value = valueOf(field);
    if (!value.empty() && value != field.option.defaultText) {
      values.emplace(field.option.name, std::move(value));
    }
  }
  return values;
}

void OptionForm::setValues(const workflow::Values& values) {
  m_isFilling = true;
  for (const Field& field : m_fields) {
    const auto given = values.find(field.option.name);
    const QString value = QString::fromStdString(given != values.end() ? given->second : field.option.defaultText);
    if (field.isSet != nullptr) {
      field.isSet->setChecked(!value.isEmpty());
      field.editor->setEnabled(!value.isEmpty());
    }
    if (auto* spin = qobject_cast<QSpinBox*>(field.editor)) {
      spin->setValue(value.isEmpty() ? spin->minimum() : value.toInt());
    } else if (auto* combo = qobject_cast<QComboBox*>(field.editor)) {
      combo->setCurrentText(value);
    } else if (auto* box = qobject_cast<QCheckBox*>(field.editor)) {
      box->setChecked(value == u"true");
    } else if (auto* line = qobject_cast<QLineEdit*>(field.editor)) {
      line->setText(value);
    }
  }
  m_isFilling = false;
}

}  // namespace coppice::designer
