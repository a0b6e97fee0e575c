// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QListWidget>
#include <QStringList>
#include <QWidget>

namespace coppice::designer {

/// What is shown while no document is open: new, open, recent files, and fabrics to start from.
class StartPage : public QWidget {
  Q_OBJECT

public:
  explicit StartPage(QWidget* parent = nullptr);
  void setRecent(const QStringList& paths);

Q_SIGNALS:
  void newWanted();
  void openWanted();
  void fileWanted(const QString& path);
  /// Name of a preset of core/presets.
  void presetWanted(const QString& name);

private:
  QListWidget* m_recent;
  QListWidget* m_presets;
};

}  // namespace coppice::designer
