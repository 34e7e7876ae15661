// Header stacks and unions: what they consist of, where it lies, and what expressions and parameters name by
// them.
#include <algorithm>

#include "csaud_switch/load/loader.hpp"

namespace csaud::sw {

namespace {

std::vector<std::uint32_t> ids(const Json& json, const char* key, const std::string& where,
                               std::size_t limit) {
    std::vector<std::uint32_t> all;
    for (const Json& id : array_member(json, key, where)) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= limit)
            fail(where, "'" + std::string(key) + "' names what does not exist");
        all.push_back(id.get<std::uint32_t>());
    }
    if (all.empty()) fail(where, "'" + std::string(key) + "' is empty");
    return all;
}

}  // namespace

void Loader::load_unions() {
    if (!root_.contains("header_unions")) return;
    for (const Json& json : array_member(root_, "header_unions", "program")) {
        HeaderUnion out;
        out.name = text_member(json, "name", "header_unions");
        const std::string where = "header union '" + out.name + "'";
        if (number_member(json, "id", where) != logic_->layout.unions.size())
            unsupported(where, "an id that is not its place in the list");
        out.headers = ids(json, "header_ids", where, logic_->layout.headers.size());
        unions_.emplace(out.name, static_cast<std::uint32_t>(logic_->layout.unions.size()));
        logic_->layout.unions.push_back(std::move(out));
    }
}

void Loader::load_stacks() {
    Layout& layout = logic_->layout;
    for (const char* key : {"header_stacks", "header_union_stacks"}) {
        if (!root_.contains(key)) continue;
        const bool of_unions = std::string(key) == "header_union_stacks";
        for (const Json& json : array_member(root_, key, "program")) {
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
            stacks_.emplace(stack.name, static_cast<std::uint32_t>(layout.stacks.size()));
            layout.stacks.push_back(std::move(stack));
        }
    }
}

