// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/theme_actions.hpp"

#include <QActionGroup>
#include <QSettings>

#include "designer/theme/theme.hpp"
#include "designer/window/main_window.hpp"
#include "designer/workspace/action_registry.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

static const QString kThemeKey = u"window/theme"_s;
static const QString kWheelKey = u"window/wheelScrolls"_s;

void addThemeActions(ActionRegistry& actions, bool keepsSettings, QObject* parent) {
  struct Named {
    SchemeChoice choice;
    QString id;
    QString text;
    QString tip;
    QString icon;
  };
  const Named choices[] = {{SchemeChoice::system,
                            u"theme.system"_s,
                            MainWindow::tr("As the &System"),
                            MainWindow::tr("Follow the colour scheme of the desktop"),
                            {}},
                           {SchemeChoice::light, u"theme.light"_s, MainWindow::tr("&Light"),
                            MainWindow::tr("Always use light colours"), u"light"_s},
                           {SchemeChoice::dark, u"theme.dark"_s, MainWindow::tr("&Dark"),
                            MainWindow::tr("Always use dark colours"), u"dark"_s}};
  if (keepsSettings) {
    const QString wanted = QSettings().value(kThemeKey).toString();
    for (const Named& each : choices) {
      if (each.id == wanted) {
        Theme::instance().setChoice(each.choice);
      }
    }
  }
  QAction* wheel = actions.add({u"view.wheel-scrolls"_s,
                                MainWindow::tr("&Wheel Scrolls"),
                                MainWindow::tr("The wheel moves the drawing, and zooms with Ctrl; otherwise it zooms"),
                                {},
                                u"pan"_s,
                                true},
                               [keepsSettings](bool isOn) {
                                 CanvasView::setWheelScrolls(isOn);
                                 if (keepsSettings) {
                                   QSettings().setValue(kWheelKey, isOn);
                                 }
                               });
  wheel->setChecked(keepsSettings && QSettings().value(kWheelKey).toBool());
  CanvasView::setWheelScrolls(wheel->isChecked());
  auto* group = new QActionGroup(parent);
  for (const Named& each : choices) {
    QAction* action = actions.add({each.id, each.text, each.tip, {}, each.icon, true},
                                  [keepsSettings, id = each.id, choice = each.choice](bool) {
                                    Theme::instance().setChoice(choice);
                                    if (keepsSettings) {
                                      QSettings().setValue(kThemeKey, id);
                                    }
                                  });
    group->addAction(action);
    action->setChecked(Theme::instance().choice() == each.choice);
  }
}

}  // namespace coppice::designer
