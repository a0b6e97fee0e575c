// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/render/picture_dialog.hpp"

#include <QCheckBox>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFileInfo>
#include <QFormLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/canvas/canvas_view.hpp"
#include "designer/document/error_text.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr QSize kPreview(380, 300);

/// As a POSIX shell reads it back.
QString quoted(const QString& text) {
  static const QString kPlain = u"-_./:=,+@%"_s;
  const bool isPlain = !text.isEmpty() && std::all_of(text.begin(), text.end(), [](QChar c) {
    return (c.unicode() < 128 && c.isLetterOrNumber()) || kPlain.contains(c);
  });
  return isPlain ? text : u'\'' + QString(text).replace(u'\'', u"'\\''"_s) + u'\'';
}

}  // namespace

PictureDialog::PictureDialog(CanvasView& view, QString documentPath, QString mode, QWidget* parent)
    : QDialog(parent),
      m_view(&view),
      m_documentPath(std::move(documentPath)),
      m_mode(std::move(mode)),
      m_format(new QComboBox(this)),
      m_part(new QComboBox(this)),
      m_scheme(new QComboBox(this)),
      m_scale(new QDoubleSpinBox(this)),
      m_transparent(new QCheckBox(tr("&Transparent background"), this)),
      m_legend(new QCheckBox(tr("Le&gend, if there is one"), this)),
      m_preview(new QLabel(this)),
      m_size(new QLabel(this)) {
  setObjectName(u"pictureDialog"_s);
  setWindowTitle(tr("Export Picture"));
  m_format->addItem(tr("SVG: text and lines, for editing and the web"), static_cast<int>(PictureFormat::svg));
  m_format->addItem(tr("PDF: text and lines, for papers"), static_cast<int>(PictureFormat::pdf));
  m_format->addItem(tr("PNG: pixels"), static_cast<int>(PictureFormat::png));
  m_part->addItem(tr("Everything"), static_cast<int>(PicturePart::whole));
  m_part->addItem(tr("The selection"), static_cast<int>(PicturePart::selection));
  m_part->addItem(tr("Visible area"), static_cast<int>(PicturePart::visible));
  m_scheme->addItem(tr("Light"), static_cast<int>(Scheme::light));
  m_scheme->addItem(tr("Dark"), static_cast<int>(Scheme::dark));
  m_scale->setRange(kMinPictureScale, kMaxPictureScale);
  m_scale->setSingleStep(0.5);
  m_scale->setSuffix(u" ×"_s);
  m_scale->setValue(1);
  m_legend->setChecked(true);
  m_preview->setFixedSize(kPreview);
  m_preview->setAlignment(Qt::AlignCenter);
  m_preview->setWordWrap(true);
  m_preview->setAccessibleName(tr("Preview"));
  m_size->setProperty("role", u"muted"_s);

  auto* form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->addRow(tr("&Format"), m_format);
  form->addRow(tr("&Part"), m_part);
  form->addRow(tr("C&olours"), m_scheme);
  form->addRow(tr("&Scale"), m_scale);
  form->addRow(QString(), m_transparent);
  form->addRow(QString(), m_legend);
  form->addRow(tr("Size"), m_size);
  auto* left = new QVBoxLayout;
  left->addLayout(form);
  left->addStretch(1);
  auto* columns = new QHBoxLayout;
  constexpr int kGap = 24;
  columns->setSpacing(kGap);
  columns->addLayout(left, 1);
  columns->addWidget(m_preview);

  auto* buttons = new QDialogButtonBox(this);
  m_export = buttons->addButton(tr("&Export…"), QDialogButtonBox::AcceptRole);
  m_export->setObjectName(u"pictureExport"_s);
  m_export->setDefault(true);
  m_copyPicture = buttons->addButton(tr("&Copy Picture"), QDialogButtonBox::ActionRole);
  m_copyPicture->setToolTip(tr("Copy the picture to the clipboard"));
  m_copyCommand = buttons->addButton(tr("Copy as Command &Line"), QDialogButtonBox::ActionRole);
  // Last, so that Tab comes to it.
  buttons->addButton(QDialogButtonBox::Cancel);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(columns);
  layout->addWidget(buttons);

  for (QComboBox* box : {m_format, m_part, m_scheme}) {
    connect(box, &QComboBox::currentIndexChanged, this, &PictureDialog::refresh);
  }
  connect(m_scale, &QDoubleSpinBox::valueChanged, this, &PictureDialog::refresh);
  connect(m_transparent, &QCheckBox::toggled, this, &PictureDialog::refresh);
  connect(m_legend, &QCheckBox::toggled, this, &PictureDialog::refresh);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(m_export, &QPushButton::clicked, this, [this] { Q_EMIT exportWanted(options()); });
  connect(m_copyPicture, &QPushButton::clicked, this, &PictureDialog::copyPicture);
  connect(m_copyCommand, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(commandLine()); });
  // A document that is closed takes its pictures along.
  connect(m_view, &QObject::destroyed, this, &QDialog::reject);
  m_timer.setSingleShot(true);
  m_timer.setInterval(0);
  connect(&m_timer, &QTimer::timeout, this, &PictureDialog::updatePreview);
  PictureOptions first;
  first.scheme = Theme::instance().scheme();
  setOptions(first);
  refresh();
}

