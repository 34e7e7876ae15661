#include "verbs_device.hpp"

#include <algorithm>
#include <fstream>

#include "clock.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud::device::verbs {
namespace {

constexpr std::size_t kSends = 512;
// A packet that no buffer waits for is lost without a word: no less than several windows.
constexpr std::size_t kFewestReceives = 256;

constexpr std::int64_t kFlushTime = 100'000'000;  // ns that requests of a failed queue pair get to come back
constexpr std::int64_t kPause = 10'000'000;       // ns between two starts

QueuePairConfig queues(const VerbsConfig& config) {
    const std::size_t receives = config.receive_buffer / config.path_mtu;
    return {.device = config.device,
            .port = config.port,
            .sends = kSends,
            .receives = std::max(receives, kFewestReceives)};
}

}  // namespace

VerbsDevice::VerbsDevice(const VerbsConfig& config)
    : config_(config),
      family_(address_family(config.gid)),
      pair_(queues(config)),
      events_(*pair_.domain()),
      memory_(pair_.domain()),
      handles_(pair_.domain(), *family_, config.port, config.gid_index, pair_.address_handles()),
      receives_(pair_, *family_, config.path_mtu, config.batch),
      sends_(pair_, memory_, handles_, config.path_mtu, config.batch),
      loss_port_(family_->open_loss_port(pair_.number(), config.path_mtu + wire::kCsaOffset, config.batch)),
      drops_file_("/sys/class/infiniband/" + config.device + "/ports/" + std::to_string(config.port) +
                  "/hw_counters/out_of_buffer") {
    packets_.reserve(2 * config.batch);
    drops_before_ = drops();
}

VerbsDevice::~VerbsDevice() {
    // Before the buffers that it writes to.
    pair_.close();
}

void VerbsDevice::start(std::uint32_t qkey) {
    qkey_ = qkey;
    pair_.initialise(qkey);
    receives_.start(qkey);
    sends_.start(qkey);
    pair_.start();
    started_ = monotonic_now();
}

// A queue pair that has failed (a link that went down does that on some devices) is made as new: nobody is
// connected to it, and what was lost is sent again by whoever misses it. Its number stays.
void VerbsDevice::recover() {
    const std::int64_t now = monotonic_now();
    if (!flushing_) {
        pair_.flush();
        flushing_ = true;
        broken_ = false;
        flushing_since_ = now;
    }
    receives_.drain();
    sends_.reclaim();
    const bool idle = receives_.idle() && sends_.idle();
    if (!idle && now - flushing_since_ < kFlushTime) return;
    // What fails again at once is not tried more often than this.
    if (now - started_ < kPause) return;
    pair_.reset();
    receives_.drain();
    sends_.reclaim();
    flushing_ = false;
    start(qkey_);
    ++restarts_;
}

Sent VerbsDevice::send(std::span<const TxPacket> packets) {
    return sends_.send(packets);
}

Received VerbsDevice::receive() {
    packets_.clear();
    events_.look(monotonic_now());
    reports_ = events_.count();
    if (events_.queue_pair_failed()) broken_ = true;
    if (failed()) {
        recover();
        if (failed()) return {packets_, true};
    }
    receives_.repost();
    const std::size_t cut = loss_port_ ? loss_port_->take(packets_) : 0;
    sends_.reclaim();
    const std::size_t count = receives_.take(packets_);
    if (pair_.receive_completions().event_due() || pair_.send_completions().event_due())
        pair_.channel().drain();
    bool more = cut == config_.batch || count == config_.batch;
    // The thread may sleep after this, so what comes from now on must wake it, and what came before that is
    // taken now.
    more = more || failed();
    if (!more && pair_.receive_completions().arm()) more = receives_.take(packets_) != 0;
    return {packets_, more};
}

void VerbsDevice::watch(std::vector<pollfd>& list, bool) const {
    // Room to send comes with a completion, too.
    list.push_back({pair_.event_descriptor(), POLLIN, 0});
    list.push_back({events_.descriptor(), POLLIN, 0});
    if (loss_port_) list.push_back({loss_port_->descriptor(), POLLIN, 0});
}

DeviceCounters VerbsDevice::counters() const {
    const std::uint64_t cut_drops = loss_port_ ? loss_port_->drops() : 0;
    return {.rx_queue_drops = cut_drops + drops() - drops_before_,
            .tx_errors = sends_.errors(),
            .tx_blocked = sends_.blocked(),
            .tx_copied = sends_.copied(),
            .device_reports = reports_,
            .device_restarts = restarts_};
}

void VerbsDevice::prepare(std::uint32_t address) {
    handles_.get({.address = address});
}

std::shared_ptr<const void> VerbsDevice::pin(std::span<const std::byte> memory) {
    return memory_.pin(memory);
}

// Packets for which no receive was posted, of the whole port; devices that do not count them have no file.
std::uint64_t VerbsDevice::drops() const {
    std::uint64_t count = 0;
    std::ifstream(drops_file_) >> count;
    return count;
}

}  // namespace csaud::device::verbs
