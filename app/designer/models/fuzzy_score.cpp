// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/models/fuzzy_score.hpp"

namespace coppice::designer {

int fuzzyScore(const QString& typed, const QString& title) {
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

}  // namespace coppice::designer
