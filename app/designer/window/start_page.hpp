// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QStringList>
#include <QWidget>

#include "designer/palette/card_list.hpp"

namespace coppice::designer {

/// What is shown while no document is open: new, open, recent files, and fabrics to start from.
class StartPage : public QWidget {
  Q_OBJECT

public:
  /// The loader must outlive the page.
  explicit StartPage(CardLoader& loader, QWidget* parent = nullptr);
  /// Files that are gone are left out.
  void setRecent(const QStringList& paths);

Q_SIGNALS:
  void newWanted();
  void findWanted();
  void openWanted();
  void fileWanted(const QString& path);
  void entryWanted(const coppice::designer::PaletteEntry& entry);

private:
  CardList* m_recent;
  QLabel* m_noRecent;
  CardList* m_fabrics;
};

}  // namespace coppice::designer
