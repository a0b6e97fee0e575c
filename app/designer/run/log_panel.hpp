// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QWidget>
#include <memory>

#include "designer/run/run_data.hpp"

namespace coppice::designer {

/// What a run and its machine say, filtered by words and severity.
class LogPanel : public QWidget {
  Q_OBJECT

public:
  explicit LogPanel(QWidget* parent = nullptr);
  void setRun(std::shared_ptr<const RunData> run);
  void follow();

Q_SIGNALS:
  void saveWanted(const QString& suggestion, const QByteArray& text);

private:
  void rebuild();
  void append(const LogLine& line);
  [[nodiscard]] bool isShown(const LogLine& line) const;
  [[nodiscard]] static QString plain(const LogLine& line);

  std::shared_ptr<const RunData> m_data;
  qint64 m_next = 0;  ///< number of the next line, counted from the first that ever was
  QLineEdit* m_filter;
  QComboBox* m_severity;
  QCheckBox* m_follows;
  QPlainTextEdit* m_text;
};

}  // namespace coppice::designer
