// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>

#include "designer/theme/tokens.hpp"

class QApplication;

namespace coppice::designer {

enum class SchemeChoice { system, light, dark };

/// What the program looks like now: one for the application, used on its thread alone.
class Theme : public QObject {
  Q_OBJECT

public:
  static Theme& instance();

  [[nodiscard]] SchemeChoice choice() const { return m_choice; }
  void setChoice(SchemeChoice choice);

  [[nodiscard]] Scheme scheme() const { return m_scheme; }
  [[nodiscard]] const Colors& colors() const { return colorsOf(m_scheme); }
  [[nodiscard]] const QColor& color(Token token) const { return colors()[token]; }

  /// Motion (zoom, pulse) is shown.
  [[nodiscard]] bool isAnimated() const { return m_isAnimated; }
  void setAnimated(bool isAnimated) { m_isAnimated = isAnimated; }

  /// Gives the application its fonts, palette and style sheet, now and whenever the scheme changes, and starts to
  /// follow the desktop. Call once, before the first window.
  void applyTo(QApplication& application);

Q_SIGNALS:
  /// The scheme is another one; palette and style sheet already are.
  void changed();

private:
  Theme() = default;
  void update();

  SchemeChoice m_choice = SchemeChoice::system;
  Scheme m_scheme = Scheme::light;
  Scheme m_system = Scheme::light;
  bool m_isAnimated = true;
  QApplication* m_application = nullptr;
};

}  // namespace coppice::designer
