// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/option_form.hpp"

#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QRadioButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <algorithm>
#include <limits>
#include <map>

#include "designer/document/error_text.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kFieldGap = 8;

int inSpinBox(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<int>::max()));
}

/// As the form shows it: values that have words are these words.
QString spoken(const workflow::Option& option, const std::string& text) {
  QString shown = QString::fromStdString(text);
  std::map<QString, QString> wordsOf;
  QStringList values;
  for (const auto& [value, words] : option.spoken) {
    values << QRegularExpression::escape(QString::fromStdString(value));
    wordsOf.emplace(QString::fromStdString(value), QString::fromStdString(words));
  }
  if (values.isEmpty()) {
    return shown;
  }
  // Values can be parts of each other (dgx-1, dgx-1-p100) and of words: whole ones are replaced, at once.
  const QRegularExpression whole(u"(?<![\\w-])(?:%1)(?![\\w-])"_s.arg(values.join(u'|')));
  qsizetype from = 0;
  for (auto match = whole.match(shown); match.hasMatch(); match = whole.match(shown, from)) {
    const QString& words = wordsOf.at(match.captured());
    shown.replace(match.capturedStart(), match.capturedLength(), words);
    from = match.capturedStart() + words.size();
  }
  return shown;
}

/// The value of what is written in the field.
std::string valueOf(const workflow::Option& option, const QString& shown) {
  QString text = shown.trimmed();
  for (const auto& [value, words] : option.spoken) {
    text.replace(QString::fromStdString(words), QString::fromStdString(value), Qt::CaseInsensitive);
  }
  return text.toStdString();
}

bool isChoice(const workflow::Option& option) {
  return !option.otherwise.empty();
}

/// Set or not, beside its value.
bool hasBox(const workflow::Option& option) {
  return option.kind == workflow::OptionKind::integer && option.defaultText.empty();
}

/// The first takes what the second does not need.
QWidget* beside(QWidget* first, QWidget* second, QWidget* parent) {
  auto* row = new QWidget(parent);
  auto* line = new QHBoxLayout(row);
  line->setContentsMargins({});
  line->setSpacing(kFieldGap);
  line->addWidget(first, 1);
  line->addWidget(second);
  return row;
}

/// Panels are narrow: what is written or chosen from words stands below its name.
QWidget* below(QWidget* name, QWidget* editor, QWidget* parent, int indent) {
  auto* row = new QWidget(parent);
  auto* column = new QVBoxLayout(row);
  column->setContentsMargins({});
  column->setSpacing(kFieldGap / 2);
  column->addWidget(name);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(indent, 0, 0, 0);
  line->addWidget(editor);
  column->addLayout(line);
  return row;
}

}  // namespace

OptionForm::OptionForm(const std::vector<workflow::Option>& options, QWidget* parent)
    : QWidget(parent), m_layout(new QVBoxLayout(this)), m_help(new QLabel(this)), m_fault(new QLabel(this)) {
  m_layout->setContentsMargins({});
  m_layout->setSpacing(kFieldGap);
  for (const workflow::Option& option : options) {
    addField(option);
  }
  m_help->setObjectName(u"optionHelp"_s);
  m_help->setProperty("role", u"muted"_s);
  m_help->setWordWrap(true);
  m_help->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  // Room for what any of them says, so that nothing moves under the pointer.
  constexpr int kHelpLines = 2;
  m_help->setMinimumHeight(kHelpLines * m_help->fontMetrics().lineSpacing());
  m_help->setVisible(!options.empty());
  m_layout->addWidget(m_help);
  m_fault->setObjectName(u"optionFault"_s);
  m_fault->setProperty("role", u"error"_s);
  m_fault->setWordWrap(true);
  m_layout->addWidget(m_fault);
  setValues({});
}

