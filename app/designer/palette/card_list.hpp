// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QListWidget>
#include <vector>

#include "designer/palette/card_loader.hpp"

namespace coppice::designer {

/// What a drag out of a list carries: the id of the entry, UTF-8.
[[nodiscard]] QString entryMimeType();

enum class CardLook {
  tile,  ///< a device: its shape over its name
  row,   ///< a template: small picture, name, size at the right
  card   ///< a fabric on the start page: picture over name and numbers
};

/// Things to click, drag or press Enter on, as tiles, rows or cards. As high as what is in it.
class CardList : public QListWidget {
  Q_OBJECT

public:
  struct Item {
    QString id;
    QString title;
    QString detail = {};  ///< cards: the second line, before size and bound
    QString tip = {};
    QString key = {};            ///< for the loader; empty = no picture
    CardLoader::Make make = {};  ///< of the picture
    bool withBound = false;
  };

  /// The loader must outlive the list. @param accessibleName of the list
  CardList(CardLook look, CardLoader& loader, const QString& accessibleName, QWidget* parent = nullptr);

  void setItems(const std::vector<Item>& items);
  [[nodiscard]] CardLook look() const { return m_look; }
  [[nodiscard]] QSize cell() const { return m_cell; }
  [[nodiscard]] const CardFacts* factsOf(const QListWidgetItem& item) const;
  [[nodiscard]] static QString idOf(const QListWidgetItem& item);
  [[nodiscard]] QListWidgetItem* itemOf(const QString& id) const;

Q_SIGNALS:
  /// Clicked.
  void chosen(const QString& id);
  /// Enter.
  void entered(const QString& id);
  void menuWanted(const QString& id, const QPoint& globalPlace);

protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  QStringList mimeTypes() const override;
  QMimeData* mimeData(const QList<QListWidgetItem*>& items) const override;
  void startDrag(Qt::DropActions actions) override;

private:
  /// Cells share the width evenly.
  void fit();
  void orderPictures();

  CardLook m_look;
  CardLoader& m_loader;
  std::vector<Item> m_items;
  QSize m_cell;
};

}  // namespace coppice::designer
