// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/card_list.hpp"

#include <QApplication>
#include <QContextMenuEvent>
#include <QDrag>
#include <QKeyEvent>
#include <QMimeData>
#include <QPainter>
#include <QPointer>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QWheelEvent>

#include "designer/document/counted.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kIdRole = Qt::UserRole;
constexpr int kDetailRole = Qt::UserRole + 1;
constexpr int kKeyRole = Qt::UserRole + 2;

constexpr QSize kTile(66, 58);
constexpr int kRowHeight = 34;
constexpr QSize kRowPicture(40, 26);
constexpr QSize kCard(232, 186);
constexpr int kCardPicture = 122;
constexpr int kGap = 8;

QSize sizeOf(CardLook look) {
  switch (look) {
    case CardLook::tile:
      return kTile;
    case CardLook::row:
      return {100, kRowHeight};
    case CardLook::card:
      return kCard;
  }
  return {};
}

/// The shape of a device as the canvas draws it, small.
void paintShape(QPainter& painter, const QPointF& centre, const QString& id, const Colors& colors) {
  const auto around = [&](double width, double height) {
    return QRectF(centre.x() - width / 2, centre.y() - height / 2, width, height);
  };
  constexpr double kLine = 1.5;
  const auto shape = [&](const QRectF& rect, double radius, Token fill, Token line,
                         Qt::PenStyle style = Qt::SolidLine) {
    painter.setBrush(colors[fill]);
    painter.setPen(QPen(colors[line], kLine, style));
    painter.drawRoundedRect(rect, radius, radius);
  };
  if (id == u"device/gpu"_s) {
    shape(around(20, 20), 5, Token::gpuFill, Token::gpuLine);
  } else if (id == u"device/nic"_s) {
    shape(around(13, 13), 3, Token::nicFill, Token::nicLine);
  } else if (id == u"device/nvswitch"_s) {
    shape(around(38, 13), 6.5, Token::switchFill, Token::switchLine);
    painter.setBrush(colors[Token::switchLine]);
    painter.setPen(Qt::NoPen);
    for (const double x : {-10.0, 0.0, 10.0}) {
      painter.drawEllipse(centre + QPointF(x, 0), 1.6, 1.6);
    }
  } else if (id == u"device/pcie"_s) {
    shape(around(30, 13), 3, Token::switchFill, Token::switchLine);
  } else if (id == u"device/box"_s) {
    shape(around(34, 21), 5, Token::room, Token::boxLine, Qt::DashLine);
  } else {
    shape(around(38, 13), 6.5, Token::switchFill, Token::switchLine);
  }
}

const QImage& imageOf(const CardFacts& facts) {
  return Theme::instance().scheme() == Scheme::dark ? facts.picture.dark : facts.picture.light;
}

void paintPicture(QPainter& painter, const QRect& room, const QImage& image) {
  const QSizeF size = image.deviceIndependentSize();
  painter.drawImage(
      QPointF(room.left() + (room.width() - size.width()) / 2.0, room.top() + (room.height() - size.height()) / 2.0),
      image);
}

class CardDelegate : public QStyledItemDelegate {
public:
  explicit CardDelegate(CardList* list) : QStyledItemDelegate(list), m_list(list) {}

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
    return m_list->cell();
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Colors& colors = Theme::instance().colors();
    const QListWidgetItem& item = *m_list->item(index.row());
    const bool isHovered = option.state.testFlag(QStyle::State_MouseOver);
    const bool isFocused = m_list->hasFocus() && m_list->currentRow() == index.row();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    switch (m_list->look()) {
      case CardLook::tile:
        paintTile(*painter, option.rect, item, isHovered, isFocused, colors);
        break;
      case CardLook::row:
        paintRow(*painter, option.rect, item, isHovered, isFocused, colors);
        break;
      case CardLook::card:
        paintCard(*painter, option.rect, item, isHovered, isFocused, colors);
        break;
    }
    painter->restore();
  }

