// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QScrollArea>
#include <vector>

#include "designer/export/export_check.hpp"

namespace coppice::designer {

/// The lines of a checklist: mark, name, value, limit, a sentence, and buttons that fix it. The colour of the mark is
/// said by its shape and in words too.
class CheckList : public QScrollArea {
  Q_OBJECT

public:
  explicit CheckList(QWidget* parent = nullptr);

  void setRows(const std::vector<CheckRow>& rows);
  [[nodiscard]] const std::vector<CheckRow>& rows() const { return m_rows; }
  /// While newer rows are being found.
  void setStale(bool isStale);

Q_SIGNALS:
  void fixWanted(const coppice::designer::CheckFix& fix);

protected:
  void resizeEvent(QResizeEvent* event) override;

private:
  void build();

  std::vector<CheckRow> m_rows;
  bool m_isNarrow = false;
};

}  // namespace coppice::designer
