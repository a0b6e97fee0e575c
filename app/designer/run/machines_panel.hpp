// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>
#include <QTreeWidget>
#include <QWidget>

#include "designer/run/machine_book.hpp"

namespace coppice::designer {

/// The list of machines with their states, and an inventory of the chosen one.
class MachinesPanel : public QWidget {
  Q_OBJECT

public:
  explicit MachinesPanel(MachineBook& book, QWidget* parent = nullptr);

  /// Never empty: this computer is always there.
  [[nodiscard]] QString current() const;
  /// The machines of one run: usually the current one, or all that are selected, in the order of the list.
  [[nodiscard]] QStringList chosen() const;
  void setCurrent(const QString& id);

Q_SIGNALS:
  void currentChanged(const QString& id);
  void chosenChanged();
  void detectWanted(const QString& id);
  void compareWanted(const QString& id);
  void refused(const QString& why);

private:
  void setUpWidgets();
  void layOut();
  /// Opens those of the chosen machines that are closed, or closes all where all are open.
  void toggleConnections();
  void fill();
  void refresh();
  void addHost();
  /// What is wrong with the host that was typed; empty = nothing.
  void showFault(const QString& fault);
  [[nodiscard]] QString cardOf(const Connection& connection) const;
  [[nodiscard]] QString cardOfSeveral(const QStringList& ids) const;

  MachineBook& m_book;
  QTreeWidget* m_list;
  QLineEdit* m_host;
  QPushButton* m_connect;
  QToolButton* m_detect;
  QToolButton* m_compare;
  QToolButton* m_remove;
  QLabel* m_card;
};

/// "connected", "not connected", …
[[nodiscard]] QString stateText(const Connection* connection);

}  // namespace coppice::designer
