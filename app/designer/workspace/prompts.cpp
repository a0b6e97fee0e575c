// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/prompts.hpp"

#include <QCoreApplication>
#include <QFileDialog>
#include <QInputDialog>
#include <QMessageBox>
#include <QPushButton>

#include "designer/workspace/import_dialog.hpp"
#include "designer/workspace/recovery_dialog.hpp"

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
  switch (box.exec()) {
    case QMessageBox::Save:
      return Unsaved::save;
    case QMessageBox::Discard:
      return Unsaved::discard;
    default:
      return Unsaved::cancel;
  }
}

QStringList Prompts::filesToOpen(QWidget* parent, const QString& folder, const QString& filter) {
  return QFileDialog::getOpenFileNames(parent, Texts::tr("Open"), folder, filter);
}

QString Prompts::fileToSave(QWidget* parent, const QString& suggestion, const QString& filter) {
  return QFileDialog::getSaveFileName(parent, Texts::tr("Save As"), suggestion, filter);
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

void Prompts::failure(QWidget* parent, const QString& title, const QString& text) {
  QMessageBox::warning(parent, title, text);
}

}  // namespace coppice::designer
