// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPdfWriter>
#include <functional>
#include <optional>
#include <vector>

#include "designer/document/exchange.hpp"
#include "designer/workspace/prompts.hpp"
#include "designer/workspace/recovery_dialog.hpp"

namespace coppice::designer::test {

/// Answers as the test says, and counts the questions.
class Answers : public Prompts {
public:
  Unsaved unsavedChanges(QWidget*, const QString&) override {
    ++asked;
    return unsaved;
  }
  std::optional<std::vector<bool>> unsavedDocuments(QWidget*, const QStringList& names) override {
    ++asked;
    return unsaved == Unsaved::cancel ? std::nullopt
                                      : std::optional(std::vector<bool>(names.size(), unsaved == Unsaved::save));
  }
  QStringList filesToOpen(QWidget*, const QString&, const QString&) override { return open; }
  QString fileToSave(QWidget*, const QString& suggestion, const QString&) override {
    suggestions << suggestion;
    return saveTo;
  }
  QString folder(QWidget*, const QString&, const QString&) override { return folderChosen; }
  std::optional<QString> text(QWidget*, const QString&, const QString&, const QString&) override { return typed; }
  std::optional<int> number(QWidget*, const QString&, const QString&, int, int, int) override { return count; }
  std::optional<bool> choice(QWidget*, const QString&, const QString& text, const QString&, const QString&) override {
    ++asked;
    questions << text;
    return chosen;
  }
  std::optional<ReadModel> import(QWidget* parent, const ForeignText& text) override {
    ++asked;
    imports << QString::fromStdString(text.fileName);
    return importer ? importer(parent, text) : std::nullopt;
  }
  std::vector<RecoveryChoice> recovery(QWidget* parent, const std::vector<RecoveryItem>& items) override {
    ++asked;
    return recoverer ? recoverer(parent, items) : std::vector(items.size(), recover);
  }
  bool print(QWidget*, const std::function<void(QPagedPaintDevice&)>& draw) override {
    if (printTo.isEmpty()) {
      return false;
    }
    QPdfWriter writer(printTo);
    draw(writer);
    return true;
  }
  void failure(QWidget*, const QString&, const QString& text) override { failures << text; }

  Unsaved unsaved = Unsaved::discard;
  QStringList open;
  QString saveTo;
  QString printTo;  ///< a PDF; empty = cancelled
  QString folderChosen;
  QStringList suggestions;
  std::optional<QString> typed;
  std::optional<int> count = 8;
  std::optional<bool> chosen;
  int asked = 0;
  QStringList questions;
  std::function<std::optional<ReadModel>(QWidget*, const ForeignText&)> importer;
  QStringList imports;
  std::function<std::vector<RecoveryChoice>(QWidget*, const std::vector<RecoveryItem>&)> recoverer;
  RecoveryChoice recover = RecoveryChoice::later;
  QStringList failures;
};

}  // namespace coppice::designer::test
