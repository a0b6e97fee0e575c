// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

namespace coppice::designer {

/// A part of a topic below one heading.
struct HelpSection {
  QString heading;  ///< empty for what is before the first one
  QString anchor;   ///< of links: "tied-cuts"; empty as the heading
  QString text;     ///< Markdown, without the heading
};

/// One page: resources/help/ID.md or, of the manual, resources/doc/ID.md.
struct HelpTopic {
  QString id;
  QString title;
  QStringList keywords;
  QString text;  ///< Markdown, with the title
  std::vector<HelpSection> sections;
};

struct HelpHit {
  QString topic;
  QString anchor;
  QString title;    ///< "Glossary: Cut"
  QString excerpt;  ///< plain text about the first word that was found
  int score = 0;
};

/// All of the help, from the program's resources.
class HelpBook {
public:
  static const HelpBook& instance();

  /// In the order in which a reader meets them.
  [[nodiscard]] const std::vector<HelpTopic>& topics() const { return m_topics; }
  /// nullptr if there is none.
  [[nodiscard]] const HelpTopic* find(const QString& id) const;
  /// Sections in which every word of the query occurs (parts of words count), the best first.
  [[nodiscard]] std::vector<HelpHit> search(const QString& query) const;

  /// "B⁺(S)" → "b-s"
  [[nodiscard]] static QString anchorOf(const QString& heading);

private:
  HelpBook();
  std::vector<HelpTopic> m_topics;
};

}  // namespace coppice::designer
