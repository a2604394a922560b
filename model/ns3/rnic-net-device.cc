/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-net-device.h"

#include "param-attributes.h"
#include "rnic-fabric.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicNetDevice");
NS_OBJECT_ENSURE_REGISTERED(RnicNetDevice);

TypeId
RnicNetDevice::GetTypeId()
{
    static TypeId tid =
        AddParamAttributes(
            TypeId("ns3::RnicNetDevice").SetParent<NetDevice>().SetGroupName("Rnic").AddConstructor<RnicNetDevice>(),
            &host_params_table,
            &RnicNetDevice::Params)
            .AddAttribute("MaxQps",
                          "queue pairs that the card holds",
                          UintegerValue(1024),
                          MakeUintegerAccessor(&RnicNetDevice::m_maxQps),
                          MakeUintegerChecker<uint32_t>(1, 1 << 20))
            .AddTraceSource("MacTx",
                            "a frame begins on the wire",
                            MakeTraceSourceAccessor(&RnicNetDevice::m_macTx),
                            "ns3::RnicNetDevice::FrameTracedCallback")
            .AddTraceSource("MacRx",
                            "a frame's last bit has arrived",
                            MakeTraceSourceAccessor(&RnicNetDevice::m_macRx),
                            "ns3::RnicNetDevice::FrameTracedCallback");
    return tid;
}

RnicNetDevice::RnicNetDevice()
    : m_index(0),
      m_fabricNode(UINT32_MAX),
      m_address(Mac48Address::Allocate()),
      m_fabric(nullptr),
      m_host(nullptr),
      m_dev(nullptr),
      m_pd(nullptr)
{
}

RnicNetDevice::~RnicNetDevice()
{
    NS_ASSERT(!m_host);
}

void*
RnicNetDevice::Params(ObjectBase* object)
{
    return &static_cast<RnicNetDevice*>(object)->m_params;
}

void
RnicNetDevice::Open()
{
    NS_ABORT_MSG_IF(fabric_ports(m_fabric->GetFabric(), m_fabricNode) == 0, "a device has no link");
    m_host = host_new(m_fabric->Sim(), fabric_port(m_fabric->GetFabric(), m_fabricNode, 0), &m_params);
    m_dev = m_host ? rnic_dev_new(m_host, m_maxQps) : nullptr;
    m_pd = m_dev ? rnic_pd_new(m_dev) : nullptr;
    NS_ABORT_MSG_UNLESS(m_pd, "out of memory for a device");
}

void
RnicNetDevice::Close()
{
    rnic_dev_free(m_dev);
    if (m_host)
    {
        host_free(m_host);
    }
    m_host = nullptr;
    m_dev = nullptr;
    m_pd = nullptr;
    m_fabric = nullptr;
    m_channel = nullptr;
    m_held.clear();
}

void
RnicNetDevice::Hold(Ptr<Object> queuePair)
{
    m_held.push_back(queuePair);
}

void
RnicNetDevice::DoDispose()
{
    NS_LOG_FUNCTION(this);
    Close();
    m_node = nullptr;
    NetDevice::DoDispose();
}

uint32_t
RnicNetDevice::RegisterMemory(uint64_t va, uint64_t length, unsigned access, uint8_t* memory)
{
    NS_ABORT_MSG_UNLESS(m_pd, "finish the fabric first");
    struct rnic_mr* mr = rnic_mr_reg(m_pd, va, length, access, memory);
    NS_ABORT_MSG_UNLESS(mr, "the region cannot be registered");
    return rnic_mr_key(mr);
}

Time
RnicNetDevice::GetCpuBusy() const
{
    return m_host ? PicoSeconds(host_cpu_busy_ps(m_host)) : Time(0);
}

struct host*
RnicNetDevice::GetHost() const
{
    return m_host;
}

struct rnic_dev*
RnicNetDevice::GetDev() const
{
    return m_dev;
}

struct rnic_pd*
RnicNetDevice::GetPd() const
{
    return m_pd;
}

Ptr<RnicFabric>
RnicNetDevice::GetFabric() const
{
    return m_fabric;
}

void
RnicNetDevice::SetIfIndex(const uint32_t index)
{
    m_index = index;
}

uint32_t
RnicNetDevice::GetIfIndex() const
{
    return m_index;
}

Ptr<Channel>
RnicNetDevice::GetChannel() const
{
    return m_channel;
}

void
RnicNetDevice::SetAddress(Address address)
{
    m_address = Mac48Address::ConvertFrom(address);
}

Address
RnicNetDevice::GetAddress() const
{
    return m_address;
}

/* The path MTU is a queue pair's attribute. */
bool
RnicNetDevice::SetMtu(const uint16_t)
{
    return false;
}

uint16_t
RnicNetDevice::GetMtu() const
{
    return 4096;
}

bool
RnicNetDevice::IsLinkUp() const
{
    return m_host != nullptr;
}

void
RnicNetDevice::AddLinkChangeCallback(Callback<void>)
{
}

bool
RnicNetDevice::IsBroadcast() const
{
    return false;
}

Address
RnicNetDevice::GetBroadcast() const
{
    return Mac48Address::GetBroadcast();
}

bool
RnicNetDevice::IsMulticast() const
{
    return false;
}

Address
RnicNetDevice::GetMulticast(Ipv4Address multicastGroup) const
{
    return Mac48Address::GetMulticast(multicastGroup);
}

Address
RnicNetDevice::GetMulticast(Ipv6Address addr) const
{
    return Mac48Address::GetMulticast(addr);
}

bool
RnicNetDevice::IsBridge() const
{
    return false;
}

bool
RnicNetDevice::IsPointToPoint() const
{
    return m_channel && m_channel->GetNDevices() == 2;
}

bool
RnicNetDevice::Send(Ptr<Packet>, const Address&, uint16_t protocolNumber)
{
    NS_LOG_WARN("refuses an IP stack's packet of protocol " << protocolNumber << ": use verbs");
    return false;
}

bool
RnicNetDevice::SendFrom(Ptr<Packet> packet, const Address&, const Address& dest, uint16_t protocolNumber)
{
    return Send(packet, dest, protocolNumber);
}

Ptr<Node>
RnicNetDevice::GetNode() const
{
    return m_node;
}

void
RnicNetDevice::SetNode(Ptr<Node> node)
{
    m_node = node;
}

bool
RnicNetDevice::NeedsArp() const
{
    return false;
}

void
RnicNetDevice::SetReceiveCallback(ReceiveCallback)
{
}

void
RnicNetDevice::SetPromiscReceiveCallback(PromiscReceiveCallback)
{
}

bool
RnicNetDevice::SupportsSendFrom() const
{
    return false;
}

} // namespace ns3
