/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-queue-pair.h"

#include "../cc/cc.h"
#include "../fabric/fabric.h"
#include "../roce/roce.h"
#include "param-attributes.h"
#include "rnic-fabric.h"
#include "rnic-net-device.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicQueuePair");
NS_OBJECT_ENSURE_REGISTERED(RnicQueuePair);

TypeId
RnicQueuePair::GetTypeId()
{
    static TypeId tid =
        AddParamAttributes(
            TypeId("ns3::RnicQueuePair").SetParent<Object>().SetGroupName("Rnic").AddConstructor<RnicQueuePair>(),
            &roce_params_table,
            &RnicQueuePair::Params)
            .AddAttribute("CongestionControl",
                          "name of the congestion control, such as none or dcqcn",
                          StringValue("none"),
                          MakeStringAccessor(&RnicQueuePair::m_cc),
                          MakeStringChecker())
            .AddAttribute("Priority",
                          "the NIC's priority of what it sends",
                          UintegerValue(3),
                          MakeUintegerAccessor(&RnicQueuePair::m_priority),
                          MakeUintegerChecker<uint8_t>(0, 7))
            .AddAttribute("Dscp",
                          "DSCP of what it sends; switches derive the priority from it",
                          UintegerValue(24),
                          MakeUintegerAccessor(&RnicQueuePair::m_dscp),
                          MakeUintegerChecker<uint8_t>(0, 63))
            .AddTraceSource("Completion",
                            "the application sees a completion",
                            MakeTraceSourceAccessor(&RnicQueuePair::m_completion),
                            "ns3::RnicQueuePair::CompletionTracedCallback");
    return tid;
}

RnicQueuePair::RnicQueuePair()
    : m_qp(nullptr)
{
}

void*
RnicQueuePair::Params(ObjectBase* object)
{
    return &static_cast<RnicQueuePair*>(object)->m_params;
}

/* The C queue pair belongs to the card and goes with it; until then its completions must find this object. */
void
RnicQueuePair::DoDispose()
{
    m_qp = nullptr;
    m_device = nullptr;
    Object::DoDispose();
}

void
RnicQueuePair::Make(Ptr<RnicNetDevice> device, uint32_t stream)
{
    char err[200];
    NS_ABORT_MSG_IF(m_qp, "the queue pair is already made");
    NS_ABORT_MSG_UNLESS(device->GetDev(), "finish the fabric first");
    NS_ABORT_MSG_IF(roce_params_check(&m_params, err, sizeof err) != SIM_OK, err);
    const struct cc_ops* cc = cc_find(m_cc.c_str());
    NS_ABORT_MSG_UNLESS(cc, "there is no congestion control named " << m_cc);
    struct sim* s = device->GetFabric()->Sim();
    uint32_t depth = (uint32_t)(m_params.sq_depth + m_params.rq_depth);
    struct rnic_cq* cq = rnic_cq_new(device->GetDev(), depth, 0, OnCompletion, this);
    NS_ABORT_MSG_UNLESS(cq, "out of memory for a completion queue");
    struct port* port = fabric_port(device->GetFabric()->GetFabric(), host_node(device->GetHost()), 0);
    m_qp = roce_qp_new(device->GetDev(),
                       device->GetPd(),
                       cq,
                       cq,
                       &m_params,
                       cc,
                       nullptr,
                       port_rate_bps(port),
                       stream,
                       sim_seed(s));
    NS_ABORT_MSG_UNLESS(m_qp, "the card holds no more queue pairs (MaxQps)");
    m_device = device;
    device->Hold(this);
}

void
RnicQueuePair::Meet(Ptr<RnicQueuePair> peer)
{
    struct roce_peer p = {};
    p.local_addr = host_addr(m_device->GetHost());
    p.remote_addr = host_addr(peer->m_device->GetHost());
    p.remote_qpn = rnic_qp_num(peer->m_qp);
    p.remote_psn = roce_qp_first_psn(peer->m_qp);
    p.path_mtu_bytes = (uint32_t)peer->m_params.mtu_bytes;
    p.prio = m_priority;
    p.dscp = m_dscp;
    p.ird = (uint32_t)peer->m_params.ird;
    NS_ABORT_MSG_IF(roce_qp_connect(m_qp, &p) != SIM_OK, "the queue pairs cannot be connected");
}

void
RnicQueuePair::Connect(Ptr<RnicQueuePair> a,
                       Ptr<RnicNetDevice> deviceA,
                       uint32_t streamA,
                       Ptr<RnicQueuePair> b,
                       Ptr<RnicNetDevice> deviceB,
                       uint32_t streamB)
{
    a->Make(deviceA, streamA);
    b->Make(deviceB, streamB);
    a->Meet(b);
    b->Meet(a);
}

int
RnicQueuePair::Post(const struct rnic_send_wr& wr)
{
    if (!GetQp())
    {
        return SIM_ERR_STATE;
    }
    m_device->GetFabric()->Sim();
    return rnic_post_send(m_qp, &wr);
}

static struct rnic_send_wr
Signaled(enum rnic_opcode op, uint64_t wrId, struct rnic_sge sge, uint64_t remoteVa, uint32_t rkey)
{
    struct rnic_send_wr wr = {};
    wr.wr_id = wrId;
    wr.op = op;
    wr.flags = RNIC_SEND_SIGNALED;
    wr.sge = sge;
    wr.remote_va = remoteVa;
    wr.rkey = rkey;
    return wr;
}

int
RnicQueuePair::PostWrite(uint64_t wrId, uint64_t va, uint32_t lkey, uint32_t length, uint64_t remoteVa, uint32_t rkey)
{
    return Post(Signaled(RNIC_OP_WRITE, wrId, {va, length, lkey}, remoteVa, rkey));
}

int
RnicQueuePair::PostRead(uint64_t wrId, uint64_t va, uint32_t lkey, uint32_t length, uint64_t remoteVa, uint32_t rkey)
{
    return Post(Signaled(RNIC_OP_READ, wrId, {va, length, lkey}, remoteVa, rkey));
}

int
RnicQueuePair::PostSend(uint64_t wrId, uint64_t va, uint32_t lkey, uint32_t length)
{
    return Post(Signaled(RNIC_OP_SEND, wrId, {va, length, lkey}, 0, 0));
}

int
RnicQueuePair::PostRecv(uint64_t wrId, uint64_t va, uint32_t lkey, uint32_t length)
{
    if (!GetQp())
    {
        return SIM_ERR_STATE;
    }
    struct rnic_recv_wr wr = {};
    wr.wr_id = wrId;
    wr.sge = {va, length, lkey};
    m_device->GetFabric()->Sim();
    return rnic_post_recv(m_qp, &wr);
}

Ptr<RnicNetDevice>
RnicQueuePair::GetDevice() const
{
    return m_device;
}

struct rnic_qp*
RnicQueuePair::GetQp() const
{
    return m_device && m_device->GetDev() ? m_qp : nullptr;
}

void
RnicQueuePair::OnCompletion(void* ctx, const struct rnic_wc* wc)
{
    auto self = static_cast<RnicQueuePair*>(ctx);
    RnicCompletion c{wc->wr_id,
                     wc->status == RNIC_WC_SUCCESS,
                     rnic_wc_status_name(wc->status),
                     wc->byte_len,
                     wc->op == RNIC_OP_RECV,
                     Simulator::Now()};
    self->m_completion(c);
}

} // namespace ns3
