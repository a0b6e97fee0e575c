// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <vector>

#include "designer/help/help_window.hpp"
#include "designer/help/tour.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// What explains the program: help, tour, about.
class HelpFeature : public Feature {
  Q_OBJECT

public:
  explicit HelpFeature(const FeatureHost& host);
  /// Starts the tour, unless it was ever started before.
  void offerTour();

private:
  void showHelp(const QString& topic);
  /// About what has the keyboard.
  [[nodiscard]] QString topicHere() const;
  void startTour();
  /// A fabric to play with; nullptr where it cannot be made.
  EditorContext* openExample();
  [[nodiscard]] std::vector<TourStep> stepsOn(EditorContext& example);
  [[nodiscard]] QWidget* currentCanvas() const;

  bool m_keepsSettings;
  QPointer<HelpWindow> m_help;
  QPointer<Tour> m_tour;
};

}  // namespace coppice::designer
