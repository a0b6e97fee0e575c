// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QStackedWidget>
#include <QTreeWidget>
#include <QWidget>
#include <vector>

#include "designer/run/fabric_comparison.hpp"

namespace coppice::designer {

/// How the drawing and a machine differ; a click goes to the place.
class DifferencesPanel : public QWidget {
  Q_OBJECT

public:
  explicit DifferencesPanel(QWidget* parent = nullptr);
  void setDifferences(const QString& title, std::vector<FabricDifference> differences);
  void setMessage(const QString& text);
  [[nodiscard]] const std::vector<FabricDifference>& differences() const { return m_differences; }

Q_SIGNALS:
  void elementChosen(const coppice::designer::ElementId& element);

private:
  void fill();

  std::vector<FabricDifference> m_differences;
  QStackedWidget* m_pages;
  QLabel* m_message;
  QLabel* m_title;
  QTreeWidget* m_list;
};

}  // namespace coppice::designer
