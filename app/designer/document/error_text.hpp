// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHash>
#include <QString>

#include "base/result.hpp"

namespace coppice::designer {

/// How the window calls an option of the command line: the label of its field, and whether it is a tick box.
struct OptionName {
  QString title;
  bool isFlag = false;
};
/// By the option's name without dashes. What the core says of an option, the window says of its field from now on.
void setOptionNames(QHash<QString, OptionName> names);
/// "Turn on “Through switches” to split …" for "add --through-switches to split …".
[[nodiscard]] QString inWordsOfTheWindow(QString text);

/// "Rank 9 does not exist. The fabric has ranks 0 to 7.": message and fix as sentences, for a label. Names keep their
/// case: "b0g0", "msccl", "k".
[[nodiscard]] QString sentence(const Error& error);
[[nodiscard]] QString sentence(const Finding& finding);

/// As sentence(), after the place where there is one: "a.fabric.json:3:7: Key \"id\" is missing. Add \"id\"."
[[nodiscard]] QString errorText(const Error& error);

}  // namespace coppice::designer
