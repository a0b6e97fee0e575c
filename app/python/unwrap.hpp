// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "workflow/concurrent.hpp"
#include "workflow/guarded.hpp"

/// Values, errors and long work of Coppice as Python has them.
namespace coppice::python {

namespace py = pybind11;

/// fractions.Fraction.
[[nodiscard]] py::object fraction(const Rational& value);
[[nodiscard]] inline py::object fraction(const Bandwidth& value) {
  return fraction(value.gigabytesPerSecond());
}
/// None where it is absent.
template <typename T>
[[nodiscard]] py::object fraction(const std::optional<T>& value) {
  return value ? fraction(*value) : py::object(py::none());
}

/// Raises coppice.Error.
[[noreturn]] void raise(const Error& error);

template <typename T>
[[nodiscard]] T unwrap(Result<T> result) {
  if (!result) {
    raise(result.error());
  }
  return *std::move(result);
}

/// [{"severity", "text", "fix", "where"}].
[[nodiscard]] py::list findingsOf(const std::vector<Finding>& findings);

/// @param groups text of a file of groups, which must outlive it; empty = those of a mesh
[[nodiscard]] workflow::ConcurrentText groupsText(const std::string& groups, const std::string& mesh,
                                                  const std::string& axes, const std::string& collective, bool relay);

/// Where long work is, for the thread that waits for it.
class Waiting {
public:
  [[nodiscard]] Progress progress() {
    return {.onReport =
                [this](std::string_view stage, double fraction) {
                  const std::lock_guard lock(m_mutex);
                  m_stage = stage;
                  m_fraction = fraction;
                },
            .stop = m_stop.get_token()};
  }
  void stop() { m_stop.request_stop(); }
  /// Tells the callable, unless it is None. Throws what that raises, and KeyboardInterrupt.
  void tell(const py::object& listener);

private:
  std::stop_source m_stop;
  std::mutex m_mutex;
  std::string m_stage;
  double m_fraction = 0;
};

/// Does long work on a thread of its own, without the lock of the interpreter, and hears Ctrl+C meanwhile.
/// @param listener a callable(stage, fraction), or None
/// @param work takes a Progress and returns a Result
template <typename Work>
[[nodiscard]] auto compute(const py::object& listener, Work work) {
  using Answer = std::invoke_result_t<Work, const Progress&>;
  using Value = std::remove_cvref_t<decltype(*std::declval<Answer>())>;
  constexpr std::chrono::milliseconds kTick(50);
  Waiting waiting;
  std::optional<Answer> answer;
  {
    const Progress progress = waiting.progress();
    std::future<Answer> future =
        std::async(std::launch::async, [&] { return workflow::guarded<Value>([&] { return work(progress); }); });
    const auto isReady = [&] {
      const py::gil_scoped_release release;
      return future.wait_for(kTick) == std::future_status::ready;
    };
    try {
      while (!isReady()) {
        waiting.tell(listener);
      }
    } catch (...) {
      waiting.stop();
      const py::gil_scoped_release release;
      future.wait();
      throw;
    }
    answer.emplace(future.get());
  }
  return unwrap(*std::move(answer));
}

}  // namespace coppice::python
