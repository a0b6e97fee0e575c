// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QWidget>
#include <vector>

#include "designer/palette/card_list.hpp"
#include "designer/palette/template_store.hpp"

namespace coppice::designer {

/// The dock of devices and templates, with a search field over them.
class PalettePanel : public QWidget {
  Q_OBJECT

public:
  /// Both must outlive the panel.
  PalettePanel(CardLoader& loader, TemplateStore& store, QWidget* parent = nullptr);

  /// Device, template or own template of that id; nullptr if there is none.
  [[nodiscard]] const PaletteEntry* find(const QString& id) const;
  void focusSearch();

Q_SIGNALS:
  /// Clicked: the next click on the canvas says where a device goes; a template asks for its parameters.
  void chosen(const coppice::designer::PaletteEntry& entry);
  /// Enter: in the middle of the view, at once; `count` of them where that number was typed before the name ("4 gpu").
  void entered(const coppice::designer::PaletteEntry& entry, int count);
  void saveSelectionWanted();

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  struct Section {
    QLabel* heading;
    CardList* list;
    QString group;
  };

  void fill();
  void addSection(const QString& group, CardLook look);
  [[nodiscard]] std::vector<const PaletteEntry*> entriesOf(const QString& group) const;
  /// How well the entry fits what was typed, with or without the number before it; negative: it does not.
  [[nodiscard]] int scoreOf(const PaletteEntry& entry) const;
  void showMenu(const QString& id, const QPoint& place);

  CardLoader& m_loader;
  TemplateStore& m_store;
  QLineEdit* m_search;
  QWidget* m_body;
  QLabel* m_nothing;
  QPushButton* m_save;
  std::vector<Section> m_sections;
};

}  // namespace coppice::designer