private:
  static void frame(QPainter& painter, const QRectF& rect, double radius, bool isHovered, bool isFocused,
                    const Colors& colors, Token ground) {
    painter.setBrush(colors[isHovered ? Token::hover : ground]);
    painter.setPen(QPen(colors[isFocused ? Token::accent : Token::line], isFocused ? 1.5 : 1));
    painter.drawRoundedRect(rect.adjusted(0.75, 0.75, -0.75, -0.75), radius, radius);
  }

  static void paintTile(QPainter& painter, const QRect& rect, const QListWidgetItem& item, bool isHovered,
                        bool isFocused, const Colors& colors) {
    constexpr int kInset = 3;
    const QRect tile = rect.adjusted(kInset, kInset, -kInset, -kInset);
    frame(painter, tile, 7, isHovered, isFocused, colors, Token::field);
    paintShape(painter, QPointF(tile.center().x() + 0.5, tile.top() + tile.height() * 0.38), CardList::idOf(item),
               colors);
    constexpr double kName = 10.5;
    painter.setFont(uiFont(kName));
    painter.setPen(colors[Token::muted]);
    painter.drawText(tile.adjusted(2, 0, -2, -6), Qt::AlignHCenter | Qt::AlignBottom, item.text());
  }

  void paintRow(QPainter& painter, const QRect& rect, const QListWidgetItem& item, bool isHovered, bool isFocused,
                const Colors& colors) const {
    if (isHovered || isFocused) {
      painter.setBrush(colors[isFocused ? Token::accentSoft : Token::hover]);
      painter.setPen(isFocused ? QPen(colors[Token::accent], 1) : QPen(Qt::NoPen));
      painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    }
    QRect picture(rect.left() + 6, rect.top() + (rect.height() - kRowPicture.height()) / 2, kRowPicture.width(),
                  kRowPicture.height());
    QString detail = item.data(kDetailRole).toString();
    if (const CardFacts* facts = m_list->factsOf(item); facts != nullptr && facts->hasPicture) {
      if (!imageOf(*facts).isNull()) {
        paintPicture(painter, picture, imageOf(*facts));
      }
      detail = facts->size.text;
    }
    constexpr double kDetail = 11.5;
    painter.setFont(uiFont(kDetail));
    painter.setPen(colors[Token::muted]);
    const int detailWidth = painter.fontMetrics().horizontalAdvance(detail);
    const QRect words = rect.adjusted(kRowPicture.width() + 14, 0, -8, 0);
    painter.drawText(words, Qt::AlignRight | Qt::AlignVCenter, detail);
    constexpr double kTitle = 12.5;
    painter.setFont(uiFont(kTitle));
    painter.setPen(colors[Token::text]);
    const QRect name = words.adjusted(0, 0, -detailWidth - 8, 0);
    painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(item.text(), Qt::ElideRight, name.width()));
  }

  void paintCard(QPainter& painter, const QRect& rect, const QListWidgetItem& item, bool isHovered, bool isFocused,
                 const Colors& colors) const {
    const QRect card = rect.adjusted(0, 0, -kGap * 2, -kGap * 2);
    frame(painter, card, 8, isHovered, isFocused, colors, Token::panel);
    const QRect room(card.left() + 1, card.top() + 1, card.width() - 2, kCardPicture - 1);
    painter.save();
    painter.setClipRect(room);
    painter.setBrush(colors[Token::canvas]);
    painter.setPen(Qt::NoPen);
    painter.drawRoundedRect(QRectF(room).adjusted(0.5, 0.5, -0.5, 12), 7, 7);
    painter.restore();
    painter.setPen(QPen(colors[Token::line], 1));
    painter.drawLine(QPointF(card.left() + 1, room.bottom() + 0.5), QPointF(card.right() - 0.5, room.bottom() + 0.5));
    if (isFocused) {
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(colors[Token::accent], 1.5));
      painter.drawRoundedRect(QRectF(card).adjusted(0.75, 0.75, -0.75, -0.75), 8, 8);
    }
    const CardFacts* facts = m_list->factsOf(item);
    QString second = item.data(kDetailRole).toString();
    QString number;
    if (facts != nullptr && facts->hasPicture) {
      if (!imageOf(*facts).isNull()) {
        paintPicture(painter, room, imageOf(*facts));
      } else {
        painter.setPen(colors[Token::faint]);
        painter.setFont(uiFont(12));
        painter.drawText(room.adjusted(16, 8, -16, -8), Qt::AlignCenter | Qt::TextWordWrap,
                         facts->size.nodes > 0 ? CardList::tr("Too large for a preview")
                                               : (facts->why.isEmpty() ? CardList::tr("Empty") : facts->why));
      }
      if (facts->size.gpus > 0) {
        second = counted(facts->size.gpus, CardList::tr("GPU"), CardList::tr("GPUs"));
        if (facts->size.boxes > 1) {
          second = facts->size.text + u" GPUs"_s;
        }
      }
    }
    if (facts != nullptr) {
      number = facts->bound;
    }
    const QRect words = card.adjusted(12, kCardPicture + 6, -12, -6);
    constexpr double kTitle = 12.5;
    constexpr double kSmall = 11.5;
    painter.setFont(uiFont(kTitle, QFont::DemiBold));
    painter.setPen(colors[Token::text]);
    const QRect first(words.left(), words.top(), words.width(), words.height() / 2);
    painter.drawText(first, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(item.text(), Qt::ElideMiddle, first.width()));
    const QRect below(words.left(), first.bottom(), words.width(), words.height() / 2);
    painter.setFont(uiFont(kSmall));
    painter.setPen(colors[Token::muted]);
    painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter, second);
    painter.setFont(figureFont(kSmall, QFont::Medium));
    painter.setPen(colors[Token::accent]);
    painter.drawText(below, Qt::AlignRight | Qt::AlignVCenter, number);
  }

  CardList* m_list;
};

}  // namespace

