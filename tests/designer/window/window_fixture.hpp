// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <functional>
#include <memory>

#include "coppice/test_paths.hpp"
#include "designer/document/exchange.hpp"
#include "designer/features/files/file_feature.hpp"
#include "designer/open_preset.hpp"
#include "designer/window/main_window.hpp"
#include "designer/workspace/recovery_dialog.hpp"

namespace coppice::designer::test {

using namespace Qt::StringLiterals;

/// Answers as the test says, and counts the questions.
class Answers : public Prompts {
public:
  Unsaved unsavedChanges(QWidget*, const QString&) override {
    ++asked;
    return unsaved;
  }
  QStringList filesToOpen(QWidget*, const QString&, const QString&) override { return open; }
  QString fileToSave(QWidget*, const QString&, const QString&) override { return saveTo; }
  QString folder(QWidget*, const QString&, const QString&) override { return {}; }
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
  void failure(QWidget*, const QString&, const QString& text) override { failures << text; }

  Unsaved unsaved = Unsaved::discard;
  QStringList open;
  QString saveTo;
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

struct Fixture {
  explicit Fixture(bool keepsSettings = false) {
    auto owned = std::make_unique<Answers>();
    answers = owned.get();
    window = std::make_unique<MainWindow>(WindowOptions{.recoveryFolder = dir.filePath(u"recovery"_s),
                                                        .templatesFolder = dir.filePath(u"templates"_s),
                                                        .keepsSettings = keepsSettings},
                                          std::move(owned));
    window->show();
    activate();
  }
  /// As a window manager does when a dialog has closed.
  void activate() const {
    window->activateWindow();
    [[maybe_unused]] const bool isActive = QTest::qWaitForWindowActive(window.get());
  }
  void run(const char* id) const { window->actions()[QLatin1String(id)]->trigger(); }
  [[nodiscard]] EditorContext* editor() const { return window->workspace().current(); }
  [[nodiscard]] QString strip(const char* part) const {
    return window->findChild<QToolButton*>(QLatin1String(part))->text();
  }
  [[nodiscard]] bool waitForBound() const {
    return QTest::qWaitFor([&] { return editor()->bound().isCurrent(); }, 30000);
  }

  /// A copy, since journals lie beside their files.
  [[nodiscard]] QString example(const char* name) const {
    const QString copy = dir.filePath(QLatin1String(name));
    QFile::copy(QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(QLatin1String(name)), copy);
    return copy;
  }

  QTemporaryDir dir;
  Answers* answers;
  std::unique_ptr<MainWindow> window;
};

}  // namespace coppice::designer::test