OptionForm::Group& OptionForm::groupOf(const workflow::Option& option) {
  const auto found =
      std::find_if(m_groups.begin(), m_groups.end(), [&](const Group& group) { return group.name == option.group; });
  if (found != m_groups.end()) {
    return *found;
  }
  Group group{.name = option.group};
  group.layout = new QVBoxLayout;
  group.layout->setSpacing(kFieldGap);
  if (!option.group.empty()) {
    group.layout->setContentsMargins(0, m_groups.empty() ? 0 : kFieldGap, 0, 0);
    group.heading = new QLabel(QString::fromStdString(option.group).toUpper(), this);
    group.heading->setFont(sectionFont());
    group.heading->setProperty("role", u"section"_s);
    group.layout->addWidget(group.heading);
  }
  if (isChoice(option)) {
    group.otherwise = new QRadioButton(QString::fromStdString(option.otherwise), this);
    group.otherwise->setObjectName(u"otherwise-"_s + QString::fromStdString(option.name));
    group.layout->addWidget(group.otherwise);
    connect(group.otherwise, &QAbstractButton::toggled, this, &OptionForm::tell);
  }
  m_layout->addLayout(group.layout);
  m_groups.push_back(group);
  return m_groups.back();
}

QWidget* OptionForm::makeEditor(const workflow::Option& option) {
  switch (option.kind) {
    case workflow::OptionKind::flag: {
      auto* box = new QCheckBox(QString::fromStdString(option.title), this);
      connect(box, &QCheckBox::toggled, this, &OptionForm::tell);
      return box;
    }
    case workflow::OptionKind::integer: {
      auto* spin = new QSpinBox(this);
      spin->setRange(inSpinBox(option.min), inSpinBox(option.max));
      if (!option.unit.empty()) {
        spin->setSuffix(u' ' + QString::fromStdString(option.unit));
      }
      connect(spin, &QSpinBox::valueChanged, this, &OptionForm::tell);
      return spin;
    }
    case workflow::OptionKind::choice: {
      auto* combo = new QComboBox(this);
      for (const std::string& word : option.words) {
        const auto collective = option.name == "collective" ? parseCollective(word) : std::nullopt;
        const QString value = QString::fromStdString(word);
        combo->addItem(collective ? collectiveName(*collective) : spoken(option, word), value);
      }
      connect(combo, &QComboBox::currentIndexChanged, this, &OptionForm::tell);
      return combo;
    }
    case workflow::OptionKind::text:
      break;
  }
  if (!option.words.empty()) {
    auto* combo = new QComboBox(this);
    combo->setEditable(true);
    combo->setInsertPolicy(QComboBox::NoInsert);
    for (const std::string& word : option.words) {
      combo->addItem(QString::fromStdString(word));
    }
    combo->lineEdit()->setPlaceholderText(QString::fromStdString(option.example));
    combo->lineEdit()->setAccessibleName(QString::fromStdString(option.title));
    connect(combo, &QComboBox::currentTextChanged, this, &OptionForm::tell);
    return combo;
  }
  auto* line = new QLineEdit(this);
  line->setPlaceholderText(QString::fromStdString(option.example));
  connect(line, &QLineEdit::textChanged, this, &OptionForm::tell);
  return line;
}

