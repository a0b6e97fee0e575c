// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>
#include <vector>

namespace coppice::designer {

class EditorContext;

/// What the tabs say: the name, the folder where two names are the same, "read-only", and a dot for unsaved changes.
[[nodiscard]] QStringList tabTitles(const std::vector<EditorContext*>& editors);

}  // namespace coppice::designer
