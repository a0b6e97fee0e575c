// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPlainTextEdit>
#include <QPointF>
#include <QRectF>
#include <QStackedWidget>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "designer/trees/tree_model.hpp"

namespace coppice::designer {

class TreeCanvas;

/// One tree by itself.
struct LoneTree {
  struct Node {
    QString name;
    int parent = -1;  ///< index; -1 = the root, which stands first
    int depth = 0;
    QString route;          ///< of the edge from (to) its parent
    bool isShared = false;  ///< a switch copies from, or sums into, another edge of the tree here
    QSizeF size;
    QPointF centre;
  };
  std::vector<Node> nodes;
  bool isIn = false;  ///< data runs from the leaves to the root
  QString title;
};

/// The dock with one tree as a layered drawing, made by Graphviz in its helper process. Where the helper is not there
/// or gives up, it says so and shows the tree as indented text.
class TreeDrawing : public QWidget {
  Q_OBJECT

public:
  explicit TreeDrawing(QWidget* parent = nullptr);
  ~TreeDrawing() override;

  /// Nothing is read before the dock can be seen.
  void setTree(ScheduleResultPtr result, std::optional<TreeRef> tree);
  /// The drawing of the tree is there.
  [[nodiscard]] bool isDrawn() const;
  /// The text stands in for it.
  [[nodiscard]] bool isText() const;
  [[nodiscard]] const QString& note() const { return m_note; }
  /// In place of the helper beside the program, for tests.
  void setHelper(const QString& program) { m_helper = program; }

protected:
  void showEvent(QShowEvent* event) override;

private:
  struct Answer {
    std::shared_ptr<LoneTree> tree;
    std::optional<Error> error;
  };
  void follow();
  void receive(const Answer& answer);

  ScheduleResultPtr m_result;
  std::optional<TreeRef> m_tree;
  bool m_isOrdered = false;
  QString m_note;
  QString m_helper;
  QStackedWidget* m_pages;
  QLabel* m_empty;
  QLabel* m_title;
  TreeCanvas* m_canvas;
  QPlainTextEdit* m_text;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer
