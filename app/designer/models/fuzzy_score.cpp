// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/models/fuzzy_score.hpp"

#include <QStringList>

namespace coppice::designer {
namespace {

int scoreInOrder(const QString& typed, const QString& title) {
  constexpr int kWordStart = 8;
  constexpr int kInARow = 5;
  int score = 0;
  qsizetype at = 0;
  qsizetype last = -2;
  for (const QChar wanted : typed.toLower()) {
    if (wanted.isSpace()) {
      continue;
    }
    // A letter that begins a word is meant rather than one in the middle.
    qsizetype found = -1;
    for (qsizetype i = at; i < title.size(); ++i) {
      if (title[i].toLower() == wanted) {
        const bool isStart = i == 0 || !title[i - 1].isLetterOrNumber();
        if (found < 0) {
          found = i;
        }
        if (isStart || i == last + 1) {
          found = i;
          break;
        }
      }
    }
    if (found < 0) {
      return -1;
    }
    score += found == last + 1 ? kInARow : 0;
    score += found == 0 || !title[found - 1].isLetterOrNumber() ? kWordStart : 0;
    last = found;
    at = found + 1;
  }
  return score;
}

}  // namespace

int fuzzyScore(const QString& typed, const QString& title) {
  const int inOrder = scoreInOrder(typed, title);
  const QStringList words = typed.split(u' ', Qt::SkipEmptyParts);
  if (inOrder >= 0 || words.size() < 2) {
    return inOrder;
  }
  int sum = 0;
  for (const QString& word : words) {
    const int score = scoreInOrder(word, title);
    if (score < 0) {
      return -1;
    }
    sum += score;
  }
  // Below what has them in the order in which they were typed.
  return sum / 2;
}

}  // namespace coppice::designer
