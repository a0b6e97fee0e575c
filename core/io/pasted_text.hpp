// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Text of a terminal on its way through mails, browsers, spreadsheets and job launchers.
namespace coppice::io {

/// UTF-16 (as `>` of PowerShell writes it), with a byte order mark or recognised by its zero bytes, as UTF-8; nullopt
/// for text that is not UTF-16. Unpaired surrogates become U+FFFD.
[[nodiscard]] std::optional<std::string> utf8OfUtf16(std::string_view text);

/// The lines of a terminal as they were: without byte order mark, control sequences, invisible and no-break spaces,
/// bars and rules of tables, quotation marks and asterisks, marks of quoted mail, and without what launchers set before
/// each line (tags of mpirun, srun, pdsh, or any text that all lines with `word` begin with). Lines keep their numbers.
[[nodiscard]] std::string terminalText(std::string_view text, std::string_view word);

/// The same with bars, rules, quotation marks and asterisks as they are; without a word, tags of hosts stay.
[[nodiscard]] std::string terminalLines(std::string_view text, std::string_view word = {});

}  // namespace coppice::io
