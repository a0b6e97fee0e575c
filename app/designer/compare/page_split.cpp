// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/page_split.hpp"

#include <QVBoxLayout>
#include <memory>

namespace coppice::designer {

PageSplit::PageSplit(EditorContext& context, QWidget* above, QWidget* beside)
    : m_context(&context), m_halves(new QSplitter(Qt::Horizontal, &context.page())) {
  CanvasView& canvas = context.canvas();
  const bool hadFocus = canvas.hasFocus();
  const std::unique_ptr<QLayoutItem> place(context.page().layout()->replaceWidget(&canvas, m_halves));
  auto* left = new QWidget(m_halves);
  auto* lines = new QVBoxLayout(left);
  lines->setContentsMargins({});
  lines->setSpacing(0);
  lines->addWidget(above);
  lines->addWidget(&canvas, 1);
  m_halves->addWidget(left);
  m_halves->addWidget(beside);
  m_halves->setChildrenCollapsible(false);
  for (int half = 0; half < m_halves->count(); ++half) {
    m_halves->setStretchFactor(half, 1);
  }
  const int half = context.page().width() / 2;
  m_halves->setSizes({half, half});
  m_halves->show();
  canvas.show();
  if (hadFocus) {
    canvas.setFocus();
  }
}

PageSplit::~PageSplit() {
  if (!m_context || !m_halves) {
    return;
  }
  CanvasView& canvas = m_context->canvas();
  const bool hadFocus = canvas.hasFocus();
  const std::unique_ptr<QLayoutItem> place(m_context->page().layout()->replaceWidget(m_halves, &canvas));
  canvas.show();
  delete m_halves;
  if (hadFocus) {
    canvas.setFocus();
  }
}

}  // namespace coppice::designer
