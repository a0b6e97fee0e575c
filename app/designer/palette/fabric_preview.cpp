// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/fabric_preview.hpp"

#include <QEvent>
#include <QVBoxLayout>
#include <chrono>
#include <exception>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr QSize kPicture(400, 300);

}  // namespace

FabricPreview::FabricPreview(const QString& prefix, QWidget* parent)
    : QWidget(parent),
      m_picture(new QLabel(this)),
      m_size(new QLabel(this)),
      m_bound(new QLabel(this)),
      m_job([this](std::shared_ptr<const Answer> answer) { receive(std::move(answer)); }, 0ms),
      m_boundJob([this](std::shared_ptr<const CardFacts> facts) { receiveBound(*facts); }, 0ms) {
  m_picture->setObjectName(prefix + u"Picture"_s);
  m_picture->setFixedSize(kPicture);
  m_picture->setAlignment(Qt::AlignCenter);
  m_picture->setProperty("role", u"picture"_s);
  m_picture->setAccessibleName(tr("Picture of the fabric"));
  m_size->setObjectName(prefix + u"Size"_s);
  m_size->setProperty("role", u"muted"_s);
  m_bound->setObjectName(prefix + u"Bound"_s);
  constexpr double kBoundPixels = 15;
  m_bound->setFont(uiFont(kBoundPixels, QFont::DemiBold));
  for (QLabel* label : {m_size, m_bound}) {
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  }
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_picture);
  layout->addWidget(m_bound);
  layout->addWidget(m_size);
  layout->addStretch();
  m_timer.setSingleShot(true);
  m_timer.setInterval(120ms);
  connect(&m_timer, &QTimer::timeout, this, &FabricPreview::start);
  connect(&Theme::instance(), &Theme::changed, this, &FabricPreview::showPicture);
}

FabricPreview::~FabricPreview() = default;

std::shared_ptr<const Model> FabricPreview::model() const {
  return !m_isWorking && m_answer ? m_answer->model : nullptr;
}

const Error* FabricPreview::error() const {
  return !m_isWorking && m_answer && !m_answer->model ? &m_answer->error : nullptr;
}

void FabricPreview::submit(Make make) {
  m_make = std::move(make);
  ++m_number;
  m_isWorking = true;
  m_size->setEnabled(false);
  m_bound->setEnabled(false);
  m_timer.start();
}

void FabricPreview::startNow() {
  if (m_timer.isActive()) {
    m_timer.stop();
    start();
  }
}

void FabricPreview::start() {
  m_job.submit([number = m_number, make = m_make,
                ratio = devicePixelRatioF()](const std::stop_token& stop) -> std::shared_ptr<const Answer> {
    auto answer = std::make_shared<Answer>();
    answer->number = number;
    try {
      auto made = make(stop);
      if (made) {
        answer->size = sizeOf(*made);
        if (!stop.stop_requested()) {
          constexpr QSize kInset(16, 16);
          answer->picture = fabricPicture(*made, kPicture - kInset, ratio);
        }
        answer->model = std::make_shared<const Model>(*std::move(made));
      } else {
        answer->error = made.error();
      }
    } catch (const std::exception& exception) {
      answer->error = Error{ErrorCode::limit, exception.what(), "choose smaller numbers"};
    }
    return answer;
  });
}

void FabricPreview::receive(std::shared_ptr<const Answer> answer) {
  if (answer->number != m_number) {
    return;  // a newer one follows
  }
  m_isWorking = false;
  m_answer = std::move(answer);
  m_boundJob.cancel();
  if (!m_answer->model) {
    m_size->setText(tr("These parameters do not give a valid fabric"));
    m_bound->setText(u"–"_s);
    Q_EMIT ready();
    return;
  }
  showPicture();
  const FabricSize& size = m_answer->size;
  m_size->setText(counted(size.gpus, tr("GPU"), tr("GPUs")) +
                  (size.boxes > 1 && size.text.contains(u'×') ? u" ("_s + size.text + u')' : QString()) + u" · "_s +
                  counted(size.nodes, tr("node"), tr("nodes")) + u" · "_s +
                  counted(size.links, tr("link"), tr("links")));
  m_size->setEnabled(true);
  if (m_bound->text().isEmpty() || m_bound->text() == u"–"_s) {
    m_bound->setText(tr("AllGather: computing"));
  }
  m_boundJob.submit([model = m_answer->model](std::stop_token stop) {
    try {
      return std::make_shared<const CardFacts>(boundFacts(*model, std::move(stop)));
    } catch (const std::exception& exception) {
      CardFacts facts;
      facts.why = QString::fromUtf8(exception.what());
      return std::make_shared<const CardFacts>(std::move(facts));
    }
  });
  Q_EMIT ready();
}

void FabricPreview::receiveBound(const CardFacts& facts) {
  m_bound->setEnabled(true);
  m_bound->setText(facts.bound.isEmpty() ? (facts.why.isEmpty() ? tr("AllGather: computed once it is created")
                                                                : tr("AllGather: no bound"))
                                         : tr("AllGather %1").arg(facts.bound));
  m_bound->setToolTip(facts.bound.isEmpty() ? facts.why : tr("Exactly %1").arg(facts.exact));
}

void FabricPreview::showPicture() {
  if (!m_answer || !m_answer->model) {
    return;
  }
  const QImage& image = Theme::instance().scheme() == Scheme::dark ? m_answer->picture.dark : m_answer->picture.light;
  if (image.isNull()) {
    m_picture->setText(tr("Too large for a preview"));
  } else {
    m_picture->setPixmap(QPixmap::fromImage(image));
  }
}

void FabricPreview::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) {
    showPicture();
  }
  QWidget::changeEvent(event);
}

}  // namespace coppice::designer