// Those of a stack come one after the other.
std::vector<std::uint32_t> Loader::order_of_headers() const {
    const Layout& layout = logic_->layout;
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

void Loader::place_stacks() {
    Layout& layout = logic_->layout;
    for (HeaderStack& stack : layout.stacks) {
        stack.next_slot = layout.slot_count++;
        for (std::uint32_t member = 0; member < stack.members; ++member)
            stack.stride += layout.headers[stack.header(0, member)].slot_count;
    }
}

// The words of elements move from one to another, so all have the same ones in use.
void Loader::share_uses() {
    Layout& layout = logic_->layout;
    for (const HeaderStack& stack : layout.stacks)
        for (std::uint32_t member = 0; member < stack.members; ++member)
            for (std::size_t f = 0; f < layout.headers[stack.header(0, member)].fields.size(); ++f) {
                bool used = false;
                bool written = false;
                for (std::uint32_t element = 0; element < stack.size; ++element) {
                    const Field& field = layout.headers[stack.header(element, member)].fields[f];
                    used |= field.used;
                    written |= field.written;
                }
                for (std::uint32_t element = 0; element < stack.size; ++element) {
                    Field& field = layout.headers[stack.header(element, member)].fields[f];
                    field.used = used;
                    field.written = written;
                }
            }
}

std::uint32_t Loader::stack(const Json& name, const std::string& where) const {
    if (!name.is_string()) fail(where, "expected the name of a header stack");
    const auto found = stacks_.find(name.get<std::string>());
    if (found == stacks_.end()) fail(where, "no header stack '" + name.get<std::string>() + "'");
    return found->second;
}

std::uint32_t Loader::header_union(const Json& name, const std::string& where) const {
    if (!name.is_string()) fail(where, "expected the name of a header union");
    const auto found = unions_.find(name.get<std::string>());
    if (found == unions_.end()) fail(where, "no header union '" + name.get<std::string>() + "'");
    return found->second;
}

// What an expression that names a header names; its members where it names a union.
Loader::Named Loader::named_header(ExpressionBuilder& builder, const Json& json, const Scope& scope) {
    const std::string type = text_member(json, "type", scope.where);
    const Json& value = member(json, "value", scope.where);
    Named out;
    if (type == "header") {
        out.headers = {header(value, scope.where)};
        return out;
    }
    if (type == "header_union") {
        out.is_union = true;
        out.headers = logic_->layout.unions[header_union(value, scope.where)].headers;
        return out;
    }
    if (type != "expression") unsupported(scope.where, "'" + type + "' where a header is expected");
    if (!value.contains("op")) return named_header(builder, value, scope);
    const std::string op = text_member(value, "op", scope.where);
    if (op == "access_union_header") {
        out = named_header(builder, member(value, "left", scope.where), scope);
        const auto which = number_member(value, "right", scope.where);
        if (!out.is_union || which >= out.headers.size()) fail(scope.where, "no such header in a union");
        out.is_union = false;
        out.member = which;
        out.headers = {out.headers[which]};
        return out;
    }
    if (op != "dereference_header_stack" && op != "dereference_union_stack")
        unsupported(scope.where, "operator '" + op + "' where a header is expected");
    const Json& owner = member(value, "left", scope.where);
    out.stack = stack(member(owner, "value", scope.where), scope.where);
    out.dynamic = true;
    const HeaderStack& of = logic_->layout.stacks[out.stack];
    out.is_union = of.of_unions;
    out.headers.assign(of.headers.begin(), of.headers.begin() + of.members);
    out.index = build(builder, member(value, "right", scope.where), scope);
    return out;
}

std::vector<std::uint32_t> Loader::headers_among(const Json& json, Expression& index, const Scope& scope) {
    ExpressionBuilder builder;
    const Named named = named_header(builder, json, scope);
    if (named.is_union) unsupported(scope.where, "a header union where a header is expected");
    std::vector<std::uint32_t> all = named.headers;
    if (named.dynamic) {
        const HeaderStack& of = logic_->layout.stacks[named.stack];
        for (std::uint32_t element = 1; element < of.size; ++element)
            all.push_back(of.header(element, named.member));
    }
    for (const std::uint32_t header : all)
        if (logic_->layout.headers[header].type != logic_->layout.headers[all[0]].type)
            fail(scope.where, "headers of different types");
    index = builder.finish(named.dynamic ? named.index : builder.constant(0), 0, scope.where);
    return all;
}

FieldRef Loader::element_field(std::uint32_t index, std::uint32_t member, std::uint32_t field, bool write,
                               const std::string& where) {
    const HeaderStack& of = logic_->layout.stacks[index];
    const std::uint32_t first = of.header(0, member);
    Header& owner = logic_->layout.headers[first];
    if (field >= owner.fields.size()) fail(where, "no such field in header '" + owner.name + "'");
    Field& found = owner.fields[field];
    if (found.varbit || found.opaque)
        unsupported(where, "use of a stack's field of variable length or of more than 128 bits");
    found.used = true;  // by all elements, see share_uses
    found.written |= write;
    return {first, found.slot, found.width, found.is_signed};
}

ExpressionBuilder::Node Loader::build_access(ExpressionBuilder& builder, const Json& json,
                                             const Scope& scope) {
    const Named owner = named_header(builder, member(json, "left", scope.where), scope);
    const std::uint32_t field = number_member(json, "right", scope.where);
    if (owner.is_union) fail(scope.where, "a field of a union");
    if (owner.dynamic) {
        const FieldRef first = element_field(owner.stack, owner.member, field, false, scope.where);
        const HeaderStack& of = logic_->layout.stacks[owner.stack];
        return builder.element(first, owner.index, of.stride, of.size);
    }
    const Header& header = logic_->layout.headers[owner.headers[0]];
    if (field >= header.fields.size()) fail(scope.where, "no such field in header '" + header.name + "'");
    return builder.field(read(Json::array({header.name, header.fields[field].name}), scope.where));
}

ExpressionBuilder::Node Loader::build_valid(ExpressionBuilder& builder, const Json& json,
                                            const Scope& scope) {
    const Named owner = named_header(builder, member(json, "right", scope.where), scope);
    Node any = builder.constant(0);
    for (const std::uint32_t index : owner.headers) {
        const FieldRef valid{0, logic_->layout.headers[index].valid_slot, 1, false};
        Node one = builder.field(valid);
        if (owner.dynamic) {
            const HeaderStack& of = logic_->layout.stacks[owner.stack];
            one = builder.element(valid, owner.index, of.members, of.size);
        }
        any = owner.headers.size() == 1 ? one : builder.make(Op::kEither, any, one);
    }
    return any;
}

// The element that was filled last; its index is beyond the end while there is none.
ExpressionBuilder::Node Loader::last_index(ExpressionBuilder& builder, std::uint32_t index) const {
    const FieldRef next{0, logic_->layout.stacks[index].next_slot, 32, false};
    return builder.make(Op::kSub, builder.field(next), builder.constant(1));
}

ExpressionBuilder::Node Loader::build_last_field(ExpressionBuilder& builder, const Json& path,
                                                 const std::string& where) {
    const auto [index, member, first] = last_field(path, false, where);
    const HeaderStack& of = logic_->layout.stacks[index];
    return builder.element(first, last_index(builder, index), of.stride, of.size);
}

// [stack, field] or [union stack, header, field]
Loader::LastField Loader::last_field(const Json& path, bool write, const std::string& where) {
    if (!path.is_array() || path.size() < 2 || path.size() > 3 || !path.back().is_string())
        fail(where, "a field of a stack is [stack, field] or [stack, header, field]");
    const std::uint32_t index = stack(path[0], where);
    const HeaderStack& of = logic_->layout.stacks[index];
    const std::uint32_t which = path.size() == 3 ? union_member(of, path[1], where) : 0;
    const auto found = logic_->layout.headers[of.header(0, which)].find(path.back().get<std::string>());
    if (!found) fail(where, "no field '" + path.back().get<std::string>() + "' in stack '" + of.name + "'");
    return {index, which, element_field(index, which, *found, write, where)};
}

// The members of a union's type are named in the JSON's header_union_types.
std::uint32_t Loader::union_member(const HeaderStack& of, const Json& name, const std::string& where) const {
    for (const Json& json : array_member(root_, "header_union_stacks", "program")) {
        if (text_member(json, "name", where) != of.name) continue;
        const std::string type = text_member(json, "union_type", where);
        for (const Json& union_type : array_member(root_, "header_union_types", "program")) {
            if (text_member(union_type, "name", where) != type) continue;
            const Json& headers = array_member(union_type, "headers", where);
            for (std::uint32_t i = 0; i < headers.size() && i < of.members; ++i)
                if (headers[i].is_array() && !headers[i].empty() && headers[i][0] == name) return i;
        }
    }
    fail(where, "no header " + name.dump() + " in union stack '" + of.name + "'");
}

}  // namespace csaud::sw
