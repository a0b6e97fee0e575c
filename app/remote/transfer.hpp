// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "remote/scripts.hpp"

/// Files go to the other machine through plain ssh: `receiveCommand` takes one on standard input, under a temporary
/// name that no other transfer uses; when all are there, `installScript` compares their checksums and renames them in
/// one step each. So neither a reader nor a second transfer ever sees a part of a file, and sftp is not needed.
namespace coppice::remote {

/// A file on its way to the other machine.
struct Upload {
  std::filesystem::path source = {};
  std::string name = {};    ///< on the machine; isPlainName
  std::string digest = {};  ///< SHA-256, lower-case hex
  std::int64_t bytes = 0;
  bool isProgram = false;
};
/// Reads and digests. Errors: io. @pre isPlainName(name)
Result<Upload> uploadOf(const std::filesystem::path& source, const std::string& name, bool isProgram = false);

/// Names one transfer: 16 hex digits that no other transfer has.
[[nodiscard]] std::string newMark();

/// The command for ssh that stores its standard input. It means the same to every login shell.
/// @param folder  below the home folder, plain names with "/"
[[nodiscard]] std::string receiveCommand(const std::string& folder, const Upload& file, const std::string& mark);
/// Checks what was received and puts it in place, all or nothing: "installed yes", "bad NAME DIGEST" or "tool none". A
/// file that is there already with the right content stays as it is, since it may be running.
[[nodiscard]] std::string installScript(const std::string& folder, const std::vector<Upload>& files,
                                        const std::string& mark);
/// Removes what an unfinished transfer has left.
[[nodiscard]] std::string discardScript(const std::string& folder, const std::vector<Upload>& files,
                                        const std::string& mark);
/// "sha NAME DIGEST" for each of the files that is in the folder; "tool none" where nothing computes SHA-256. Makes the
/// folder, and removes what transfers that died more than a day ago have left.
[[nodiscard]] std::string installedScript(const std::string& folder, const std::vector<Upload>& files);

/// All of the files are there with the right content. Errors: unavailable (no SHA-256 there), io (folderFault).
Result<bool> areInstalled(const std::string& machine, const Facts& facts, const std::vector<Upload>& files);
/// What came of a receiveCommand. @param errors  standard error of ssh. Errors: io.
Outcome received(const std::string& machine, const Upload& file, int status, const std::string& errors);
/// What came of an installScript. Errors: io, unavailable.
Outcome installed(const std::string& machine, const Facts& facts, const std::string& errors);

/// Why the remote folder of Coppice is not used, from the "refused" lines of spaceScript and others. An empty
/// message = nothing is wrong with it.
[[nodiscard]] Error folderFault(const std::string& machine, const Facts& facts);

}  // namespace coppice::remote
