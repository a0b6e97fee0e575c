// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractButton>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QString>
#include <QVBoxLayout>
#include <QWidget>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "workflow/options.hpp"

namespace coppice::designer {

/// A field for each option of a method, made from what the method declares: under the headings of their groups, as one
/// choice where a group is one.
class OptionForm : public QWidget {
  Q_OBJECT

public:
  explicit OptionForm(const std::vector<workflow::Option>& options, QWidget* parent = nullptr);

  /// What differs from the defaults, of the options that apply to the collective.
  [[nodiscard]] workflow::Values values() const;
  /// Options that are not named get their defaults. Does not emit changed().
  void setValues(const workflow::Values& values);
  /// Hides what does not apply to it.
  void setCollective(Collective collective);
  /// A flag that makes no sense now is off. @param why tool tip; empty = that of the option
  void setAvailable(const std::string& option, bool isAvailable, const QString& why);
  /// What an empty field of text shows.
  void setExample(const std::string& option, const QString& example);
  /// Puts a widget below the fields of a group. The form owns it.
  void addBelow(const std::string& group, QWidget* widget);
  /// No value has a fault; the first fault is shown.
  [[nodiscard]] bool isValid() const { return m_fault->isHidden(); }

Q_SIGNALS:
  void changed();

protected:
  /// What is pointed at, or edited, is explained.
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  struct Field {
    workflow::Option option;
    QAbstractButton* isSet = nullptr;  ///< a box for a number without a default, or a radio button of a choice
    QWidget* left = nullptr;           ///< what stands before the editor; nullptr for a flag
    QWidget* row = nullptr;
    QWidget* editor = nullptr;
    QPushButton* browse = nullptr;  ///< of a file
  };
  struct Group {
    std::string name;
    QVBoxLayout* layout = nullptr;
    QLabel* heading = nullptr;
    QAbstractButton* otherwise = nullptr;  ///< of a choice
  };

  Group& groupOf(const workflow::Option& option);
  void addField(const workflow::Option& option);
  /// Fields of numbers in a group are equally wide: they stand in a column at the right.
  void alignWithGroup(QSpinBox& added, const std::string& group);
  [[nodiscard]] QWidget* makeEditor(const workflow::Option& option);
  [[nodiscard]] static std::string textOf(const Field& field);
  void fill(const Field& field, const QString& value);
  void updateFields();
  void tell();

  std::vector<Field> m_fields;
  std::vector<Group> m_groups;
  QVBoxLayout* m_layout;
  QLabel* m_help;
  QLabel* m_fault;
  Collective m_collective = Collective::allgather;
  bool m_isFilling = false;
};

}  // namespace coppice::designer
