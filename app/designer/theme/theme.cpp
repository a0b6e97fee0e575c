// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/theme.hpp"

#include <QApplication>
#include <QPalette>

#include "designer/theme/desktop_scheme.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/style.hpp"

namespace coppice::designer {
namespace {

Scheme resolved(SchemeChoice choice, Scheme system) {
  switch (choice) {
    case SchemeChoice::light:
      return Scheme::light;
    case SchemeChoice::dark:
      return Scheme::dark;
    case SchemeChoice::system:
      break;
  }
  return system;
}

}  // namespace

Theme& Theme::instance() {
  static Theme theme;
  return theme;
}

void Theme::setChoice(SchemeChoice choice) {
  m_choice = choice;
  update();
}

void Theme::applyTo(QApplication& application) {
  loadFonts();
  // What the platform's own palette says, before ours covers it; the desktop's setting overrides it if there is one.
  const QPalette platform = QApplication::palette();
  m_system = platform.color(QPalette::Window).lightness() < platform.color(QPalette::WindowText).lightness()
                 ? Scheme::dark
                 : Scheme::light;
  m_application = &application;
  m_scheme = resolved(m_choice, m_system);
  applyStyle(application, colors());
  auto* desktop = new DesktopScheme(&application);
  connect(desktop, &DesktopScheme::found, this, [this](Scheme scheme) {
    m_system = scheme;
    update();
  });
  desktop->start();
}

void Theme::update() {
  const Scheme scheme = resolved(m_choice, m_system);
  if (scheme == m_scheme) {
    return;
  }
  m_scheme = scheme;
  if (m_application != nullptr) {
    applyStyle(*m_application, colors());
  }
  Q_EMIT changed();
}

}  // namespace coppice::designer
