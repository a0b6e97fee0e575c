// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLabel>
#include <QTableWidget>
#include <QTest>

#include "window/window_fixture.hpp"

namespace coppice::designer::test {

/// A window in Analyse mode with a preset and the panel of a question (QuestionPanel) open in it.
template<class Panel>
struct QuestionFixture {
  /// @param view the action that shows the panel
  QuestionFixture(const char* preset, const char* view, const char* boxes = "2") {
    fixture.window->workspace().adopt(readArranged(*presets::make(preset, {{"boxes", boxes}})).model, {}, u"two"_s);
    fixture.window->workspace().setMode(Mode::analyse);
    fixture.run(view);
    panel = fixture.window->template findChild<Panel*>();
  }
  /// False where no answer comes.
  [[nodiscard]] bool compute() const {
    panel->search();
    return isDone();
  }
  [[nodiscard]] bool compute(const workflow::Values& values) const {
    panel->form().setValues(values);
    return compute();
  }
  [[nodiscard]] bool isDone() const {
    return QTest::qWaitFor([&] { return !panel->isSearching(); }, coppice::waiting::kPatience);
  }
  [[nodiscard]] QString text(const char* name) const {
    return panel->template findChild<QLabel*>(QLatin1String(name))->text();
  }
  [[nodiscard]] QTableWidget* table(const char* name) const {
    return panel->template findChild<QTableWidget*>(QLatin1String(name));
  }
  [[nodiscard]] QString cell(const char* name, int row, int column) const {
    return table(name)->item(row, column)->text();
  }
  [[nodiscard]] const Overlay& overlay() const { return fixture.editor()->canvas().overlay(); }

  Fixture fixture;
  Panel* panel = nullptr;
};

}  // namespace coppice::designer::test
