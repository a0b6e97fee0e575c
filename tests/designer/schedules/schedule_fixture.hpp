// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QTemporaryDir>
#include <QTest>
#include <map>
#include <memory>
#include <string>

#include "coppice/test_paths.hpp"
#include "designer/answers.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/export/export_feature.hpp"
#include "designer/features/files/file_feature.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/test_application.hpp"
#include "designer/trees/trees_feature.hpp"
#include "designer/window/main_window.hpp"
#include "presets/presets.hpp"

namespace coppice::designer::test {

inline constexpr int kLong = 60000;

inline fabric::Description preset(const char* name, const std::map<std::string, std::string>& arguments) {
  auto made = presets::make(name, arguments);
  return made ? *std::move(made) : fabric::Description{};
}

/// A window, and the schedules of its current document.
struct ScheduleFixture {
  ScheduleFixture() {
    auto owned = std::make_unique<Answers>();
    answers = owned.get();
    answers->chosen = true;
    window =
        std::make_unique<MainWindow>(WindowOptions{.recoveryFolder = {}, .keepsSettings = false}, std::move(owned));
    window->show();
    [[maybe_unused]] const bool isActive = QTest::qWaitForWindowActive(window.get());
    schedules = window->findChild<ScheduleFeature*>();
    trees = window->findChild<TreesFeature*>();
    exports = window->findChild<ExportFeature*>();
  }
  void run(const char* id) const { window->actions()[QLatin1String(id)]->trigger(); }
  [[nodiscard]] EditorContext* editor() const { return window->workspace().current(); }
  [[nodiscard]] ScheduleBook* book() const { return schedules->book(); }
  [[nodiscard]] const ScheduleEntry* current() const { return book()->current(); }
  [[nodiscard]] QString label(const char* name) const {
    return window->findChild<QLabel*>(QLatin1String(name))->text();
  }
  [[nodiscard]] const Overlay& overlay() const { return editor()->canvas().overlay(); }

  /// A copy, since schedules lie beside their files.
  [[nodiscard]] QString example(const char* name) const {
    const QString copy = dir.filePath(QLatin1String(name));
    QFile::copy(QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(QLatin1String(name)), copy);
    return copy;
  }
  bool open(const char* name) const { return window->files().openFile(example(name)) != nullptr; }
  bool openPreset(const char* name, const std::map<std::string, std::string>& arguments) const {
    return window->workspace().adopt(readModel(preset(name, arguments)).model, {}, QLatin1String(name)) != nullptr;
  }
  [[nodiscard]] bool isDone() const {
    return QTest::qWaitFor([&] { return !book()->isRunning(); }, kLong);
  }
  [[nodiscard]] bool isSettled() const {
    return QTest::qWaitFor([&] { return book()->isSettled(); }, kLong);
  }
  /// With all schedules.
  [[nodiscard]] bool save() const {
    run("file.save");
    return isSettled() && QTest::qWaitFor([&] { return !editor()->file().isModified(); }, kLong);
  }
  bool generate() const {
    run("schedule.generate");
    return isDone() && book()->failure().isEmpty() && current() != nullptr && current()->result;
  }

  QTemporaryDir dir;
  Answers* answers;
  std::unique_ptr<MainWindow> window;
  ScheduleFeature* schedules;
  TreesFeature* trees;
  ExportFeature* exports;
};

inline ScheduleResultPtr made(const fabric::Description& description, const ScheduleOptions& options) {
  auto result = makeSchedule(description, options, {});
  if (!result) {
    qWarning("%s", describe(result.error()).c_str());
    return nullptr;
  }
  return *result;
}

}  // namespace coppice::designer::test
