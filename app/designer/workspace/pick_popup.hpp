// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>

namespace coppice::designer {

/// A popup with a line to type in and a list of what fits: Up and Down choose, Enter or a click takes. It goes when it
/// is closed.
class PickPopup : public QDialog {
  Q_OBJECT

public:
  struct Words {
    QString name;         ///< of the object
    QString placeholder;  ///< of the line
    QString line;         ///< for screen readers
    QString list;
    QString nothing;  ///< instead of the list, where nothing matches
  };
  PickPopup(const Words& words, const QSize& size, QWidget* parent);

protected:
  [[nodiscard]] QListWidget& list() { return *m_list; }
  /// Puts into the empty list what fits.
  virtual void fill(const QString& typed) = 0;
  /// With the current item. @pre there is one
  virtual void take(const QListWidgetItem& item) = 0;
  /// For the constructor of what is derived: fills the list for the first time.
  void start();
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void refill(const QString& typed);
  void takeCurrent();

  QString m_nothing;
  QLineEdit* m_input;
  QListWidget* m_list;
};

}  // namespace coppice::designer
