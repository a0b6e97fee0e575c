// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractItemModel>

#include "designer/document/document.hpp"
#include "designer/models/element_table_model.hpp"

namespace coppice::designer {

/// Boxes and nodes as a tree: in each box its boxes, then its nodes, both in the order of the file. Names can be
/// edited. Rebuilt when elements come, go or change their box; a view that wants to keep what was open asks for
/// kElementRole before and indexOf() after.
class OutlineModel : public QAbstractItemModel {
  Q_OBJECT

public:
  enum Column { kName, kDetail, kColumns };

  explicit OutlineModel(Document& document, QObject* parent = nullptr);

  [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  [[nodiscard]] QModelIndex parent(const QModelIndex& index) const override;
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;

  [[nodiscard]] ElementId elementAt(const QModelIndex& index) const;
  [[nodiscard]] QModelIndex indexOf(const ElementId& id, int column = kName) const;

Q_SIGNALS:
  void refused(const QString& why);

private:
  [[nodiscard]] QString detailOf(const ElementId& id) const;
  void follow(const ChangeEvent& event);

  Document& m_document;
};

}  // namespace coppice::designer
