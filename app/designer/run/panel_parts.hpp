// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QString>
#include <QToolButton>
#include <QWidget>

namespace coppice::designer {

/// A dock's content: named, with the surface of a panel.
void setUpPanel(QWidget* panel, const QString& name, const QString& title);
/// What a dock says while it has nothing.
[[nodiscard]] QLabel* emptyLabel(const QString& text, QWidget* parent);
/// A quiet button with words; the id names it for tests.
[[nodiscard]] QToolButton* plainButton(const QString& id, const QString& text, const QString& toolTip, QWidget* parent);

}  // namespace coppice::designer
