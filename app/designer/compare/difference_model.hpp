// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <vector>

#include "simulate/difference.hpp"

namespace coppice::designer {

/// Two runs, A and B, side by side: one row for each direction of a link, or for each GPU.
class DifferenceModel : public QAbstractTableModel {
  Q_OBJECT

public:
  enum class Kind { links, gpus };
  /// Of links: bytes, and the time during which something crosses it. Of GPUs: what it sends, and when it has all.
  enum Column { kName, kBytesA, kBytesB, kTimeA, kTimeB, kDifference, kColumns };
  static constexpr int kSortRole = Qt::UserRole + 30;   ///< double, or the name
  static constexpr int kShareRole = Qt::UserRole + 31;  ///< double, -1 to 1: the difference against the largest

  using QAbstractTableModel::QAbstractTableModel;

  void setDifferences(std::vector<simulate::LinkDifference> links, std::vector<simulate::RankDifference> gpus);
  void setKind(Kind kind);
  [[nodiscard]] Kind kind() const { return m_kind; }
  /// Names of the ends of a link; of a GPU its name and nothing.
  [[nodiscard]] std::pair<QString, QString> endsAt(int row) const;
  /// What the table shows, with a head line; bytes and microseconds.
  [[nodiscard]] QString csv() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
  struct Numbers {
    double bytesA = 0;
    double bytesB = 0;
    Microseconds timeA{};
    Microseconds timeB{};
  };
  [[nodiscard]] Numbers numbersAt(int row) const;
  [[nodiscard]] double valueAt(int row, int column) const;
  [[nodiscard]] QString nameAt(int row) const;
  [[nodiscard]] QString textAt(int row, int column) const;
  [[nodiscard]] QString toolTipAt(int row) const;

  Kind m_kind = Kind::links;
  std::vector<simulate::LinkDifference> m_links;
  std::vector<simulate::RankDifference> m_gpus;
  double m_max = 0;  ///< us: the largest difference of this kind
};

}  // namespace coppice::designer
