// Python buffers that native code reads or writes until a transfer completes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
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

// Buffers by the id of the transfer that uses them.
using HeldBuffers = std::unordered_map<std::uint64_t, HeldBuffer>;

}  // namespace csaud::bindings
