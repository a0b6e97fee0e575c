// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QListView>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QStandardItemModel>
#include <QTimer>
#include <QToolButton>
#include <QWidget>

#include "designer/document/followed.hpp"
#include "designer/schedules/schedule_book.hpp"

namespace coppice::designer {

/// The dock with the verdict on the current schedule, the progress of the one being made, and the list of all.
class SchedulePanel : public QWidget {
  Q_OBJECT

public:
  explicit SchedulePanel(QWidget* parent = nullptr);

  /// The book must live until another takes its place.
  void setBook(ScheduleBook* book);
  /// An empty fabric has no schedule.
  void setHasNodes(bool hasNodes);

Q_SIGNALS:
  void generateWanted();
  void exportWanted();
  void renameWanted(int id);
  void removeWanted(int id);
  void rerunWanted(int id);

private:
  [[nodiscard]] QWidget* makeEmptyPage();
  [[nodiscard]] QWidget* makeCard();
  /// What is said of the chosen schedule.
  [[nodiscard]] QWidget* makeChosen();
  /// The number, and what can be done with the chosen one.
  [[nodiscard]] QLayout* makeHead();
  void setUpList();
  void setUpRunning();
  void connectAll();
  void refresh();
  void updateCard();
  void updateRunning();
  void updateList();
  [[nodiscard]] int chosen() const;

  QPointer<ScheduleBook> m_book;
  Followed m_followed;  ///< connections to the schedules
  QStackedWidget* m_pages;
  QLabel* m_emptyText;
  QPushButton* m_emptyButton;
  QLabel* m_verdict;
  QLabel* m_number;
  QLabel* m_exact;
  QLabel* m_details;
  QLabel* m_facts;
  QWidget* m_running;
  QLabel* m_phase;
  QProgressBar* m_progress;
  QPushButton* m_cancel;
  QWidget* m_failureRow;
  QLabel* m_failure;
  QListView* m_list;
  QStandardItemModel m_model;
  QToolButton* m_rerun;
  QToolButton* m_rename;
  QToolButton* m_remove;
  QPushButton* m_export;
  QTimer m_tick;
  bool m_isFilling = false;
  bool m_hasNodes = false;
};

}  // namespace coppice::designer
