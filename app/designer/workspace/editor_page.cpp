// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/editor_page.hpp"

#include <QVBoxLayout>

#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

EditorPage::EditorPage(EditorContext& context)
    : m_context(context),
      m_notice(new NoticeBar(this)),
      m_canvas(new CanvasView(context.document(), context.selection(), this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_notice);
  layout->addWidget(m_canvas, 1);
  setFocusProxy(m_canvas);
  // Either settles what a notice asks.
  connect(&context.file(), &DocumentFile::saved, m_notice, &NoticeBar::withdraw);
  connect(&context.file(), &DocumentFile::pathChanged, m_notice, &NoticeBar::withdraw);
}

}  // namespace coppice::designer
