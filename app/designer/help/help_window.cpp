// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/help/help_window.hpp"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QScrollBar>
#include <QSplitter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextList>
#include <QVBoxLayout>

#include "designer/help/help_book.hpp"
#include "designer/help/help_pictures.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kBodyPixels = 13.5;
constexpr double kPictureWidth = 700;
constexpr int kTopicRole = Qt::UserRole;
constexpr int kAnchorRole = Qt::UserRole + 1;

}  // namespace

// ---- a page

HelpPage::HelpPage(QWidget* parent) : QTextBrowser(parent) {
  setOpenLinks(false);
  setFrameShape(QFrame::NoFrame);
  setAccessibleName(tr("Help page"));
  constexpr double kMargin = 24;
  document()->setDocumentMargin(kMargin);
  document()->setDefaultFont(uiFont(kBodyPixels));
}

void HelpPage::setPage(const QString& markdown) {
  // What a picture shows is below it as well.
  static const QRegularExpression kPicture(u"^!\\[([^\\]]*)\\]\\((picture:[^)]*)\\)$"_s,
                                           QRegularExpression::MultilineOption);
  QString text = markdown;
  document()->clear();
  setMarkdown(text.replace(kPicture, u"![\\1](\\2)\n\n*\\1*"_s));
  style();
  goTo({});
}

void HelpPage::style() {
  const Theme& theme = Theme::instance();
  QTextCursor cursor(document());
  cursor.beginEditBlock();
  bool isAfterPicture = false;
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
    QTextBlockFormat format = block.blockFormat();
    const int level = format.headingLevel();
    format.setLineHeight(level > 0 ? 110 : 142, QTextBlockFormat::ProportionalHeight);
    format.setTopMargin(level == 1 ? 0 : level > 1 ? 22 : block.textList() != nullptr ? 2 : 6);
    format.setBottomMargin(level == 1 ? 10 : level > 1 ? 4 : block.textList() != nullptr ? 2 : 6);
    cursor.setPosition(block.position());
    cursor.movePosition(QTextCursor::EndOfBlock, QTextCursor::KeepAnchor);
    if (level > 0) {
      QTextCharFormat heading;
      constexpr double kFirst = 24;
      constexpr double kSecond = 16;
      heading.setFont(uiFont(level == 1 ? kFirst : kSecond, QFont::DemiBold));
      heading.setForeground(theme.color(Token::text));
      cursor.mergeCharFormat(heading);
    }
    bool isPicture = false;
    for (auto it = block.begin(); !it.atEnd(); ++it) {
      const QTextFragment fragment = it.fragment();
      QTextCharFormat change;
      if (fragment.charFormat().isImageFormat()) {
        isPicture = true;
        QTextImageFormat image = fragment.charFormat().toImageFormat();
        const QImage picture = loadResource(QTextDocument::ImageResource, QUrl(image.name())).value<QImage>();
        image.setWidth(picture.deviceIndependentSize().width());
        image.setHeight(picture.deviceIndependentSize().height());
        change = image;
      } else if (fragment.charFormat().fontFixedPitch()) {
        change.setFont(figureFont(kBodyPixels - 1));
        change.setBackground(theme.color(Token::window));
      } else if (fragment.charFormat().isAnchor()) {
        change.setForeground(theme.color(Token::accent));
        change.setFontUnderline(false);
      } else if (isAfterPicture && fragment.charFormat().fontItalic()) {
        change.setFontItalic(false);
        change.setFont(uiFont(kBodyPixels - 1.5));
        change.setForeground(theme.color(Token::muted));
      } else {
        continue;
      }
      QTextCursor part(document());
      part.setPosition(fragment.position());
      part.setPosition(fragment.position() + fragment.length(), QTextCursor::KeepAnchor);
      part.mergeCharFormat(change);
    }
    if (isPicture) {
      format.setLineHeight(0, QTextBlockFormat::SingleHeight);
    }
    isAfterPicture = isPicture;
    cursor.mergeBlockFormat(format);
  }
  cursor.endEditBlock();
  document()->setModified(false);
}

