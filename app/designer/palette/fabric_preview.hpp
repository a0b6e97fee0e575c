// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QTimer>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "designer/jobs/latest_job.hpp"
#include "designer/palette/card_loader.hpp"
#include "designer/palette/entries.hpp"
#include "designer/palette/fabric_picture.hpp"

namespace coppice::designer {

/// Picture, size and bound of a fabric that does not exist yet: made on another thread and shown when it is known.
class FabricPreview : public QWidget {
  Q_OBJECT

public:
  using Make = std::function<Result<Model>(std::stop_token)>;

  /// @param prefix of the object names: "templatePicture", "templateSize", "templateBound" for "template"
  explicit FabricPreview(const QString& prefix, QWidget* parent = nullptr);
  ~FabricPreview() override;

  /// Shows what `make` gives, after a pause in which no other order comes. The one before is greyed until then.
  void submit(Make make);
  /// Ends the pause.
  void startNow();
  /// An order is not answered yet.
  [[nodiscard]] bool isWorking() const { return m_isWorking; }
  /// The answer to the last order; nullptr until it is known, or where it is an error.
  [[nodiscard]] std::shared_ptr<const Model> model() const;
  /// Why there is no model; nullptr: there is one, or nothing is known yet.
  [[nodiscard]] const Error* error() const;

Q_SIGNALS:
  /// The last order is answered: model() or error(). The bound follows later.
  void ready();

protected:
  void changeEvent(QEvent* event) override;

private:
  struct Answer {
    std::uint64_t number = 0;
    std::shared_ptr<const Model> model;
    Error error;
    FabricPicture picture;
    FabricSize size;
  };
  void start();
  void receive(std::shared_ptr<const Answer> answer);
  void receiveBound(const CardFacts& facts);
  void showPicture();

  QLabel* m_picture;
  QLabel* m_size;
  QLabel* m_bound;
  QTimer m_timer;
  Make m_make;
  std::uint64_t m_number = 0;
  bool m_isWorking = false;
  std::shared_ptr<const Answer> m_answer;
  LatestJob<std::shared_ptr<const Answer>> m_job;
  LatestJob<std::shared_ptr<const CardFacts>> m_boundJob;
};

}  // namespace coppice::designer
