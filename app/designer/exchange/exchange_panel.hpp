// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <string>

#include "designer/exchange/exchange_schedule.hpp"
#include "designer/schedules/question_panel.hpp"

class QDragEnterEvent;
class QDropEvent;
class QMimeData;

namespace coppice::designer {

/// How long an uneven all-to-all takes: bytes of each pair from a file, the clipboard or a drop, or the tokens of a
/// layer of experts. The chosen exchange is marked on the drawing: the links that limit it, and the busiest GPU.
class ExchangePanel : public QuestionPanel {
  Q_OBJECT

public:
  explicit ExchangePanel(QWidget* parent = nullptr);

  [[nodiscard]] Overlay marks() const override;
  /// Asks with a table of bytes, as text. It lies in a file of this session, so that the command line can read it too.
  void askWith(const QString& table);

Q_SIGNALS:
  /// The chosen exchange is wanted as a schedule.
  void scheduleWanted(ExchangeAnswerPtr answer, std::size_t index);
  void saveWanted(const QString& suggestion, const std::string& text);
  void failed(const QString& text);

protected:
  void showAnswer(const PanelAnswerPtr& answer) override;
  [[nodiscard]] QString stateOf(const PanelAnswer& answer) const override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

private:
  [[nodiscard]] QWidget* makeContent();
  [[nodiscard]] const ShownExchange* chosen() const;
  void take(const QMimeData& given);
  void showChosen();
  void fillExchanges();
  void fillLimits();
  void fillGpus();
  void fillPlacement();
  void save(bool isPlacement);

  ExchangeAnswerPtr m_answer;
  QTemporaryDir m_pasted;
  int m_pastedCount = 0;
  QLabel* m_headline;
  QTabWidget* m_tabs;
  QTableWidget* m_exchanges;
  QTableWidget* m_limits;
  QTableWidget* m_gpus;
  QTableWidget* m_placement;
  QPushButton* m_schedule;
  QPushButton* m_saveBytes;
  QPushButton* m_savePlacement;
};

}  // namespace coppice::designer
