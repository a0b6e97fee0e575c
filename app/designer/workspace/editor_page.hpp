// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPushButton>
#include <QShortcut>
#include <QWidget>

namespace coppice::designer {

class CanvasView;
class EditorContext;
class NoticeBar;

/// The page of a document in its tab: notices above the canvas.
class EditorPage : public QWidget {
  Q_OBJECT

public:
  /// The context must outlive the page.
  explicit EditorPage(EditorContext& context);

  [[nodiscard]] EditorContext& context() const { return m_context; }
  [[nodiscard]] NoticeBar& notice() const { return *m_notice; }
  [[nodiscard]] CanvasView& canvas() const { return *m_canvas; }

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void showAssumption();
  void placeChip();

  EditorContext& m_context;
  NoticeBar* m_notice;
  CanvasView* m_canvas;
  QPushButton* m_chip;  ///< what is assumed, on the canvas
  QShortcut* m_end;     ///< of the assumption: Esc, wherever the keyboard is
};

}  // namespace coppice::designer
