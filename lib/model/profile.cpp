// SPDX-License-Identifier: BSD-3-Clause
#include "model/profile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "model/profile_data.h"
#include "model/profile_setting.h"
#include "model/profile_text.h"

namespace chime::model {
namespace {

constexpr std::size_t max_file_size = 256 * 1024;
constexpr std::size_t max_entries = 4096;

int length(std::string_view s) noexcept {
  return static_cast<int>(s.size() < 80 ? s.size() : 80);
}

const ProfileData* find_built_in(std::string_view name) noexcept {
  for (const ProfileData& p : built_in_profiles()) {
    if (name == p.name) return &p;
  }
  return nullptr;
}

Result<> fill(Profile& profile, const ProfileData& data) noexcept {
  for (const CapabilityValue& v : data.capabilities) {
    if (auto added = profile.capabilities.add(v.type); !added) return added;
    set_capability(profile.capabilities, v.type, v.current_only, v.bit, v.width, v.value);
  }
  for (const SettingValue& s : data.settings) {
    TextValue value;
    value.type = s.text ? TextValue::Type::string : TextValue::Type::integer;
    value.number = s.number;
    if (s.text) value.text = s.text;
    if (auto done = set(profile, s.section, s.key, value); !done) return done;
  }
  return {};
}

/// A key that was there already, which TOML forbids.
struct Seen {
  std::string_view section;
  std::string_view key;
};

struct CloseFile {
  void operator()(std::FILE* f) const noexcept { std::fclose(f); }
};

}  // namespace

std::span<const char* const> Profile::names() noexcept {
  return built_in_names();
}

Result<Profile> Profile::named(std::string_view name) noexcept {
  const ProfileData* data = find_built_in(name);
  if (!data) {
    char known[160] = {};
    std::size_t used = 0;
    for (const char* n : names()) {
      const int more = std::snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", n);
      if (more > 0 && used + static_cast<std::size_t>(more) < sizeof known)
        used += static_cast<std::size_t>(more);
    }
    return fail(ENOENT, "there is no profile %.*s; there are %s, or name a file", length(name), name.data(),
                known);
  }
  Profile profile;
  std::snprintf(profile.name_, sizeof profile.name_, "%s", data->name);
  if (auto filled = fill(profile, *data); !filled)
    return fail(filled.error().within("profile %s", data->name));
  return profile;
}

Result<Profile> Profile::parse(std::string_view text, const char* name) noexcept {
  ProfileText reader(text);
  auto seen = Array<Seen>::make(max_entries, "the entries of a profile");
  if (!seen) return fail(seen.error());
  std::size_t entries = 0;
  auto wrong = [&](const char* what) { return fail(EINVAL, "%s:%u: %s", name, reader.line(), what); };

  ProfileText::Item item = reader.next();
  if (item == ProfileText::Item::mistake) return wrong(reader.mistake());
  if (item != ProfileText::Item::entry || !reader.section().empty() || reader.key() != "base" ||
      reader.value().type != TextValue::Type::string) {
    return wrong("a profile begins with base = \"the profile that it changes\"");
  }
  auto profile = named(reader.value().text);
  if (!profile) return fail(profile.error().within("%s:%u", name, reader.line()));

  while ((item = reader.next()) == ProfileText::Item::entry) {
    for (std::size_t i = 0; i < entries; ++i) {
      if ((*seen)[i].key == reader.key() && (*seen)[i].section == reader.section()) {
        return wrong("this key has a value already");
      }
    }
    if (entries == max_entries) return wrong("too many values");
    (*seen)[entries++] = {reader.section(), reader.key()};
    if (auto done = set(*profile, reader.section(), reader.key(), reader.value()); !done) {
      return fail(done.error().within("%s:%u", name, reader.line()));
    }
  }
  if (item == ProfileText::Item::mistake) return wrong(reader.mistake());
  std::snprintf(profile->name_, sizeof profile->name_, "%s", name);
  return profile;
}

Result<Profile> Profile::load(const char* path) noexcept {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path, "re"));
  if (!file) return fail(errno, "profile %s: %s", path, std::strerror(errno));
  auto text = Array<char>::make(max_file_size, "a profile's text");
  if (!text) return fail(text.error());
  const std::size_t size = std::fread(text->data(), 1, text->size(), file.get());
  if (std::ferror(file.get())) return fail(EIO, "profile %s: it can't be read", path);
  if (size == text->size()) return fail(EFBIG, "profile %s: more than %zu bytes", path, max_file_size - 1);
  return parse({text->data(), size}, path);
}

}  // namespace chime::model
