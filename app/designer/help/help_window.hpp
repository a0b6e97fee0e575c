// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHash>
#include <QLineEdit>
#include <QListWidget>
#include <QTextBrowser>
#include <QToolButton>
#include <QUrl>
#include <QWidget>
#include <vector>

namespace coppice::designer {

/// A page of the help, with pictures that the canvas draws in the colours of the present theme.
class HelpPage : public QTextBrowser {
  Q_OBJECT

public:
  explicit HelpPage(QWidget* parent = nullptr);

  /// Markdown of the help.
  void setPage(const QString& markdown);
  /// Brings the heading with that anchor to the top; empty = the beginning.
  void goTo(const QString& anchor);

protected:
  QVariant loadResource(int type, const QUrl& name) override;

private:
  void style();
};

/// The help: topics and search on the left, a page on the right. Needs no network.
class HelpWindow : public QWidget {
  Q_OBJECT

public:
  explicit HelpWindow(QWidget* parent = nullptr);

  /// Shows the topic, and the section if there is one; an unknown topic shows the beginning.
  void showTopic(const QString& id, const QString& anchor = {});
  [[nodiscard]] QString topic() const { return m_here.topic; }
  [[nodiscard]] QString anchor() const { return m_here.anchor; }

protected:
  void keyPressEvent(QKeyEvent* event) override;

private:
  struct Place {
    QString topic;
    QString anchor;
  };
  void follow(const QUrl& link);
  void visit(const Place& place);
  void step(std::vector<Place>& from, std::vector<Place>& to);
  void fillList();
  void updateButtons();

  QLineEdit* m_search;
  QListWidget* m_list;
  HelpPage* m_page;
  QToolButton* m_back;
  QToolButton* m_forward;
  Place m_here;
  std::vector<Place> m_past;
  std::vector<Place> m_future;
};

}  // namespace coppice::designer
