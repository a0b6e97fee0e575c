// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/prompts.hpp"

#include <QCoreApplication>
#include <QDialog>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QInputDialog>
#include <QLabel>
#include <QListWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>
#include <QtPrintSupport/QPrintDialog>
#include <QtPrintSupport/QPrinter>

#include "designer/workspace/import_dialog.hpp"
#include "designer/workspace/recovery_dialog.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Prompts)
};

}  // namespace

Prompts::Unsaved Prompts::unsavedChanges(QWidget* parent, const QString& name) {
  QMessageBox box(QMessageBox::Warning, Texts::tr("Unsaved Changes"), Texts::tr("Save the changes to %1?").arg(name),
                  QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, parent);
  box.setInformativeText(Texts::tr("They are lost if you do not save them."));
  box.setDefaultButton(QMessageBox::Save);
  box.button(QMessageBox::Discard)->setText(Texts::tr("&Discard"));
  switch (box.exec()) {
    case QMessageBox::Save:
      return Unsaved::save;
    case QMessageBox::Discard:
      return Unsaved::discard;
    default:
      return Unsaved::cancel;
  }
}

std::optional<std::vector<bool>> Prompts::unsavedDocuments(QWidget* parent, const QStringList& names) {
  QDialog dialog(parent);
  dialog.setObjectName(QStringLiteral("unsavedDialog"));
  dialog.setWindowTitle(Texts::tr("Unsaved Changes"));
  auto* head = new QLabel(Texts::tr("%1 fabrics have unsaved changes. Which of them are saved?").arg(names.size()));
  auto* hint = new QLabel(Texts::tr("The changes to the others are lost."));
  hint->setProperty("role", QStringLiteral("muted"));
  auto* list = new QListWidget;
  list->setObjectName(QStringLiteral("unsavedList"));
  list->setAccessibleName(Texts::tr("Fabrics that are saved"));
  for (const QString& name : names) {
    auto* item = new QListWidgetItem(name, list);
    item->setFlags(Qt::ItemIsUserCheckable | Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    item->setCheckState(Qt::Checked);
  }
  auto* discard = new QPushButton(Texts::tr("&Discard All"));
  auto* cancel = new QPushButton(Texts::tr("Cancel"));
  auto* save = new QPushButton(Texts::tr("&Save All"));
  discard->setObjectName(QStringLiteral("unsavedDiscard"));
  save->setObjectName(QStringLiteral("unsavedSave"));
  save->setDefault(true);
  save->setProperty("role", QStringLiteral("primary"));
  const auto uncheckAll = [list] {
    for (int row = 0; row < list->count(); ++row) {
      list->item(row)->setCheckState(Qt::Unchecked);
    }
  };
  QObject::connect(list, &QListWidget::itemChanged, save, [list, save] {
    int checked = 0;
    for (int row = 0; row < list->count(); ++row) {
      checked += list->item(row)->checkState() == Qt::Checked ? 1 : 0;
    }
    save->setText(checked == list->count() ? Texts::tr("&Save All") : Texts::tr("&Save Checked"));
    save->setEnabled(checked > 0);
  });
  QObject::connect(discard, &QPushButton::clicked, &dialog, [&] {
    uncheckAll();
    dialog.accept();
  });
  QObject::connect(cancel, &QPushButton::clicked, &dialog, &QDialog::reject);
  QObject::connect(save, &QPushButton::clicked, &dialog, &QDialog::accept);
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(discard);
  buttons->addStretch(1);
  buttons->addWidget(cancel);
  buttons->addWidget(save);
  auto* layout = new QVBoxLayout(&dialog);
  constexpr int kMargin = 20;
  constexpr int kGap = 12;
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->setSpacing(kGap);
  layout->addWidget(head);
  layout->addWidget(list, 1);
  layout->addWidget(hint);
  layout->addLayout(buttons);
  save->setFocus();
  if (dialog.exec() != QDialog::Accepted) {
    return std::nullopt;
  }
  std::vector<bool> saved;
  for (int row = 0; row < list->count(); ++row) {
    saved.push_back(list->item(row)->checkState() == Qt::Checked);
  }
  return saved;
}

QStringList Prompts::filesToOpen(QWidget* parent, const QString& folder, const QString& filter) {
  return QFileDialog::getOpenFileNames(parent, Texts::tr("Open"), folder, filter);
}

QString Prompts::fileToSave(QWidget* parent, const QString& suggestion, const QString& filter) {
  const QFileInfo suggested(suggestion);
  QFileDialog dialog(parent, Texts::tr("Save As"), suggestion.contains(u'/') ? suggested.path() : QString(), filter);
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.selectFile(suggested.fileName());
  // A name without an ending gets the first that the filter has.
  static const QRegularExpression kEnding(u"\\*\\.([\\w.]+)"_s);
  dialog.setDefaultSuffix(kEnding.match(filter).captured(1));
  return dialog.exec() == QDialog::Accepted ? dialog.selectedFiles().value(0) : QString();
}

QString Prompts::folder(QWidget* parent, const QString& title, const QString& folder) {
  return QFileDialog::getExistingDirectory(parent, title, folder);
}

std::optional<QString> Prompts::text(QWidget* parent, const QString& title, const QString& label,
                                     const QString& value) {
  bool isAccepted = false;
  const QString text = QInputDialog::getText(parent, title, label, QLineEdit::Normal, value, &isAccepted);
  return isAccepted ? std::optional(text) : std::nullopt;
}

std::optional<int> Prompts::number(QWidget* parent, const QString& title, const QString& label, int value, int min,
                                   int max) {
  bool isAccepted = false;
  const int number = QInputDialog::getInt(parent, title, label, value, min, max, 1, &isAccepted);
  return isAccepted ? std::optional(number) : std::nullopt;
}

std::optional<bool> Prompts::choice(QWidget* parent, const QString& title, const QString& text, const QString& first,
                                    const QString& second) {
  QMessageBox box(QMessageBox::Question, title, text, QMessageBox::Cancel, parent);
  const QPushButton* firstButton = box.addButton(first, QMessageBox::AcceptRole);
  const QPushButton* secondButton = box.addButton(second, QMessageBox::DestructiveRole);
  box.exec();
  if (box.clickedButton() == firstButton) {
    return true;
  }
  return box.clickedButton() == secondButton ? std::optional(false) : std::nullopt;
}

std::optional<ReadModel> Prompts::import(QWidget* parent, const ForeignText& text) {
  ImportDialog dialog(text, parent);
  return dialog.exec() == QDialog::Accepted ? dialog.fabric() : std::nullopt;
}

std::vector<RecoveryChoice> Prompts::recovery(QWidget* parent, const std::vector<RecoveryItem>& items) {
  RecoveryDialog dialog(items, parent);
  dialog.exec();
  return dialog.choices();
}

bool Prompts::print(QWidget* parent, const std::function<void(QPagedPaintDevice&)>& draw) {
  QPrinter printer(QPrinter::HighResolution);
  QPrintDialog dialog(&printer, parent);
  if (dialog.exec() != QDialog::Accepted) {
    return false;
  }
  draw(printer);
  return true;
}

void Prompts::failure(QWidget* parent, const QString& title, const QString& text) {
  QMessageBox::warning(parent, title, text);
}

}  // namespace coppice::designer
