// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/palette/empty_canvas.hpp"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "designer/theme/fonts.hpp"
#include "designer/workspace/action_registry.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

EmptyCanvas::EmptyCanvas(EditorContext& editor, const QList<QAction*>& actions)
    : QWidget(&editor.canvas()), m_editor(editor) {
  setObjectName(u"emptyCanvas"_s);
  auto* title = new QLabel(tr("An empty fabric"), this);
  constexpr double kTitlePixels = 17;
  title->setFont(uiFont(kTitlePixels, QFont::DemiBold));
  title->setAlignment(Qt::AlignCenter);
  auto* text =
      new QLabel(tr("Drag devices or whole clusters here from the palette, paste a topology, or open a file."), this);
  text->setProperty("role", u"muted"_s);
  text->setWordWrap(true);
  text->setAlignment(Qt::AlignCenter);
  constexpr int kTextWidth = 400;
  text->setFixedWidth(kTextWidth);
  auto* buttons = new QHBoxLayout;
  buttons->addStretch();
  for (QAction* action : actions) {
    const QString keys = action->shortcut().toString(QKeySequence::NativeText);
    const QString name = ActionRegistry::plainText(action);
    auto* button = new QPushButton(keys.isEmpty() ? name : u"%1  %2"_s.arg(name, keys), this);
    button->setObjectName(u"empty-"_s + ActionRegistry::idOf(action));
    button->setToolTip(action->toolTip());
    button->setCursor(Qt::ArrowCursor);
    connect(button, &QPushButton::clicked, action, &QAction::trigger);
    buttons->addWidget(button);
  }
  buttons->addStretch();
  auto* layout = new QVBoxLayout(this);
  constexpr int kGap = 10;
  layout->setSpacing(kGap);
  layout->addWidget(title);
  layout->addWidget(text, 0, Qt::AlignHCenter);
  layout->addLayout(buttons);
  editor.canvas().installEventFilter(this);
  connect(&editor.document(), &Document::changed, this, &EmptyCanvas::follow);
  connect(&editor.canvas(), &CanvasView::toolChanged, this, &EmptyCanvas::follow);
  follow();
}

void EmptyCanvas::follow() {
  const Model& model = m_editor.model();
  const bool isEmpty = model.nodes().isEmpty() && model.boxes().isEmpty() && model.notes().isEmpty();
  const QSize room = m_editor.canvas().size();
  const QSize size = sizeHint();
  setVisible(isEmpty && m_editor.canvas().tool() == ToolKind::select && size.width() <= room.width() &&
             size.height() <= room.height());
  setGeometry(QRect(QPoint((room.width() - size.width()) / 2, (room.height() - size.height()) / 2), size));
}

bool EmptyCanvas::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) {
    follow();
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace coppice::designer