QString entryMimeType() {
  return u"application/x-coppice-palette-entry"_s;
}

CardList::CardList(CardLook look, CardLoader& loader, const QString& accessibleName, QWidget* parent)
    : QListWidget(parent), m_look(look), m_loader(loader), m_cell(sizeOf(look)) {
  setAccessibleName(accessibleName);
  setFrameShape(QFrame::NoFrame);
  setItemDelegate(new CardDelegate(this));
  setMouseTracking(true);
  setDropIndicatorShown(false);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setUniformItemSizes(true);
  setStyleSheet(u"QListView { background: transparent; } QListView::item { padding: 0; }"_s);
  if (look != CardLook::row) {
    setViewMode(QListView::IconMode);
    setFlow(QListView::LeftToRight);
    setWrapping(true);
    setResizeMode(QListView::Adjust);
    setMovement(QListView::Static);
    setSpacing(0);
    setGridSize(sizeOf(look));
  }
  if (look == CardLook::card) {
    // The gap behind the last card of a row is outside, so that the cards end where the list does.
    setViewportMargins(0, 0, -2 * kGap, 0);
  }
  setDragEnabled(look != CardLook::card);
  setDragDropMode(look != CardLook::card ? QAbstractItemView::DragOnly : QAbstractItemView::NoDragDrop);
  connect(this, &QListWidget::itemClicked, this, [this](const QListWidgetItem* item) { Q_EMIT chosen(idOf(*item)); });
  connect(&m_loader, &CardLoader::changed, viewport(), qOverload<>(&QWidget::update));
  connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

void CardList::setItems(const std::vector<Item>& items) {
  m_items = items;
  const QString current = currentItem() != nullptr ? idOf(*currentItem()) : QString();
  clear();
  for (const Item& entry : m_items) {
    auto* item = new QListWidgetItem(entry.title, this);
    item->setData(kIdRole, entry.id);
    item->setData(kDetailRole, entry.detail);
    item->setData(kKeyRole, entry.key);
    item->setData(Qt::AccessibleTextRole, entry.title);
    item->setData(Qt::AccessibleDescriptionRole, entry.tip);
    item->setToolTip(u"<p style='white-space:pre-wrap'>"_s + entry.tip.toHtmlEscaped() + u"</p>"_s);
    if (entry.id == current) {
      setCurrentItem(item);
    }
  }
  fit();
  if (isVisible()) {
    orderPictures();
  }
}

void CardList::orderPictures() {
  const QSize size = m_look == CardLook::card ? QSize(kCard.width() - 2 * kGap - 10, kCardPicture - 8) : kRowPicture;
  for (const Item& entry : m_items) {
    if (!entry.key.isEmpty() && entry.make) {
      m_loader.submit(entry.key, entry.make, size, devicePixelRatioF(), entry.withBound);
    }
  }
}

const CardFacts* CardList::factsOf(const QListWidgetItem& item) const {
  return m_loader.facts(item.data(kKeyRole).toString());
}

QString CardList::idOf(const QListWidgetItem& item) {
  return item.data(kIdRole).toString();
}

QListWidgetItem* CardList::itemOf(const QString& id) const {
  for (int row = 0; row < count(); ++row) {
    if (idOf(*item(row)) == id) {
      return item(row);
    }
  }
  return nullptr;
}

void CardList::fit() {
  m_cell = sizeOf(m_look);
  int height = count() * kRowHeight;
  if (m_look != CardLook::row) {
    const int columns = std::max(1, viewport()->width() / m_cell.width());
    m_cell.setWidth(std::max(m_cell.width(), (viewport()->width() - 1) / columns));
    setGridSize(m_cell);
    height = (count() + columns - 1) / columns * m_cell.height();
  }
  setFixedHeight(height + 2);
}

void CardList::resizeEvent(QResizeEvent* event) {
  QListWidget::resizeEvent(event);
  fit();
}

void CardList::showEvent(QShowEvent* event) {
  QListWidget::showEvent(event);
  orderPictures();
}

void CardList::keyPressEvent(QKeyEvent* event) {
  const bool isEnter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (isEnter && currentItem() != nullptr) {
    Q_EMIT entered(idOf(*currentItem()));
    return;
  }
  // Out of the list at its end, as if all lists were one.
  const int before = currentRow();
  QListWidget::keyPressEvent(event);
  if (currentRow() == before) {
    if (event->key() == Qt::Key_Down) {
      focusNextPrevChild(true);
    } else if (event->key() == Qt::Key_Up) {
      focusNextPrevChild(false);
    }
  }
}

void CardList::contextMenuEvent(QContextMenuEvent* event) {
  const QListWidgetItem* item = event->reason() == QContextMenuEvent::Mouse ? itemAt(event->pos()) : currentItem();
  if (item != nullptr) {
    Q_EMIT menuWanted(idOf(*item), event->globalPos());
  }
}

void CardList::wheelEvent(QWheelEvent* event) {
  // The area around scrolls.
  event->ignore();
}

QStringList CardList::mimeTypes() const {
  return {entryMimeType()};
}

QMimeData* CardList::mimeData(const QList<QListWidgetItem*>& items) const {
  auto* carried = new QMimeData;
  if (!items.isEmpty()) {
    carried->setData(entryMimeType(), idOf(*items.front()).toUtf8());
  }
  return carried;
}

void CardList::startDrag(Qt::DropActions) {
  QListWidgetItem* item = currentItem();
  if (item == nullptr) {
    return;
  }
  auto* drag = new QDrag(this);
  drag->setMimeData(mimeData({item}));
  const Colors& colors = Theme::instance().colors();
  QPixmap pixmap(kTile * devicePixelRatioF());
  pixmap.setDevicePixelRatio(devicePixelRatioF());
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  const CardFacts* facts = factsOf(*item);
  const QRect room({}, kTile);
  if (m_look == CardLook::tile) {
    paintShape(painter, room.center(), idOf(*item), colors);
  } else if (facts != nullptr && !imageOf(*facts).isNull()) {
    paintPicture(painter, room, imageOf(*facts));
  }
  painter.end();
  drag->setPixmap(pixmap);
  drag->setHotSpot(room.center());
  const QPointer<CardList> alive(this);
  drag->exec(Qt::CopyAction);
  if (alive && !viewport()->rect().contains(viewport()->mapFromGlobal(QCursor::pos()))) {
    // During a drag no event says that the pointer has left.
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(viewport(), &leave);
  }
}

}  // namespace coppice::designer
