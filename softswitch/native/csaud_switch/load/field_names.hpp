// What the JSON's names of headers, fields, stacks and unions mean. Fields that are looked up are in use from
// then on.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "csaud_switch/load/json.hpp"
#include "csaud_switch/model/layout.hpp"

namespace csaud::sw {

class FieldNames {
  public:
    // Of headers, stacks and unions that are loaded; both stay where they are.
    FieldNames(const Json& root, Layout& layout);

    const Layout& layout() const { return layout_; }

    std::uint32_t header(const Json& name, const std::string& where) const;
    std::uint32_t stack(const Json& name, const std::string& where) const;
    std::uint32_t header_union(const Json& name, const std::string& where) const;
    // The place of a header among the members of a union stack's elements.
    std::uint32_t union_member(const HeaderStack& of, const Json& name, const std::string& where) const;

    FieldRef read(const Json& path, const std::string& where) { return field(path, false, where); }
    FieldRef write(const Json& path, const std::string& where) { return field(path, true, where); }
    // A field of variable length.
    FieldRef varbit(const Json& path, const std::string& where) const;
    bool is_varbit(const Json& path) const;

    // The field of a stack's element that was filled last.
    struct LastField {
        std::uint32_t stack = 0;
        std::uint32_t member = 0;
        FieldRef first;  // of element 0
    };
    LastField last_field(const Json& path, bool write, const std::string& where);
    // A field of element 0 that stands for that of any element.
    FieldRef element_field(std::uint32_t stack, std::uint32_t member, std::uint32_t field, bool write,
                           const std::string& where);

    // Fields that are in use without being named: one, or every one, read and written.
    void use(std::uint32_t header, std::size_t field) { layout_.headers[header].fields[field].used = true; }
    void use_whole(std::uint32_t header);

  private:
    FieldRef field(const Json& path, bool write, const std::string& where);

    const Json& root_;
    Layout& layout_;
    std::unordered_map<std::string, std::uint32_t> stacks_, unions_;
};

}  // namespace csaud::sw