void OptionForm::addField(const workflow::Option& option) {
  const QString title = QString::fromStdString(option.title);
  const QString name = QString::fromStdString(option.name);
  Field field{.option = option};
  field.editor = makeEditor(option);
  field.editor->setObjectName(u"option-"_s + name);
  field.editor->setAccessibleName(title);
  field.editor->setToolTip(spoken(option, option.help));
  if (isChoice(option)) {
    field.isSet = new QRadioButton(title, this);
  } else if (hasBox(option)) {
    field.isSet = new QCheckBox(title, this);
  }
  if (field.isSet != nullptr) {
    field.isSet->setObjectName(u"set-"_s + name);
    field.isSet->setToolTip(field.editor->toolTip());
    connect(field.isSet, &QAbstractButton::toggled, this, &OptionForm::tell);
    field.left = field.isSet;
  } else if (option.kind == workflow::OptionKind::flag) {
    field.row = field.editor;
  } else {
    auto* label = new QLabel(title, this);
    label->setToolTip(field.editor->toolTip());
    label->setBuddy(field.editor);
    field.left = label;
  }
  if (option.isFile) {
    // Without a word, so that the field has room for the example.
    field.browse = new QPushButton(icon(u"open"_s), {}, this);
    field.browse->setObjectName(u"browse-"_s + name);
    field.browse->setToolTip(tr("Browse…"));
    field.browse->setAccessibleName(tr("Browse for %1").arg(title));
    field.browse->setAutoDefault(false);
    auto* combo = qobject_cast<QComboBox*>(field.editor);
    auto* line = combo != nullptr ? combo->lineEdit() : qobject_cast<QLineEdit*>(field.editor);
    connect(field.browse, &QPushButton::clicked, this, [this, line] {
      // The field may hold a name, such as that of a model.
      const QString present = QFileInfo(line->text()).isFile() ? line->text() : QString();
      const QString path = QFileDialog::getOpenFileName(this, tr("Open"), present);
      if (!path.isEmpty()) {
        line->setText(path);
      }
    });
  }
  if (field.left != nullptr) {
    QWidget* editor = field.browse != nullptr ? beside(field.editor, field.browse, this) : field.editor;
    if (auto* spin = qobject_cast<QSpinBox*>(field.editor)) {
      alignWithGroup(*spin, option.group);
    }
    constexpr int kIndent = 20;  // of what a radio button or a box is for
    field.row = option.kind == workflow::OptionKind::integer && option.unit.empty()
                    ? beside(field.left, editor, this)
                    : below(field.left, editor, this, field.isSet != nullptr ? kIndent : 0);
  }
  for (QWidget* each : {field.editor, static_cast<QWidget*>(field.isSet), field.left}) {
    if (each != nullptr) {
      each->setProperty("help", field.editor->toolTip());
      each->installEventFilter(this);
    }
  }
  Group& group = groupOf(option);
  if (group.otherwise != nullptr) {
    // Radio buttons in rows of their own exclude each other only as a group.
    auto* buttons = group.otherwise->group();
    if (buttons == nullptr) {
      buttons = new QButtonGroup(this);
      buttons->addButton(group.otherwise);
    }
    buttons->addButton(field.isSet);
  }
  group.layout->addWidget(field.row);
  m_fields.push_back(std::move(field));
}

void OptionForm::alignWithGroup(QSpinBox& added, const std::string& group) {
  int width = added.sizeHint().width();
  std::vector<QSpinBox*> column{&added};
  for (const Field& field : m_fields) {
    if (auto* spin = qobject_cast<QSpinBox*>(field.editor); spin != nullptr && field.option.group == group) {
      width = std::max(width, spin->sizeHint().width());
      column.push_back(spin);
    }
  }
  for (QSpinBox* spin : column) {
    spin->setMinimumWidth(width);
  }
}

void OptionForm::addBelow(const std::string& group, QWidget* widget) {
  const auto found =
      std::find_if(m_groups.begin(), m_groups.end(), [&](const Group& each) { return each.name == group; });
  (found != m_groups.end() ? found->layout : m_layout)->addWidget(widget);
}

bool OptionForm::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusIn || event->type() == QEvent::Enter) {
    m_help->setText(watched->property("help").toString());
  }
  return QWidget::eventFilter(watched, event);
}

void OptionForm::tell() {
  if (!m_isFilling) {
    updateFields();
    Q_EMIT changed();
  }
}

std::string OptionForm::textOf(const Field& field) {
  if (field.isSet != nullptr && !field.isSet->isChecked()) {
    return {};
  }
  if (const auto* spin = qobject_cast<const QSpinBox*>(field.editor)) {
    return std::to_string(spin->value());
  }
  if (const auto* combo = qobject_cast<const QComboBox*>(field.editor)) {
    return (combo->isEditable() ? combo->currentText().trimmed() : combo->currentData().toString()).toStdString();
  }
  if (const auto* box = qobject_cast<const QCheckBox*>(field.editor)) {
    return box->isChecked() ? "true" : "";
  }
  return valueOf(field.option, static_cast<const QLineEdit*>(field.editor)->text());
}

workflow::Values OptionForm::values() const {
  workflow::Values values;
  for (const Field& field : m_fields) {
    std::string value = textOf(field);
    if (!value.empty() && value != field.option.defaultText && field.option.appliesTo(m_collective)) {
      values.emplace(field.option.name, std::move(value));
    }
  }
  return values;
}

