// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "designer/models/element_table_model.hpp"

namespace coppice::designer {

/// The links as a table that can be edited: each cell one command.
class LinkTableModel : public ElementTableModel<Link> {
  Q_OBJECT

public:
  enum Column { kTail, kDirection, kHead, kBandwidth, kCount, kTotal, kLatency, kColumns };

  explicit LinkTableModel(Document& document, QObject* parent = nullptr);

  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;

Q_SIGNALS:
  /// An entry was refused; the text says why.
  void refused(const QString& why);

protected:
  [[nodiscard]] bool touchesAll(const ChangeEvent& event) const override;
};

}  // namespace coppice::designer
