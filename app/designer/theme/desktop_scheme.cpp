// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/desktop_scheme.hpp"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>

namespace coppice::designer {
namespace {

constexpr auto kService = "org.freedesktop.portal.Desktop";
constexpr auto kPath = "/org/freedesktop/portal/desktop";
constexpr auto kInterface = "org.freedesktop.portal.Settings";
constexpr auto kGroup = "org.freedesktop.appearance";
constexpr auto kKey = "color-scheme";
constexpr int kTimeLimit = 1000;

}  // namespace

void DesktopScheme::start() {
  QDBusConnection bus = QDBusConnection::sessionBus();
  if (!bus.isConnected()) {
    return;
  }
  bus.connect(QLatin1String(kService), QLatin1String(kPath), QLatin1String(kInterface),
              QStringLiteral("SettingChanged"), this, SLOT(settingChanged(QString, QString, QDBusVariant)));
  QDBusMessage call = QDBusMessage::createMethodCall(QLatin1String(kService), QLatin1String(kPath),
                                                     QLatin1String(kInterface), QStringLiteral("Read"));
  call << QString(QLatin1String(kGroup)) << QString(QLatin1String(kKey));
  auto* watcher = new QDBusPendingCallWatcher(bus.asyncCall(call, kTimeLimit), this);
  connect(watcher, &QDBusPendingCallWatcher::finished, this, [this](QDBusPendingCallWatcher* done) {
    const QDBusPendingReply<QDBusVariant> reply = *done;
    if (reply.isValid()) {
      take(reply.value().variant());
    }
    done->deleteLater();
  });
}

void DesktopScheme::settingChanged(const QString& group, const QString& key, const QDBusVariant& value) {
  if (group == QLatin1String(kGroup) && key == QLatin1String(kKey)) {
    take(value.variant());
  }
}

void DesktopScheme::take(QVariant value) {
  // Older portals wrap the value once more.
  if (value.canConvert<QDBusVariant>()) {
    value = value.value<QDBusVariant>().variant();
  }
  bool isNumber = false;
  const uint number = value.toUInt(&isNumber);
  if (isNumber) {
    Q_EMIT found(number == 1 ? Scheme::dark : Scheme::light);
  }
}

}  // namespace coppice::designer
