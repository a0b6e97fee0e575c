// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/machine.hpp"

namespace coppice::probe {

/// What the NVIDIA driver answers.
struct GpuAnswer {
  std::string driver = {};      ///< "580.65.06"
  std::string cudaDriver = {};  ///< newest CUDA version that the driver runs: "13.0"
  std::string nvml = {};
  std::vector<Gpu> gpus = {};
  std::vector<Unreadable> unreadable = {};
};

/// Where the GPUs come from: the driver's library, or a recording.
class GpuSource {
public:
  GpuSource() = default;
  GpuSource(const GpuSource&) = delete;
  GpuSource& operator=(const GpuSource&) = delete;
  virtual ~GpuSource() = default;

  /// Errors: unavailable (no library, no driver, no permission), with the reason.
  virtual Result<GpuAnswer> read() = 0;
};

/// libnvidia-ml.so.1, loaded when read() is called and let go afterwards. Nothing of it is needed to build or start.
class NvmlLibrary : public GpuSource {
public:
  Result<GpuAnswer> read() override;
};

/// A text as recordGpus() writes it. Errors of read(): unavailable (an empty text), badInput, limit.
class RecordedGpus : public GpuSource {
public:
  explicit RecordedGpus(std::string text) : m_text(std::move(text)) {}
  Result<GpuAnswer> read() override;

private:
  std::string m_text;
};

/// JSON of an answer, for RecordedGpus.
[[nodiscard]] std::string recordGpus(const GpuAnswer& answer);

/// "00000000:3B:00.0" and "0000:3b:00.0" as "0000:3b:00.0"; empty where the text is not a PCI address.
[[nodiscard]] std::string normalAddress(std::string_view text);

}  // namespace coppice::probe
