// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/template_dialog.hpp"

#include <QEvent>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QVBoxLayout>
#include <chrono>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"
#include "presets/presets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr QSize kPicture(400, 300);

}  // namespace

TemplateDialog::TemplateDialog(const PaletteEntry& entry, Drawing drawing, QWidget* parent)
    : QDialog(parent),
      m_entry(entry),
      m_form(new ParameterForm(entry.preset, entry.arguments, this)),
      m_picture(new QLabel(this)),
      m_size(new QLabel(this)),
      m_bound(new QLabel(this)),
      m_fault(new QLabel(this)),
      m_create(new QPushButton(drawing == Drawing::filled ? tr("New Fabric") : tr("Create"), this)),
      m_add(new QPushButton(tr("Add to This Fabric"), this)),
      m_place(new QPushButton(tr("Place by Click"), this)),
      m_job([this](std::shared_ptr<const Preview> preview) { receive(std::move(preview)); }, 0ms),
      m_boundJob([this](std::shared_ptr<const CardFacts> facts) { receiveBound(*facts); }, 0ms) {
  setObjectName(u"templateDialog"_s);
  setWindowTitle(entry.title);
  m_picture->setObjectName(u"templatePicture"_s);
  m_picture->setFixedSize(kPicture);
  m_picture->setAlignment(Qt::AlignCenter);
  m_picture->setProperty("role", u"picture"_s);
  m_picture->setAccessibleName(tr("Picture of the fabric"));
  m_size->setObjectName(u"templateSize"_s);
  m_size->setProperty("role", u"muted"_s);
  m_bound->setObjectName(u"templateBound"_s);
  constexpr double kBoundPixels = 15;
  m_bound->setFont(uiFont(kBoundPixels, QFont::DemiBold));
  m_fault->setObjectName(u"templateFault"_s);
  m_fault->setProperty("role", u"error"_s);
  m_fault->setWordWrap(true);
  m_fault->hide();
  m_create->setObjectName(u"templateCreate"_s);
  m_create->setDefault(true);
  m_create->setToolTip(drawing == Drawing::empty ? tr("Adds it to the empty fabric (Enter)")
                                                 : tr("Opens it as a new fabric (Enter)"));
  m_add->setObjectName(u"templateAdd"_s);
  m_add->setAutoDefault(false);
  m_add->setVisible(drawing == Drawing::filled);
  m_add->setToolTip(tr("Adds it beside the drawing, without links between the two"));
  m_place->setObjectName(u"templatePlace"_s);
  m_place->setAutoDefault(false);
  m_place->setVisible(drawing != Drawing::none);
  m_place->setToolTip(tr("The next click on the drawing places it"));
  auto* cancel = new QPushButton(tr("Cancel"), this);
  cancel->setAutoDefault(false);

  auto* about = new QLabel(this);
  about->setWordWrap(true);
  about->setProperty("role", u"muted"_s);
  about->setText(entry.tip);
  const presets::Preset* preset = presets::find(entry.preset.toStdString());
  if (preset != nullptr) {
    about->setToolTip(tr("Sources: %1").arg(QString::fromStdString(preset->sources)));
  }

  auto* left = new QVBoxLayout;
  left->addWidget(m_picture);
  left->addWidget(m_bound);
  left->addWidget(m_size);
  left->addStretch();

  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* body = new QWidget(scroll);
  auto* bodyLayout = new QVBoxLayout(body);
  bodyLayout->setContentsMargins(0, 0, 10, 0);
  constexpr int kGap = 12;
  bodyLayout->setSpacing(kGap);
  bodyLayout->addWidget(about);
  bodyLayout->addWidget(m_form);
  bodyLayout->addWidget(m_fault);
  bodyLayout->addStretch();
  scroll->setWidget(body);
  constexpr int kFormWidth = 360;
  scroll->setMinimumWidth(kFormWidth);

  auto* columns = new QHBoxLayout;
  constexpr int kColumns = 20;
  columns->setSpacing(kColumns);
  columns->addLayout(left);
  columns->addWidget(scroll, 1);
  auto* buttons = new QHBoxLayout;
  buttons->addStretch();
  buttons->addWidget(cancel);
  buttons->addWidget(m_place);
  buttons->addWidget(m_add);
  buttons->addWidget(m_create);
  auto* layout = new QVBoxLayout(this);
  constexpr QMargins kMargins(20, 20, 20, 16);
  layout->setContentsMargins(kMargins);
  layout->setSpacing(kGap);
  layout->addLayout(columns, 1);
  layout->addLayout(buttons);

  m_timer.setSingleShot(true);
  m_timer.setInterval(120ms);
  connect(&m_timer, &QTimer::timeout, this, &TemplateDialog::start);
  connect(&Theme::instance(), &Theme::changed, this, &TemplateDialog::showPicture);
  connect(m_form, &ParameterForm::changed, this, &TemplateDialog::follow);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_create, &QPushButton::clicked, this, [this] { want(Then::create); });
  connect(m_add, &QPushButton::clicked, this, [this] { want(Then::add); });
  connect(m_place, &QPushButton::clicked, this, [this] { want(Then::place); });
  start();
  if (QWidget* first = m_form->nextInFocusChain(); !m_form->isEmpty() && first != nullptr) {
    first->setFocus();
  }
}

