// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QString>
#include <memory>
#include <optional>

#include "base/result.hpp"

/// Films as files: numbered PNG pictures, or one animated WebP.
namespace coppice::designer {

enum class FilmFormat {
  frames,  ///< a PNG file for each frame: "frame-%04d.png", or a path without "%": "film.png" becomes "film-0001.png"
  webp     ///< animated, without loss; only where the build has libwebp
};
/// By the suffix, whatever its case; nullopt for another.
[[nodiscard]] std::optional<FilmFormat> filmFormatOf(const QString& path);
/// The build can write it.
[[nodiscard]] bool canWrite(FilmFormat format);

/// Takes frames of one size one by one. Nothing is left behind of a film that was not finished, but for numbered
/// pictures that were written.
class FilmWriter {
public:
  /// @param framesPerSecond of the animation; 1 to 100. Errors: badUsage (suffix, numbers), unavailable (the build
  /// cannot write this format)
  [[nodiscard]] static Result<std::unique_ptr<FilmWriter>> create(const QString& path, int framesPerSecond);
  virtual ~FilmWriter() = default;

  /// Errors: io, limit, badInput (another size than the frames before).
  virtual Outcome add(const QImage& frame) = 0;
  /// Writes what is not written yet. Errors: io, badInput (no frame).
  virtual Outcome finish() = 0;
};

/// "frame-0007.png" of "frame-%04d.png" or of "frame.png". @param number from 1
[[nodiscard]] QString framePath(const QString& pattern, int number);

}  // namespace coppice::designer
