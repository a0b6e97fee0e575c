// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/error_text.hpp"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

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

QString sentence(const Error& error) {
  QString text = asSentence(QString::fromStdString(error.message));
  if (!error.fix.empty()) {
    text += u' ' + asSentence(QString::fromStdString(error.fix));
  }
  return text;
}

QString sentence(const Finding& finding) {
  return sentence(Error{finding.code, finding.text, finding.fix});
}

QString errorText(const Error& error) {
  // The place alone, with its colon.
  return QString::fromStdString(describe(Error{error.code, {}, {}, error.where})) + sentence(error);
}

}  // namespace coppice::designer
