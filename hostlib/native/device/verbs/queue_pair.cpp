#include "queue_pair.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace csaud::device::verbs {
namespace {

// Header and payload.
constexpr std::uint32_t kSendPieces = 2;
// CSA header, control part and the bitmap of 512 packets: whole control packets.
constexpr std::uint32_t kInlineBytes = 120;

ibv_device_attr query(ibv_context* context, const std::string& device) {
    ibv_device_attr limits{};
    const int error = library().query_device(context, &limits);
    if (error != 0) throw_error(error, "query RDMA device " + device);
    return limits;
}

// A queue as long as asked for, where the device allows it.
std::size_t limited(std::size_t wanted, const ibv_device_attr& limits) {
    const int most = std::min(limits.max_qp_wr, limits.max_cqe);
    return std::min(wanted, static_cast<std::size_t>(std::max(most, 1)));
}

QueuePairConfig limited(QueuePairConfig config, const ibv_device_attr& limits) {
    config.sends = limited(config.sends, limits);
    config.receives = limited(config.receives, limits);
    return config;
}

}  // namespace

QueuePair::QueuePair(const QueuePairConfig& config)
    : domain_(std::make_shared<Domain>(config.device)),
      limits_(query(domain_->context.get(), config.device)),
      config_(limited(config, limits_)),
      channel_(domain_->context.get()),
      send_completions_(domain_->context.get(), channel_, config_.sends),
      receive_completions_(domain_->context.get(), channel_, config_.receives) {
    create();
}

void QueuePair::create() {
    // A device that cannot take so much inline takes none.
    for (const std::uint32_t bytes : {kInlineBytes, 0U}) {
        ibv_qp_init_attr wanted{};
        wanted.qp_type = IBV_QPT_UD;
        wanted.send_cq = send_completions_.get();
        wanted.recv_cq = receive_completions_.get();
        wanted.cap.max_send_wr = static_cast<std::uint32_t>(config_.sends);
        wanted.cap.max_recv_wr = static_cast<std::uint32_t>(config_.receives);
        wanted.cap.max_send_sge = kSendPieces;
        wanted.cap.max_recv_sge = 1;
        wanted.cap.max_inline_data = bytes;
        wanted.sq_sig_all = 0;
        pair_.reset(library().create_qp(domain_->pd.get(), &wanted));
        if (!pair_) continue;
        inline_bytes_ = wanted.cap.max_inline_data;
        return;
    }
    throw_error(errno, "create a queue pair on " + config_.device);
}

void QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* state) {
    const int error = library().modify_qp(pair_.get(), &attributes, mask);
    if (error != 0)
        throw_error(error, std::string("bring the queue pair on ") + config_.device + " to " + state);
}

void QueuePair::initialise(std::uint32_t qkey) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.pkey_index = 0;
    attributes.port_num = config_.port;
    attributes.qkey = qkey;
    modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, "INIT");
}

void QueuePair::start() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    modify(attributes, IBV_QP_STATE, "RTR");
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = 0;
    modify(attributes, IBV_QP_STATE | IBV_QP_SQ_PSN, "RTS");
}

void QueuePair::flush() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    modify(attributes, IBV_QP_STATE, "ERR");
}

bool QueuePair::sends_now() const {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr made{};
    const int error = library().query_qp(pair_.get(), &attributes, IBV_QP_STATE, &made);
    if (error != 0) throw_error(error, "ask for the state of the queue pair on " + config_.device);
    return attributes.qp_state == IBV_QPS_RTS;
}

void QueuePair::reset() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RESET;
    modify(attributes, IBV_QP_STATE, "RESET");
}

}  // namespace csaud::device::verbs
