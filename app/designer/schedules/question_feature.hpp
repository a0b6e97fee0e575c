// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>

#include "designer/schedules/question_panel.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// A question panel as a dock of Analyse mode. What it lays over the drawing takes the place of the cut, which comes
/// back when there is nothing more to show.
class QuestionFeature : public Feature {
  Q_OBJECT

protected:
  QuestionFeature(const FeatureHost& host, const QString& id, const QString& title, QuestionPanel* panel);

private:
  void show(Overlay marks);

  QPointer<EditorContext> m_marked;
};

}  // namespace coppice::designer
