// Python buffers that native code reads or writes until a transfer completes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace csaud::bindings {

// A view of a Python object's memory; the object can neither go nor be resized while it exists. With the GIL
// only.
class HeldBuffer {
  public:
    // Throws Python's own BufferError where the object is not contiguous, or not writable as asked.
    HeldBuffer(nanobind::handle object, bool writable) {
        if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0)
            throw nanobind::python_error();
    }
    ~HeldBuffer() {
        pinned_.reset();  // before the memory may go
        if (view_.obj != nullptr) PyBuffer_Release(&view_);
    }
    HeldBuffer(HeldBuffer&& other) noexcept : view_(other.view_), pinned_(std::move(other.pinned_)) {
        other.view_.obj = nullptr;
    }
    HeldBuffer& operator=(HeldBuffer&&) = delete;
    HeldBuffer(const HeldBuffer&) = delete;
    HeldBuffer& operator=(const HeldBuffer&) = delete;

    // Bytes [offset, offset + length); throws std::out_of_range beyond the buffer.
    std::span<std::byte> part(std::size_t offset, std::size_t length) const;
    std::span<const std::byte> whole() const {
        return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

    // Something that lives as long as this does: the memory's registration with a device.
    void keep(std::shared_ptr<const void> pinned) { pinned_ = std::move(pinned); }

  private:
    Py_buffer view_{};
    std::shared_ptr<const void> pinned_;
};

// Buffers by the id of the transfer that uses them. With the GIL only, so each post and each completion comes
// here by itself; but who waits may come with a completion before who posted comes with the buffer.
class HeldBuffers {
  public:
    void hold(std::uint64_t id, HeldBuffer buffer) {
        if (completed_.erase(id) == 0) held_.emplace(id, std::move(buffer));
    }
    void release(std::uint64_t id) {
        if (held_.erase(id) == 0) completed_.insert(id);
    }
    void clear() {
        held_.clear();
        completed_.clear();
    }

  private:
    std::unordered_map<std::uint64_t, HeldBuffer> held_;
    std::unordered_set<std::uint64_t> completed_;  // before their buffers came
};

}  // namespace csaud::bindings
