// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/error_text.hpp"

#include <QCoreApplication>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <utility>

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct ErrorTexts {
  Q_DECLARE_TR_FUNCTIONS(Error)
};

QHash<QString, OptionName>& optionNames() {
  static QHash<QString, OptionName> names;
  return names;
}

/// The format is found by the content; where it is none of these, the window has no option that could name it.
QString withoutFormatOption(const QString& text) {
  static const QString kFormats = u"name the format: "_s;
  return text.startsWith(kFormats) ? ErrorTexts::tr("formats that are read: %1").arg(text.mid(kFormats.size())) : text;
}

/// Commands that messages name, and where the window has the same.
constexpr std::array kCommands{
    std::pair("baseline nccl without -o", QT_TRANSLATE_NOOP("Error", "Schedule > What Stock NCCL Would Do"))};

/// With a capital and a full stop. Names keep their case: "b0g0", "msccl", "k".
QString asSentence(QString text) {
  const qsizetype end =
      std::find_if(text.cbegin(), text.cend(), [](QChar each) { return !each.isLetterOrNumber() && each != u'_'; }) -
      text.cbegin();
  const QString word = text.left(end);
  const bool isWord = word.size() > 1 || word == u"a"_s;
  const bool isName =
      std::any_of(word.cbegin(), word.cend(), [](QChar each) { return !each.isLower(); }) || word.endsWith(u"ccl"_s);
  if (isWord && !isName) {
    text[0] = text[0].toUpper();
  }
  if (!text.isEmpty() && !u".?!…"_s.contains(text.back())) {
    text += u'.';
  }
  return text;
}

}  // namespace

void setOptionNames(QHash<QString, OptionName> names) {
  optionNames() = std::move(names);
}

QString inWordsOfTheWindow(QString text) {
  text = withoutFormatOption(text);
  for (const auto& [command, place] : kCommands) {
    text.replace(QLatin1String(command), ErrorTexts::tr(place));
  }
  // A verb before the option, and what the command line would have behind it.
  static const QRegularExpression kOption(
      u"(?:\\b(add|give|set|use|generate (?:it|this) (?:again )?with) )?--([a-z][a-z0-9-]*)(?: ([A-Z]{2,}|[A-Z]\\b))?"_s);
  qsizetype from = 0;
  for (QRegularExpressionMatch match = kOption.match(text); match.hasMatch(); match = kOption.match(text, from)) {
    const auto name = optionNames().constFind(match.captured(2));
    if (name == optionNames().cend()) {
      from = match.capturedEnd();
      continue;
    }
    const QString quoted = u'“' + name->title + u'”';
    const QString verb = match.captured(1);
    const QString said = verb.isEmpty()              ? quoted
                         : verb.startsWith(u"gener") ? verb + u' ' + quoted
                         : name->isFlag              ? ErrorTexts::tr("turn on %1").arg(quoted)
                                                     : ErrorTexts::tr("fill in %1").arg(quoted);
    text.replace(match.capturedStart(), match.capturedLength(), said);
    from = match.capturedStart() + said.size();
  }
  return text;
}

QString sentence(const Error& error) {
  QString text = asSentence(inWordsOfTheWindow(QString::fromStdString(error.message)));
  if (!error.fix.empty()) {
    text += u' ' + asSentence(inWordsOfTheWindow(QString::fromStdString(error.fix)));
  }
  return text;
}

QString sentence(const Finding& finding) {
  return sentence(Error{finding.code, finding.text, finding.fix});
}

QString errorText(const Error& error) {
  // The place alone, with its colon.
  return inWordsOfTheWindow(QString::fromStdString(describe(Error{error.code, {}, {}, error.where}))) + sentence(error);
}

}  // namespace coppice::designer
