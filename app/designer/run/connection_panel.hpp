// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPlainTextEdit>
#include <QPointer>
#include <QPushButton>
#include <QStackedWidget>
#include <QTreeWidget>
#include <QWidget>

#include "designer/document/followed.hpp"
#include "designer/run/connection.hpp"

namespace coppice::designer {

/// The steps of a connection with time, command, raw output and fix; and the question about an unknown host key.
class ConnectionPanel : public QWidget {
  Q_OBJECT

public:
  explicit ConnectionPanel(QWidget* parent = nullptr);
  /// nullptr for none.
  void setConnection(Connection* connection);

private:
  void refresh();
  void showStep();

  QPointer<Connection> m_connection;
  Followed m_followed;  ///< connections to the connection
  QStackedWidget* m_pages;
  QLabel* m_empty;
  QTreeWidget* m_steps;
  QPlainTextEdit* m_raw;
  QWidget* m_question;
  QLabel* m_questionText;
  int m_shown = -1;
  bool m_isChosen = false;  ///< by a person; otherwise the newest is shown
};

}  // namespace coppice::designer
