#include "csaud_switch/load/stacks.hpp"

#include <string>

namespace csaud::sw {

namespace {

std::vector<std::uint32_t> ids(const Json& json, const char* key, const std::string& where,
                               std::size_t limit) {
    std::vector<std::uint32_t> all;
    for (const Json& id : array_member(json, key, where)) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= limit)
            fail(where, std::string("'") + key + "' names what does not exist");
        all.push_back(id.get<std::uint32_t>());
    }
    if (all.empty()) fail(where, std::string("'") + key + "' is empty");
    return all;
}

}  // namespace

void load_unions(const Json& root, Layout& layout) {
    if (!root.contains("header_unions")) return;
    for (const Json& json : array_member(root, "header_unions", "program")) {
        HeaderUnion out;
        out.name = text_member(json, "name", "header_unions");
        const std::string where = "header union '" + out.name + "'";
        if (number_member(json, "id", where) != layout.unions.size())
            unsupported(where, "an id that is not its place in the list");
        out.headers = ids(json, "header_ids", where, layout.headers.size());
        layout.unions.push_back(std::move(out));
    }
}

void load_stacks(const Json& root, Layout& layout) {
    for (const char* key : {"header_stacks", "header_union_stacks"}) {
        if (!root.contains(key)) continue;
        const bool of_unions = std::string(key) == "header_union_stacks";
        for (const Json& json : array_member(root, key, "program")) {
            HeaderStack stack;
            stack.name = text_member(json, "name", key);
            stack.of_unions = of_unions;
            const std::string where =
                (of_unions ? "header union stack '" : "header stack '") + stack.name + "'";
            if (of_unions) {
                for (const std::uint32_t id : ids(json, "header_union_ids", where, layout.unions.size())) {
                    const std::vector<std::uint32_t>& members = layout.unions[id].headers;
                    if (stack.size++ > 0 && members.size() != stack.members)
                        fail(where, "unions of different types");
                    stack.members = static_cast<std::uint32_t>(members.size());
                    stack.headers.insert(stack.headers.end(), members.begin(), members.end());
                }
            } else {
                stack.headers = ids(json, "header_ids", where, layout.headers.size());
                stack.size = static_cast<std::uint32_t>(stack.headers.size());
            }
            for (std::uint32_t i = 0; i < stack.headers.size(); ++i) {
                const Header& header = layout.headers[stack.headers[i]];
                if (header.metadata || header.type != layout.headers[stack.headers[i % stack.members]].type)
                    fail(where, "elements of different types");
            }
            layout.stacks.push_back(std::move(stack));
        }
    }
}

std::vector<std::uint32_t> order_of_headers(const Layout& layout) {
    std::vector<bool> stacked(layout.headers.size(), false);
    for (const HeaderStack& stack : layout.stacks)
        for (const std::uint32_t index : stack.headers) {
            if (stacked[index])
                fail("header stack '" + stack.name + "'", "an element twice, or of two stacks");
            stacked[index] = true;
        }
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < layout.headers.size(); ++i)
        if (!stacked[i]) order.push_back(i);
    for (const HeaderStack& stack : layout.stacks)
        order.insert(order.end(), stack.headers.begin(), stack.headers.end());
    return order;
}

void place_stacks(Layout& layout) {
    for (HeaderStack& stack : layout.stacks) {
        stack.next_slot = layout.slot_count++;
        for (std::uint32_t member = 0; member < stack.members; ++member)
            stack.stride += layout.headers[stack.header(0, member)].slot_count;
    }
}

}  // namespace csaud::sw
