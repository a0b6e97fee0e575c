// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/render/film.hpp"

#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <utility>

#include "io/files.hpp"

#ifdef COPPICE_HAS_WEBP
#include <webp/encode.h>
#include <webp/mux.h>
#endif

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

std::string pathOf(const QString& path) {
  return QFile::encodeName(path).toStdString();
}

Error otherSize() {
  return {ErrorCode::badInput, "a frame differs in size from the previous ones", "give --size"};
}

Error noFrame() {
  return {ErrorCode::badInput, "the film has no frames", "give more seconds or frames"};
}

class NumberedFrames : public FilmWriter {
public:
  explicit NumberedFrames(QString pattern) : m_pattern(std::move(pattern)) {}

  Outcome add(const QImage& frame) override {
    if (m_count > 0 && frame.size() != m_size) {
      return otherSize();
    }
    m_size = frame.size();
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    if (!frame.save(&buffer, "PNG")) {
      return Error{ErrorCode::io, "a frame could not be encoded as PNG", "use a smaller --size"};
    }
    return io::saveFile(pathOf(framePath(m_pattern, ++m_count)),
                        std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
  }
  Outcome finish() override { return m_count > 0 ? Outcome(Done{}) : noFrame(); }

private:
  QString m_pattern;
  QSize m_size;
  int m_count = 0;
};

#ifdef COPPICE_HAS_WEBP
class AnimatedWebp : public FilmWriter {
public:
  AnimatedWebp(QString path, int framesPerSecond) : m_path(std::move(path)), m_framesPerSecond(framesPerSecond) {}

  Outcome add(const QImage& frame) override {
    const QImage pixels = frame.convertToFormat(QImage::Format_RGBA8888);
    if (!m_encoder) {
      WebPAnimEncoderOptions options;
      WebPAnimEncoderOptionsInit(&options);
      options.minimize_size = 0;
      options.kmax = kKeyFrameDistance;
      m_size = frame.size();
      m_encoder.reset(WebPAnimEncoderNew(m_size.width(), m_size.height(), &options));
    }
    if (frame.size() != m_size) {
      return otherSize();
    }
    WebPConfig config;
    WebPPicture picture;
    if (!m_encoder || WebPConfigInit(&config) == 0 || WebPPictureInit(&picture) == 0) {
      return failed("there is not enough memory for the film");
    }
    config.lossless = 1;
    config.quality = kEffort;
    config.method = 1;
    picture.use_argb = 1;
    picture.width = m_size.width();
    picture.height = m_size.height();
    const bool isTaken =
        WebPPictureImportRGBA(&picture, pixels.constBits(), static_cast<int>(pixels.bytesPerLine())) != 0 &&
        WebPAnimEncoderAdd(m_encoder.get(), &picture, timeOf(m_count), &config) != 0;
    WebPPictureFree(&picture);
    ++m_count;
    return isTaken ? Outcome(Done{}) : failed(WebPAnimEncoderGetError(m_encoder.get()));
  }

  Outcome finish() override {
    if (m_count == 0) {
      return noFrame();
    }
    WebPData data;
    WebPDataInit(&data);
    // An empty frame ends the last one.
    const bool isWhole = WebPAnimEncoderAdd(m_encoder.get(), nullptr, timeOf(m_count), nullptr) != 0 &&
                         WebPAnimEncoderAssemble(m_encoder.get(), &data) != 0;
    Outcome outcome =
        isWhole ? io::saveFile(pathOf(m_path), std::string_view(reinterpret_cast<const char*>(data.bytes), data.size))
                : failed(WebPAnimEncoderGetError(m_encoder.get()));
    WebPDataClear(&data);
    return outcome;
  }

private:
  static constexpr int kKeyFrameDistance = 50;
  static constexpr float kEffort = 30;
  struct Deleter {
    void operator()(WebPAnimEncoder* encoder) const { WebPAnimEncoderDelete(encoder); }
  };

  [[nodiscard]] static Outcome failed(const std::string& why) {
    return Error{ErrorCode::io, "the film could not be encoded as WebP: " + why,
                 "use a smaller --size, or numbered PNG frames"};
  }
  [[nodiscard]] int timeOf(int frame) const {
    constexpr int kMilliseconds = 1000;
    return frame * kMilliseconds / m_framesPerSecond;
  }

  QString m_path;
  int m_framesPerSecond;
  QSize m_size;
  int m_count = 0;
  std::unique_ptr<WebPAnimEncoder, Deleter> m_encoder;
};
#endif

}  // namespace

std::optional<FilmFormat> filmFormatOf(const QString& path) {
  if (path.endsWith(u".png"_s, Qt::CaseInsensitive)) {
    return FilmFormat::frames;
  }
  if (path.endsWith(u".webp"_s, Qt::CaseInsensitive)) {
    return FilmFormat::webp;
  }
  return std::nullopt;
}

bool canWrite([[maybe_unused]] FilmFormat format) {
#ifdef COPPICE_HAS_WEBP
  return true;
#else
  return format == FilmFormat::frames;
#endif
}

Result<std::unique_ptr<FilmWriter>> FilmWriter::create(const QString& path, int framesPerSecond) {
  const auto format = filmFormatOf(path);
  if (!format) {
    return Error{ErrorCode::badUsage, "a film is a .webp file or numbered .png files",
                 "for example film.webp or frame-%04d.png"};
  }
  if (!canWrite(*format)) {
    return Error{ErrorCode::unavailable,
                 "this build of Coppice cannot write animated WebP, because libwebp was not found",
                 "write numbered frames, for example frame-%04d.png, or build with libwebp-dev"};
  }
  if (*format == FilmFormat::frames) {
    return std::unique_ptr<FilmWriter>(std::make_unique<NumberedFrames>(path));
  }
#ifdef COPPICE_HAS_WEBP
  return std::unique_ptr<FilmWriter>(std::make_unique<AnimatedWebp>(path, framesPerSecond));
#else
  (void)framesPerSecond;
  return Error{ErrorCode::internal, "this film format is not supported"};
#endif
}

QString framePath(const QString& pattern, int number) {
  static const QRegularExpression kNumber(u"%(0?)([0-9]?)d"_s);
  constexpr int kUsualDigits = 4;
  if (const auto match = kNumber.match(pattern); match.hasMatch()) {
    const int digits = match.captured(2).isEmpty() ? 1 : match.captured(2).toInt();
    QString path = pattern;
    return path.replace(match.capturedStart(), match.capturedLength(),
                        u"%1"_s.arg(number, digits, 10, QChar(match.captured(1).isEmpty() ? u' ' : u'0')));
  }
  const QFileInfo info(pattern);
  const QString folder = pattern.left(pattern.size() - info.fileName().size());
  return folder + info.completeBaseName() + u"-%1."_s.arg(number, kUsualDigits, 10, QChar(u'0')) + info.suffix();
}

}  // namespace coppice::designer