TemplateDialog::~TemplateDialog() = default;

const Model* TemplateDialog::part() const {
  return !m_isWorking && m_preview && m_preview->model ? &*m_preview->model : nullptr;
}

void TemplateDialog::follow() {
  m_isWorking = true;
  m_fault->hide();
  m_size->setEnabled(false);
  m_bound->setEnabled(false);
  m_create->setEnabled(true);
  m_timer.start();
}

void TemplateDialog::start() {
  m_timer.stop();
  m_job.submit([entry = m_entry, arguments = m_form->arguments(),
                ratio = devicePixelRatioF()](std::stop_token stop) -> std::shared_ptr<const Preview> {
    auto preview = std::make_shared<Preview>();
    preview->arguments = arguments;
    try {
      auto made = makePart(entry, arguments);
      if (made) {
        preview->size = sizeOf(*made);
        if (!stop.stop_requested()) {
          constexpr QSize kInset(16, 16);
          preview->picture = fabricPicture(*made, kPicture - kInset, ratio);
        }
        preview->model = std::move(*made);
      } else {
        preview->error = made.error();
      }
    } catch (const std::exception& exception) {
      preview->error = Error{ErrorCode::limit, exception.what(), "choose smaller parameters"};
    }
    return preview;
  });
}

void TemplateDialog::receive(std::shared_ptr<const Preview> preview) {
  if (preview->arguments != m_form->arguments()) {
    return;  // a newer one follows
  }
  m_isWorking = false;
  m_preview = std::move(preview);
  m_form->clearFaults();
  m_boundJob.cancel();
  if (!m_preview->model) {
    m_then = Then::nothing;
    const QString text = sentence(m_preview->error);
    if (!m_form->setFault(QString::fromStdString(m_preview->error.where.element), text)) {
      m_fault->setText(text);
      m_fault->show();
    }
    m_create->setEnabled(false);
    m_add->setEnabled(false);
    m_place->setEnabled(false);
    m_size->setText(tr("These numbers do not make a fabric"));
    m_bound->setText(u"–"_s);
    return;
  }
  m_create->setEnabled(true);
  m_add->setEnabled(true);
  m_place->setEnabled(true);
  showPicture();
  const FabricSize& size = m_preview->size;
  m_size->setText(counted(size.gpus, tr("GPU"), tr("GPUs")) +
                  (size.boxes > 1 && size.text.contains(u'×') ? u" ("_s + size.text + u')' : QString()) + u" · "_s +
                  counted(size.nodes, tr("node"), tr("nodes")) + u" · "_s +
                  counted(size.links, tr("link"), tr("links")));
  m_size->setEnabled(true);
  if (m_then != Then::nothing) {
    finish();
    return;
  }
  if (m_bound->text().isEmpty() || m_bound->text() == u"–"_s) {
    m_bound->setText(tr("AllGather: computing"));
  }
  m_boundJob.submit([preview = m_preview](std::stop_token stop) {
    try {
      return std::make_shared<const CardFacts>(boundFacts(*preview->model, std::move(stop)));
    } catch (const std::exception& exception) {
      CardFacts facts;
      facts.why = QString::fromUtf8(exception.what());
      return std::make_shared<const CardFacts>(std::move(facts));
    }
  });
}

void TemplateDialog::receiveBound(const CardFacts& facts) {
  m_bound->setEnabled(true);
  m_bound->setText(facts.bound.isEmpty() ? tr("AllGather: computed once it is created")
                                         : tr("AllGather %1").arg(facts.bound));
  m_bound->setToolTip(facts.bound.isEmpty() ? facts.why : tr("Exactly %1").arg(facts.exact));
}

void TemplateDialog::showPicture() {
  if (!m_preview) {
    return;
  }
  const QImage& image = Theme::instance().scheme() == Scheme::dark ? m_preview->picture.dark : m_preview->picture.light;
  if (image.isNull()) {
    m_picture->setText(tr("Too large for a picture"));
  } else {
    m_picture->setPixmap(QPixmap::fromImage(image));
  }
}

void TemplateDialog::want(Then then) {
  m_then = then;
  if (m_isWorking) {
    if (m_timer.isActive()) {
      start();
    }
    return;  // as soon as it is made
  }
  finish();
}

void TemplateDialog::finish() {
  const Then then = std::exchange(m_then, Then::nothing);
  if (part() == nullptr) {
    return;
  }
  // The window may delete this dialog while it places the part.
  const std::shared_ptr<const Preview> kept = m_preview;
  const QString name = m_entry.title;
  hide();
  if (then == Then::create) {
    Q_EMIT createWanted(*kept->model, name);
  } else if (then == Then::add) {
    Q_EMIT addWanted(*kept->model, name);
  } else {
    Q_EMIT placeWanted(*kept->model, name);
  }
  accept();
}

void TemplateDialog::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) {
    showPicture();
  }
  QDialog::changeEvent(event);
}

}  // namespace coppice::designer
