// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QWidget>
#include <map>
#include <string>
#include <vector>

#include "presets/arguments.hpp"

class QFormLayout;

namespace coppice::designer {

/// What the parameters of a preset accept; empty for none.
[[nodiscard]] std::vector<presets::Rule> parameterRules(const std::string& preset);
/// "boxes_per_leaf" → "Boxes per leaf".
[[nodiscard]] QString parameterTitle(const presets::Rule& rule);

/// The parameters of a preset as fields that fit what they accept. Those without effect under the present choices are
/// not shown.
class ParameterForm : public QWidget {
  Q_OBJECT

public:
  using Arguments = std::map<std::string, std::string>;

  ParameterForm(const QString& preset, const Arguments& initial, QWidget* parent = nullptr);

  /// What differs from the defaults and is in use.
  [[nodiscard]] Arguments arguments() const;
  [[nodiscard]] bool isEmpty() const { return m_fields.empty(); }
  /// Shows what is wrong under the field that it is about; returns false if there is no such field.
  bool setFault(const QString& parameter, const QString& text);
  void clearFaults();

Q_SIGNALS:
  void changed();

private:
  struct Field {
    presets::Rule rule;
    QWidget* editor = nullptr;
    QWidget* row = nullptr;
    QLabel* label = nullptr;
    QLabel* fault = nullptr;
  };

  QWidget* makeEditor(const presets::Rule& rule, const QString& value);
  /// Quick choices for a number.
  QWidget* withChips(QWidget* spin, const presets::Rule& rule);
  [[nodiscard]] std::string valueOf(const Field& field) const;
  [[nodiscard]] const Field* fieldNamed(const std::string& name) const;
  [[nodiscard]] bool isInUse(const presets::Rule& rule) const;
  void refresh();

  std::vector<Field> m_fields;
};

}  // namespace coppice::designer
