/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNICSIM_NS3_RNIC_QUEUE_PAIR_H
#define RNICSIM_NS3_RNIC_QUEUE_PAIR_H

#include "../rnic/verbs.h"
#include "../roce/roce_params.h"

#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <string>

namespace ns3
{

class RnicNetDevice;

/** What a completion queue entry says, when the application sees it. */
struct RnicCompletion
{
    uint64_t wrId;
    bool success;
    std::string status; //!< as ibv_wc_status_str would put it
    uint32_t bytes;
    bool isReceive;
    Time at;
};

/** A RoCEv2 reliable connection. Its attributes are the rows of roce_params, and the three below. */
class RnicQueuePair : public Object
{
  public:
    static TypeId GetTypeId();
    RnicQueuePair();

    /** Make both ends, of devices whose fabric is finished, and connect them. streamA and streamB name their random streams. */
    static void Connect(Ptr<RnicQueuePair> a,
                        Ptr<RnicNetDevice> deviceA,
                        uint32_t streamA,
                        Ptr<RnicQueuePair> b,
                        Ptr<RnicNetDevice> deviceB,
                        uint32_t streamB);

    /** Post work. 0, or an enum sim_status: queue full, not connected, bad key or length. Each gives one completion. */
    int PostWrite(uint64_t wrId, uint64_t va, uint32_t lkey, uint32_t length, uint64_t remoteVa, uint32_t rkey);
    int PostRead(uint64_t wrId, uint64_t va, uint32_t lkey, uint32_t length, uint64_t remoteVa, uint32_t rkey);
    int PostSend(uint64_t wrId, uint64_t va, uint32_t lkey, uint32_t length);
    int PostRecv(uint64_t wrId, uint64_t va, uint32_t lkey, uint32_t length);

    Ptr<RnicNetDevice> GetDevice() const;
    /** nullptr before Connect() and after the end. Counters: rnic_qp_counters(). */
    struct rnic_qp* GetQp() const;

    typedef void (*CompletionTracedCallback)(const RnicCompletion& completion);

  private:
    static void* Params(ObjectBase* object);
    static void OnCompletion(void* ctx, const struct rnic_wc* wc);
    void DoDispose() override;
    void Make(Ptr<RnicNetDevice> device, uint32_t stream);
    void Meet(Ptr<RnicQueuePair> peer);
    int Post(const struct rnic_send_wr& wr);

    struct roce_params m_params;
    std::string m_cc;
    uint8_t m_priority;
    uint8_t m_dscp;
    Ptr<RnicNetDevice> m_device;
    struct rnic_qp* m_qp;
    TracedCallback<const RnicCompletion&> m_completion;
};

} // namespace ns3

#endif
