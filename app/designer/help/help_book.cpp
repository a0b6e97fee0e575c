// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/help/help_book.hpp"

#include <QFile>
#include <QRegularExpression>
#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

// Resources of a static library have to be asked for, outside any namespace.
static void initHelp() {
  Q_INIT_RESOURCE(help);
}

namespace coppice::designer {
namespace {

// Pages of the help, then those of the manual (resources/doc).
constexpr std::array kOrder = {
    "start",    "draw",        "devices",        "linking",      "boxes",        "properties",    "nodes",
    "outline",  "find",        "minimap",        "history",      "files",        "topologies",    "prices",
    "bound",    "problems",    "analyse",        "upgrades",     "damage",       "what-if",       "groups",
    "exchange", "placement",   "training",       "schedules",    "synthesize",   "trees",         "transfers",
    "loads",    "charts",      "compare",        "side-by-side", "timeline",     "measured",      "traffic",
    "program",  "sketch",      "export",         "run",          "pictures",     "commands",      "glossary",
    "designer", "quickstart",  "command-line",   "running",      "fabric-files", "exact-results", "in-network",
    "python",   "performance", "published-runs", "building"};

HelpTopic readTopic(const QString& id) {
  HelpTopic topic;
  topic.id = id;
  QFile file(u":/help/"_s + id + u".md"_s);
  if (!file.open(QIODevice::ReadOnly)) {
    return topic;
  }
  HelpSection section;
  const QStringList lines = QString::fromUtf8(file.readAll()).split(u'\n');
  static const QRegularExpression kKeywords(u"^<!-- keywords: (.*) -->$"_s);
  // A picture of the help in a page that is also read outside the program.
  static const QRegularExpression kPicture(u"^<!-- picture: (\\S+) (.*) -->$"_s);
  // A screenshot, which the program does not carry.
  static const QRegularExpression kFile(u"^!\\[[^\\]]*\\]\\((?!picture:)[^)]*\\)$"_s);
  for (QString line : lines) {
    line.replace(kPicture, u"![\\2](picture:\\1)"_s);
    if (kFile.match(line).hasMatch()) {
      continue;
    }
    if (const auto match = kKeywords.match(line); match.hasMatch()) {
      topic.keywords = match.captured(1).split(u' ', Qt::SkipEmptyParts);
      continue;
    }
    topic.text += line + u'\n';
    if (line.startsWith(u"# "_s)) {
      topic.title = line.mid(2);
    } else if (line.startsWith(u"## "_s)) {
      topic.sections.push_back(section);
      section = {line.mid(3), HelpBook::anchorOf(line.mid(3)), {}};
    } else {
      section.text += line + u'\n';
    }
  }
  topic.sections.push_back(section);
  return topic;
}

/// Without the marks of Markdown.
QString plain(QString text) {
  static const QRegularExpression kImage(u"!\\[([^\\]]*)\\]\\([^)]*\\)"_s);
  static const QRegularExpression kLink(u"\\[([^\\]]*)\\]\\([^)]*\\)"_s);
  static const QRegularExpression kMarks(u"[*`#]|^- "_s, QRegularExpression::MultilineOption);
  return text.replace(kImage, u"\\1"_s).replace(kLink, u"\\1"_s).remove(kMarks).simplified();
}

QString excerptOf(const QString& text, const QString& word) {
  constexpr qsizetype kLength = 90;
  constexpr qsizetype kBefore = 30;
  const qsizetype at = std::max<qsizetype>(0, text.indexOf(word, 0, Qt::CaseInsensitive));
  qsizetype from = at < kBefore ? 0 : text.lastIndexOf(u' ', at - kBefore) + 1;
  qsizetype to = text.indexOf(u' ', std::min(text.size(), from + kLength));
  to = to < 0 ? text.size() : to;
  return (from > 0 ? u"…"_s : QString()) + text.mid(from, to - from) + (to < text.size() ? u"…"_s : QString());
}

}  // namespace

HelpBook::HelpBook() {
  initHelp();
  for (const char* id : kOrder) {
    HelpTopic topic = readTopic(QLatin1String(id));
    if (!topic.title.isEmpty()) {
      m_topics.push_back(std::move(topic));
    }
  }
}

const HelpBook& HelpBook::instance() {
  static const HelpBook kBook;
  return kBook;
}

const HelpTopic* HelpBook::find(const QString& id) const {
  const auto found = std::find_if(m_topics.begin(), m_topics.end(), [&](const HelpTopic& t) { return t.id == id; });
  return found != m_topics.end() ? &*found : nullptr;
}

QString HelpBook::anchorOf(const QString& heading) {
  QString anchor;
  for (const QChar c : heading.toLower()) {
    if (c.unicode() < 128 && c.isLetterOrNumber()) {
      anchor += c;
    } else if (!anchor.isEmpty() && !anchor.endsWith(u'-')) {
      anchor += u'-';
    }
  }
  while (anchor.endsWith(u'-')) {
    anchor.chop(1);
  }
  return anchor;
}

std::vector<HelpHit> HelpBook::search(const QString& query) const {
  constexpr int kTitle = 16;
  constexpr int kHeading = 24;
  constexpr int kKeyword = 6;
  constexpr int kMaxForText = 5;
  const QStringList words = query.toLower().split(u' ', Qt::SkipEmptyParts);
  std::vector<HelpHit> hits;
  if (words.isEmpty()) {
    return hits;
  }
  for (const HelpTopic& topic : m_topics) {
    // Words of a glossary stand for themselves; of any other page the best section is enough.
    const bool isGlossary = topic.id == u"glossary"_s;
    HelpHit best;
    for (const HelpSection& section : topic.sections) {
      const QString text = plain(section.text);
      int score = 0;
      const bool hasAll = std::all_of(words.begin(), words.end(), [&](const QString& word) {
        const bool isAbout = !isGlossary || section.heading.isEmpty();
        const bool isStart = section.heading.startsWith(word, Qt::CaseInsensitive);
        const int found =
            (isAbout && topic.title.contains(word, Qt::CaseInsensitive) ? kTitle : 0) +
            (section.heading.contains(word, Qt::CaseInsensitive) ? kHeading + (isStart ? kHeading : 0) : 0) +
            (isAbout && topic.keywords.contains(word, Qt::CaseInsensitive) ? kKeyword : 0) +
            std::min(kMaxForText, static_cast<int>(text.count(word, Qt::CaseInsensitive)));
        score += found;
        return found > 0;
      });
      if (!hasAll) {
        continue;
      }
      HelpHit hit{topic.id, section.anchor,
                  section.heading.isEmpty() ? topic.title : topic.title + u": "_s + section.heading,
                  excerptOf(text, words.front()), score};
      if (isGlossary) {
        hits.push_back(std::move(hit));
      } else if (hit.score > best.score) {
        best = std::move(hit);
      }
    }
    if (best.score > 0) {
      hits.push_back(std::move(best));
    }
  }
  std::stable_sort(hits.begin(), hits.end(), [](const HelpHit& a, const HelpHit& b) { return a.score > b.score; });
  return hits;
}

}  // namespace coppice::designer
