// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <functional>
#include <string>

#include "designer/document/edits.hpp"

class QLabel;
class QLineEdit;
class QPlainTextEdit;

/// Small editors that open on the canvas, where the thing is. Esc closes them and changes nothing.
namespace coppice::designer {

class Popup : public QFrame {
  Q_OBJECT

public:
  explicit Popup(QWidget* parent);

protected:
  void keyPressEvent(QKeyEvent* event) override;
  /// Gives the focus back to the canvas and goes.
  void finish();
};

/// "400Gb/s" → "= 50 GB/s per direction", as it is typed; Enter takes it where it can be read.
class BandwidthPopup : public Popup {
  Q_OBJECT

public:
  BandwidthPopup(const QString& initial, std::function<void(const std::string&)> done, QWidget* parent);

private:
  void check();
  void take();

  QLineEdit* m_field;
  QLabel* m_meaning;
  std::function<void(const std::string&)> m_done;
};

/// A name, checked as it is typed.
class NamePopup : public Popup {
  Q_OBJECT

public:
  NamePopup(const QString& initial, std::function<QString(const QString&)> fault,
            std::function<void(const QString&)> done, QWidget* parent);

protected:
  bool eventFilter(QObject* object, QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

private:
  void take();

  QLineEdit* m_field;
  QLabel* m_wrong;
  QString m_initial;
  bool m_isDone = false;
  std::function<QString(const QString&)> m_fault;
  std::function<void(const QString&)> m_taken;
};

/// How two sets of nodes are to be linked.
class PatternPopup : public Popup {
  Q_OBJECT

public:
  PatternPopup(std::function<void(edits::LinkPattern)> done, QWidget* parent);

private:
  std::function<void(edits::LinkPattern)> m_done;
};

/// Ctrl+Enter, or a click elsewhere, takes the text.
class TextPopup : public Popup {
  Q_OBJECT

public:
  TextPopup(const QString& initial, std::function<void(const QString&)> done, QWidget* parent);
  ~TextPopup() override;

protected:
  bool eventFilter(QObject* object, QEvent* event) override;

private:
  QPlainTextEdit* m_field;
  QString m_initial;
  bool m_isDropped = false;
  std::function<void(const QString&)> m_done;
};

}  // namespace coppice::designer
