/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNICSIM_NS3_RNIC_NET_DEVICE_H
#define RNICSIM_NS3_RNIC_NET_DEVICE_H

#include "../host/host.h"
#include "../rnic/verbs.h"

#include "ns3/mac48-address.h"
#include "ns3/net-device.h"
#include "ns3/nstime.h"
#include "ns3/traced-callback.h"

#include <vector>

namespace ns3
{

class RnicFabric;
class RnicChannel;

/**
 * An RDMA network card with the host around it: CPU, PCIe and NIC costs are attributes, the rows of host_params.
 * Traffic goes by verbs, through RnicQueuePair. It carries no packets of ns-3's IP stack: Send() refuses them.
 */
class RnicNetDevice : public NetDevice
{
  public:
    static TypeId GetTypeId();
    RnicNetDevice();
    ~RnicNetDevice() override;

    /** Register [va, va + length) for local use and for remote access (enum rnic_access); returns the key, which is lkey and
     *  rkey. The content is a pattern unless memory is given. */
    uint32_t RegisterMemory(uint64_t va, uint64_t length, unsigned access, uint8_t* memory = nullptr);
    /** CPU time spent so far, all cores. */
    Time GetCpuBusy() const;
    /** The C objects; nullptr before RnicFabric::Finish() and after the end. */
    struct host* GetHost() const;
    struct rnic_dev* GetDev() const;
    struct rnic_pd* GetPd() const;
    Ptr<RnicFabric> GetFabric() const;
    /** Keep a queue pair until the end: C completions point at it. */
    void Hold(Ptr<Object> queuePair);

    /** A frame begins on the wire, or its last bit has arrived: bytes with FCS, priority. */
    typedef void (*FrameTracedCallback)(uint32_t bytes, uint32_t priority);

    void SetIfIndex(const uint32_t index) override;
    uint32_t GetIfIndex() const override;
    Ptr<Channel> GetChannel() const override;
    void SetAddress(Address address) override;
    Address GetAddress() const override;
    bool SetMtu(const uint16_t mtu) override;
    uint16_t GetMtu() const override;
    bool IsLinkUp() const override;
    void AddLinkChangeCallback(Callback<void> callback) override;
    bool IsBroadcast() const override;
    Address GetBroadcast() const override;
    bool IsMulticast() const override;
    Address GetMulticast(Ipv4Address multicastGroup) const override;
    Address GetMulticast(Ipv6Address addr) const override;
    bool IsBridge() const override;
    bool IsPointToPoint() const override;
    bool Send(Ptr<Packet> packet, const Address& dest, uint16_t protocolNumber) override;
    bool SendFrom(Ptr<Packet> packet, const Address& source, const Address& dest, uint16_t protocolNumber) override;
    Ptr<Node> GetNode() const override;
    void SetNode(Ptr<Node> node) override;
    bool NeedsArp() const override;
    void SetReceiveCallback(ReceiveCallback cb) override;
    void SetPromiscReceiveCallback(PromiscReceiveCallback cb) override;
    bool SupportsSendFrom() const override;

  private:
    friend class RnicFabric;
    static void* Params(ObjectBase* object);
    void DoDispose() override;
    void Open();  //!< the fabric is finished
    void Close(); //!< and ends

    struct host_params m_params;
    uint32_t m_maxQps;
    uint32_t m_index;
    uint32_t m_fabricNode;
    Mac48Address m_address;
    Ptr<Node> m_node;
    Ptr<RnicChannel> m_channel;
    RnicFabric* m_fabric;
    struct host* m_host;
    struct rnic_dev* m_dev;
    struct rnic_pd* m_pd;
    std::vector<Ptr<Object>> m_held;
    TracedCallback<uint32_t, uint32_t> m_macTx;
    TracedCallback<uint32_t, uint32_t> m_macRx;
};

} // namespace ns3

#endif
