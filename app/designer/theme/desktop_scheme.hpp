// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDBusVariant>
#include <QObject>

#include "designer/theme/tokens.hpp"

namespace coppice::designer {

/// Asks the desktop whether it is light or dark, and listens to it. Silent where no desktop answers.
/// Source: XDG Desktop Portal, org.freedesktop.portal.Settings, key color-scheme of org.freedesktop.appearance.
class DesktopScheme : public QObject {
  Q_OBJECT

public:
  using QObject::QObject;
  void start();

Q_SIGNALS:
  void found(coppice::designer::Scheme scheme);

private Q_SLOTS:
  void settingChanged(const QString& group, const QString& key, const QDBusVariant& value);

private:
  void take(QVariant value);
};

}  // namespace coppice::designer