void HelpPage::goTo(const QString& anchor) {
  for (QTextBlock block = document()->begin(); block.isValid() && !anchor.isEmpty(); block = block.next()) {
    if (block.blockFormat().headingLevel() > 1 && HelpBook::anchorOf(block.text()) == anchor) {
      setTextCursor(QTextCursor(block));
      const QRect place = cursorRect(QTextCursor(block));
      constexpr int kAbove = 12;
      verticalScrollBar()->setValue(verticalScrollBar()->value() + place.top() - kAbove);
      return;
    }
  }
  moveCursor(QTextCursor::Start);
  verticalScrollBar()->setValue(0);
}

QVariant HelpPage::loadResource(int type, const QUrl& name) {
  if (type == QTextDocument::ImageResource && name.scheme() == u"picture"_s) {
    return helpPicture(name.path(), Theme::instance().scheme(), kPictureWidth, devicePixelRatioF());
  }
  return {};
}

// ---- the window

HelpWindow::HelpWindow(QWidget* parent)
    : QWidget(parent, Qt::Window),
      m_search(new QLineEdit(this)),
      m_list(new QListWidget(this)),
      m_page(new HelpPage(this)),
      m_back(new QToolButton(this)),
      m_forward(new QToolButton(this)) {
  setObjectName(u"helpWindow"_s);
  setWindowTitle(tr("Coppice Help"));
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_search->setObjectName(u"helpSearch"_s);
  m_search->setPlaceholderText(tr("Search the help"));
  m_search->setAccessibleName(tr("Search the help"));
  m_search->setClearButtonEnabled(true);
  m_list->setObjectName(u"helpList"_s);
  m_list->setAccessibleName(tr("Topics"));
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->setWordWrap(true);
  m_page->setObjectName(u"helpPage"_s);
  m_back->setObjectName(u"helpBack"_s);
  m_forward->setObjectName(u"helpForward"_s);
  const auto button = [](QToolButton* tool, const QString& name, const QString& tip, const QKeySequence& keys) {
    tool->setIcon(icon(name));
    tool->setToolTip(tip + u" ("_s + keys.toString(QKeySequence::NativeText) + u')');
    tool->setAccessibleName(tip);
    tool->setShortcut(keys);
    tool->setFocusPolicy(Qt::TabFocus);
  };
  button(m_back, u"previous"_s, tr("Back"), QKeySequence(u"Alt+Left"_s));
  button(m_forward, u"next"_s, tr("Forward"), QKeySequence(u"Alt+Right"_s));

  auto* top = new QHBoxLayout;
  top->addWidget(m_back);
  top->addWidget(m_forward);
  top->addWidget(m_search, 1);
  auto* left = new QWidget(this);
  auto* column = new QVBoxLayout(left);
  constexpr QMargins kMargins(12, 12, 8, 8);
  column->setContentsMargins(kMargins);
  column->addLayout(top);
  column->addWidget(m_list, 1);
  auto* splitter = new QSplitter(this);
  splitter->addWidget(left);
  splitter->addWidget(m_page);
  splitter->setStretchFactor(1, 1);
  splitter->setChildrenCollapsible(false);
  constexpr int kListWidth = 270;
  constexpr int kPageWidth = 650;
  splitter->setSizes({kListWidth, kPageWidth});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(splitter);
  constexpr QSize kSize(1060, 680);
  resize(kSize);

  connect(m_search, &QLineEdit::textChanged, this, &HelpWindow::fillList);
  connect(m_search, &QLineEdit::returnPressed, this, [this] {
    if (m_list->count() > 0) {
      m_list->setCurrentRow(0);
      Q_EMIT m_list->itemActivated(m_list->item(0));
    }
  });
  const auto open = [this](const QListWidgetItem* item) {
    if (item != nullptr && !item->data(kTopicRole).toString().isEmpty()) {
      showTopic(item->data(kTopicRole).toString(), item->data(kAnchorRole).toString());
    }
  };
  connect(m_list, &QListWidget::itemClicked, this, open);
  connect(m_list, &QListWidget::itemActivated, this, open);
  connect(m_page, &QTextBrowser::anchorClicked, this, &HelpWindow::follow);
  connect(m_back, &QToolButton::clicked, this, [this] { step(m_past, m_future); });
  connect(m_forward, &QToolButton::clicked, this, [this] { step(m_future, m_past); });
  connect(&Theme::instance(), &Theme::changed, this, [this] { visit(m_here); });
  fillList();
  updateButtons();
}

