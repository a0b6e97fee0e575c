// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QWidget>
#include <vector>

#include "workflow/options.hpp"

namespace coppice::designer {

/// A field for each option of a method, made from what the method declares.
class OptionForm : public QWidget {
  Q_OBJECT

public:
  explicit OptionForm(const std::vector<workflow::Option>& options, QWidget* parent = nullptr);

  /// What differs from the defaults.
  [[nodiscard]] workflow::Values values() const;
  /// Options that are not named get their defaults. Does not emit changed().
  void setValues(const workflow::Values& values);

Q_SIGNALS:
  void changed();

private:
  struct Field {
    workflow::Option option;
    QCheckBox* isSet = nullptr;  ///< of a number without a default
    QWidget* editor = nullptr;
  };

  void addField(const workflow::Option& option);
  [[nodiscard]] static std::string valueOf(const Field& field);
  void tell();

  std::vector<Field> m_fields;
  bool m_isFilling = false;
};

}  // namespace coppice::designer
