// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>

namespace coppice::designer {

/// Version, what the program is made of, and the texts of the licences.
class AboutDialog : public QDialog {
  Q_OBJECT

public:
  explicit AboutDialog(QWidget* parent = nullptr);
};

}  // namespace coppice::designer