void HelpWindow::showTopic(const QString& id, const QString& anchor) {
  const QString known = HelpBook::instance().find(id) != nullptr ? id : u"start"_s;
  if (!m_here.topic.isEmpty() && (m_here.topic != known || m_here.anchor != anchor)) {
    m_past.push_back(m_here);
    m_future.clear();
  }
  visit({known, anchor});
}

void HelpWindow::visit(const Place& place) {
  const HelpTopic* topic = HelpBook::instance().find(place.topic);
  if (topic == nullptr) {
    return;
  }
  m_here = place;
  setWindowTitle(tr("%1 — Coppice Help").arg(topic->title));
  m_page->setPage(topic->text);
  m_page->goTo(place.anchor);
  if (m_search->text().trimmed().isEmpty()) {
    for (int row = 0; row < m_list->count(); ++row) {
      if (m_list->item(row)->data(kTopicRole).toString() == place.topic) {
        m_list->setCurrentRow(row);
      }
    }
  }
  updateButtons();
}

void HelpWindow::step(std::vector<Place>& from, std::vector<Place>& to) {
  if (from.empty()) {
    return;
  }
  const Place place = from.back();
  from.pop_back();
  to.push_back(m_here);
  visit(place);
}

void HelpWindow::follow(const QUrl& link) {
  if (link.scheme() == u"help"_s) {
    showTopic(link.path(), link.fragment());
  } else if (link.isRelative()) {
    // Pages of the manual link to files, so that they can be read outside the program too.
    const QString topic = link.path().isEmpty() ? m_here.topic : QFileInfo(link.path()).completeBaseName();
    if (HelpBook::instance().find(topic) != nullptr) {
      showTopic(topic, link.fragment());
    }
  }
}

void HelpWindow::fillList() {
  const QString query = m_search->text().trimmed();
  m_list->clear();
  const auto add = [this](const QString& text, const QString& topic, const QString& anchor) {
    auto* item = new QListWidgetItem(text, m_list);
    item->setData(kTopicRole, topic);
    item->setData(kAnchorRole, anchor);
    return item;
  };
  if (query.isEmpty()) {
    for (const HelpTopic& topic : HelpBook::instance().topics()) {
      auto* item = add(topic.title, topic.id, {});
      if (topic.id == m_here.topic) {
        m_list->setCurrentItem(item);
      }
    }
    return;
  }
  for (const HelpHit& hit : HelpBook::instance().search(query)) {
    add(hit.title + u'\n' + hit.excerpt, hit.topic, hit.anchor)->setToolTip(hit.excerpt);
  }
  if (m_list->count() == 0) {
    add(tr("No help found for “%1”.").arg(query), {}, {})->setFlags(Qt::NoItemFlags);
  }
}

void HelpWindow::updateButtons() {
  m_back->setEnabled(!m_past.empty());
  m_forward->setEnabled(!m_future.empty());
}

void HelpWindow::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    close();
  } else if (event->matches(QKeySequence::Find)) {
    m_search->setFocus();
    m_search->selectAll();
  } else {
    QWidget::keyPressEvent(event);
  }
}

}  // namespace coppice::designer
