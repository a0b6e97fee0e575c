// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <memory>

#include "coppice/test_paths.hpp"
#include "designer/answers.hpp"
#include "designer/document/exchange.hpp"
#include "designer/features/files/file_feature.hpp"
#include "designer/open_preset.hpp"
#include "designer/test_application.hpp"
#include "designer/window/main_window.hpp"
#include "support/waiting.hpp"

namespace coppice::designer::test {

using namespace Qt::StringLiterals;

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

/// The small field that opens on the canvas after a link is drawn.
inline void typeBandwidth(const Fixture& f, const QString& text) {
  QLineEdit* field = nullptr;
  QVERIFY(QTest::qWaitFor(
      [&] {
        const QList<QLineEdit*> fields = f.editor()->canvas().findChildren<QLineEdit*>();
        field = fields.isEmpty() ? nullptr : fields.back();
        return field != nullptr && field->isVisible();
      },
      coppice::waiting::kPatience));
  field->selectAll();
  QTest::keyClicks(field, text);
  const QPointer<QLineEdit> open = field;
  QTest::keyClick(field, Qt::Key_Return);
  QVERIFY(QTest::qWaitFor([&] { return open.isNull(); }, coppice::waiting::kPatience));
}

}  // namespace coppice::designer::test