PictureOptions PictureDialog::options() const {
  PictureOptions options;
  options.format = static_cast<PictureFormat>(m_format->currentData().toInt());
  options.part = static_cast<PicturePart>(m_part->currentData().toInt());
  options.scheme = static_cast<Scheme>(m_scheme->currentData().toInt());
  options.isTransparent = m_transparent->isChecked();
  options.hasLegend = m_legend->isChecked();
  options.scale = m_scale->value();
  return options;
}

void PictureDialog::setOptions(const PictureOptions& options) {
  m_format->setCurrentIndex(m_format->findData(static_cast<int>(options.format)));
  m_part->setCurrentIndex(m_part->findData(static_cast<int>(options.part)));
  m_scheme->setCurrentIndex(m_scheme->findData(static_cast<int>(options.scheme)));
  m_transparent->setChecked(options.isTransparent);
  m_legend->setChecked(options.hasLegend);
  m_scale->setValue(options.scale);
}

QString PictureDialog::commandLine() const {
  const PictureOptions now = options();
  if (m_documentPath.isEmpty() || now.part == PicturePart::visible) {
    return {};
  }
  QStringList words{u"coppice"_s, u"--export-image"_s,
                    quoted(QFileInfo(m_documentPath).fileName().section(u'.', 0, 0) + u'.' + suffixOf(now.format))};
  if (m_mode != u"draw"_s) {
    words << u"--mode"_s << m_mode;
  }
  if (now.part == PicturePart::selection && m_view != nullptr) {
    QStringList names;
    for (const ElementId& id : m_view->selection().elements()) {
      if (id.kind == ElementKind::node || id.kind == ElementKind::box) {
        const Model& model = m_view->document().model();
        names << (id.kind == ElementKind::box ? QString::fromStdString(model.boxPath(id.box())) : model.title(id));
      }
    }
    words << u"--selection"_s << quoted(names.join(u','));
  }
  if (now.scheme == Scheme::dark) {
    words << u"--dark"_s;
  }
  if (now.scale != 1) {
    words << u"--scale"_s << QString::number(now.scale);
  }
  if (now.isTransparent) {
    words << u"--transparent"_s;
  }
  if (!now.hasLegend) {
    words << u"--no-legend"_s;
  }
  words << quoted(m_documentPath);
  return words.join(u' ');
}

void PictureDialog::refresh() {
  if (m_view == nullptr) {
    return;
  }
  const PictureOptions now = options();
  const QSizeF size = pictureSize(*m_view, now);
  m_size->setText(size.isEmpty() ? tr("nothing to draw")
                                 : tr("%1 × %2 pixels").arg(qRound(size.width())).arg(qRound(size.height())));
  for (QPushButton* button : {m_export, m_copyPicture}) {
    button->setEnabled(!size.isEmpty());
  }
  const QString command = commandLine();
  m_copyCommand->setEnabled(!size.isEmpty() && !command.isEmpty());
  m_copyCommand->setToolTip(command.isEmpty() ? tr("Only for a saved document, and not for the visible area")
                                              : command);
  m_timer.start();
}

void PictureDialog::updatePreview() {
  if (m_view == nullptr) {
    return;
  }
  PictureOptions small = options();
  small.scale = 1;
  const QSizeF full = pictureSize(*m_view, small);
  if (full.isEmpty()) {
    m_preview->setPixmap({});
    m_preview->setText(small.part == PicturePart::selection ? tr("Nothing is selected.")
                                                            : tr("There is nothing to draw."));
    return;
  }
  const double ratio = devicePixelRatioF();
  const double fits = std::min(kPreview.width() / full.width(), kPreview.height() / full.height());
  small.scale = std::clamp(fits * ratio, kMinPictureScale, 2.0);
  const auto image = drawImage(*m_view, small);
  if (!image) {
    m_preview->setPixmap({});
    m_preview->setText(errorText(image.error()));
    return;
  }
  QPixmap pixmap(kPreview * ratio);
  pixmap.setDevicePixelRatio(ratio);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::SmoothPixmapTransform);
  QSizeF shown = QSizeF(image->size()).scaled(kPreview, Qt::KeepAspectRatio);
  if (shown.width() > full.width()) {
    shown = full;
  }
  const QRectF frame(QPointF((kPreview.width() - shown.width()) / 2, (kPreview.height() - shown.height()) / 2), shown);
  if (small.isTransparent) {
    painter.fillRect(frame, QBrush(Theme::instance().color(Token::line), Qt::Dense6Pattern));
  }
  painter.drawImage(frame, *image);
  painter.setPen(QPen(Theme::instance().color(Token::line), 1));
  painter.drawRect(frame.adjusted(0.5, 0.5, -0.5, -0.5));
  painter.end();
  m_preview->setText({});
  m_preview->setPixmap(pixmap);
}

void PictureDialog::copyPicture() {
  if (m_view == nullptr) {
    return;
  }
  PictureOptions wanted = options();
  wanted.format = PictureFormat::png;
  const auto image = drawImage(*m_view, wanted);
  if (image) {
    QGuiApplication::clipboard()->setImage(*image);
  } else {
    m_size->setText(errorText(image.error()));
  }
}

}  // namespace coppice::designer
