// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <functional>
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
  void start(std::vector<TourStep> steps, const QString& leave);
  /// Cut, reason, schedule and proof of a fabric, as a tour of four steps.
  void explain(EditorContext& context);
  using Enter = std::function<void()>;
  [[nodiscard]] Enter showIn(EditorContext& context, Mode mode);
  [[nodiscard]] Enter showDock(const QString& name, const Enter& before);
  /// Schedule mode, with a schedule.
  [[nodiscard]] Enter generate(EditorContext& context);
  [[nodiscard]] Enter play(const Enter& generated);
  /// A fabric to play with; nullptr where it cannot be made.
  EditorContext* openExample();
  [[nodiscard]] std::vector<TourStep> stepsOn(EditorContext& example);
  [[nodiscard]] QWidget* currentCanvas() const;

  bool m_keepsSettings;
  QPointer<HelpWindow> m_help;
  QPointer<Tour> m_tour;
};

}  // namespace coppice::designer