void OptionForm::fill(const Field& field, const QString& value) {
  const QString suggestion = QString::fromStdString(field.option.suggestion);
  if (field.isSet != nullptr && (!isChoice(field.option) || !value.isEmpty())) {
    field.isSet->setChecked(!value.isEmpty());
  }
  if (auto* spin = qobject_cast<QSpinBox*>(field.editor)) {
    // What was there before it was unset is worth keeping.
    if (!value.isEmpty() || spin->value() == spin->minimum()) {
      spin->setValue((value.isEmpty() ? suggestion : value).toInt());
    }
  } else if (auto* combo = qobject_cast<QComboBox*>(field.editor)) {
    if (combo->isEditable()) {
      combo->setCurrentText(value);
    } else if (const int index = combo->findData(value); index >= 0) {
      combo->setCurrentIndex(index);
    }
  } else if (auto* box = qobject_cast<QCheckBox*>(field.editor)) {
    box->setChecked(value == u"true" && box->isEnabled());
  } else if (auto* line = qobject_cast<QLineEdit*>(field.editor)) {
    const QString kept = line->text().isEmpty() ? suggestion : line->text();
    const QString text = spoken(field.option, (value.isEmpty() && field.isSet != nullptr ? kept : value).toStdString());
    // A person may be writing in it: spaces that are read away stay, and so does another word for the same.
    if (valueOf(field.option, line->text()) != valueOf(field.option, text)) {
      line->setText(text);
    }
  }
}

void OptionForm::setExample(const std::string& option, const QString& example) {
  for (const Field& field : m_fields) {
    if (auto* line = qobject_cast<QLineEdit*>(field.editor); line != nullptr && field.option.name == option) {
      line->setPlaceholderText(example);
    }
  }
}

void OptionForm::setValues(const workflow::Values& values) {
  m_isFilling = true;
  for (const Group& group : m_groups) {
    if (group.otherwise != nullptr) {
      group.otherwise->setChecked(true);
    }
  }
  for (const Field& field : m_fields) {
    const auto given = values.find(field.option.name);
    fill(field, QString::fromStdString(given != values.end() ? given->second : field.option.defaultText));
  }
  m_isFilling = false;
  updateFields();
}

void OptionForm::setCollective(Collective collective) {
  m_collective = collective;
  updateFields();
}

void OptionForm::setAvailable(const std::string& option, bool isAvailable, const QString& why) {
  for (const Field& field : m_fields) {
    if (field.option.name != option) {
      continue;
    }
    field.editor->setEnabled(isAvailable);
    field.editor->setToolTip(why.isEmpty() ? spoken(field.option, field.option.help) : why);
    if (auto* box = qobject_cast<QCheckBox*>(field.editor); box != nullptr && !isAvailable) {
      box->setChecked(false);
    }
  }
}

/// What applies is shown, what is set can be written in, and the first fault is named.
void OptionForm::updateFields() {
  m_fault->hide();
  for (const Group& group : m_groups) {
    bool isUsed = false;
    for (const Field& field : m_fields) {
      isUsed = isUsed || (field.option.group == group.name && field.option.appliesTo(m_collective));
    }
    for (QWidget* widget : {static_cast<QWidget*>(group.heading), static_cast<QWidget*>(group.otherwise)}) {
      if (widget != nullptr) {
        widget->setVisible(isUsed);
      }
    }
  }
  for (const Field& field : m_fields) {
    field.row->setVisible(field.option.appliesTo(m_collective));
    if (field.isSet != nullptr) {
      field.editor->setEnabled(field.isSet->isChecked());
    }
    const std::string value = textOf(field);
    const bool isAsked = field.isSet != nullptr ? field.isSet->isChecked() : !value.empty();
    if (isAsked && field.option.check && field.option.appliesTo(m_collective) && m_fault->isHidden()) {
      if (const Outcome checked = field.option.check(value); !checked) {
        m_fault->setText(spoken(field.option, sentence(checked.error()).toStdString()));
        m_fault->show();
      }
    }
  }
}

}  // namespace coppice::designer
