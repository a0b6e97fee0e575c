// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTranslator>

namespace coppice::designer {

/// Makes English of texts that hold a count: tr("%n link(s)", nullptr, n) reads "1 link" and "3 links". Knows "(s)"
/// alone; texts without it stay as they are. Needs no table of texts, so no text can be missing from one.
class Plurals : public QTranslator {
  Q_OBJECT

public:
  using QTranslator::QTranslator;

  [[nodiscard]] QString translate(const char* context, const char* source, const char* disambiguation = nullptr,
                                  int n = -1) const override;
  [[nodiscard]] bool isEmpty() const override { return false; }
};

}  // namespace coppice::designer
