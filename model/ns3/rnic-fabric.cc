/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-fabric.h"

#include "../sim/trace.h"
#include "param-attributes.h"
#include "rnic-net-device.h"
#include "rnic-pump.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicFabric");
NS_OBJECT_ENSURE_REGISTERED(RnicSwitch);
NS_OBJECT_ENSURE_REGISTERED(RnicChannel);
NS_OBJECT_ENSURE_REGISTERED(RnicFabric);

TypeId
RnicSwitch::GetTypeId()
{
    static TypeId tid =
        AddParamAttributes(
            TypeId("ns3::RnicSwitch").SetParent<Object>().SetGroupName("Rnic").AddConstructor<RnicSwitch>(),
            &switch_params_table,
            &RnicSwitch::Params);
    return tid;
}

RnicSwitch::RnicSwitch()
{
    switch_params_init(&m_params);
}

void*
RnicSwitch::Params(ObjectBase* object)
{
    return &static_cast<RnicSwitch*>(object)->m_params;
}

void
RnicSwitch::MapDscp(uint8_t dscp, uint8_t priority)
{
    NS_ABORT_MSG_UNLESS(dscp < 64 && priority < PORT_PRIOS, "DSCP is 0 to 63, priority 0 to 7");
    switch_params_map_dscp(&m_params, dscp, priority);
}

TypeId
RnicChannel::GetTypeId()
{
    static TypeId tid =
        AddParamAttributes(
            TypeId("ns3::RnicChannel").SetParent<Channel>().SetGroupName("Rnic").AddConstructor<RnicChannel>(),
            &link_params_table,
            &RnicChannel::Params);
    return tid;
}

void*
RnicChannel::Params(ObjectBase* object)
{
    return &static_cast<RnicChannel*>(object)->m_params;
}

std::size_t
RnicChannel::GetNDevices() const
{
    return m_devices.size();
}

Ptr<NetDevice>
RnicChannel::GetDevice(std::size_t i) const
{
    return m_devices.at(i);
}

void
RnicChannel::DoDispose()
{
    m_devices.clear();
    Channel::DoDispose();
}

TypeId
RnicFabric::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RnicFabric")
                            .SetParent<Object>()
                            .SetGroupName("Rnic")
                            .AddConstructor<RnicFabric>()
                            .AddAttribute("MaxNodes",
                                          "hosts and switches that fit",
                                          UintegerValue(4096),
                                          MakeUintegerAccessor(&RnicFabric::m_maxNodes),
                                          MakeUintegerChecker<uint32_t>(1, 1 << 24))
                            .AddTraceSource("Drop",
                                            "a packet was lost",
                                            MakeTraceSourceAccessor(&RnicFabric::m_drop),
                                            "ns3::RnicFabric::DropTracedCallback");
    return tid;
}

RnicFabric::RnicFabric()
    : m_fabric(nullptr),
      m_finished(false)
{
}

RnicFabric::~RnicFabric()
{
    NS_ASSERT(!m_fabric);
}

/* Made when first needed, after the attributes. The event at the end keeps it until then and ends it while the
 * simulation still exists. */
struct fabric*
RnicFabric::GetFabric() const
{
    auto self = const_cast<RnicFabric*>(this);
    if (!m_fabric)
    {
        struct sim* s = RnicPump::Current();
        self->m_fabric = fabric_new(s, m_maxNodes);
        NS_ABORT_MSG_UNLESS(m_fabric, "out of memory for a fabric");
        sim_trace_set(s, OnTrace, self);
        Simulator::ScheduleDestroy(&RnicFabric::Dispose, Ptr<RnicFabric>(self));
    }
    return m_fabric;
}

struct sim*
RnicFabric::Sim() const
{
    GetFabric();
    return RnicPump::Current();
}

void
RnicFabric::DoDispose()
{
    NS_LOG_FUNCTION(this);
    for (auto& device : m_devices)
    {
        if (device)
        {
            device->Close();
        }
    }
    m_devices.clear();
    if (m_fabric)
    {
        sim_trace_set(fabric_sim(m_fabric), nullptr, nullptr);
        fabric_free(m_fabric);
        m_fabric = nullptr;
    }
    Object::DoDispose();
}

void
RnicFabric::AddHost(Ptr<RnicNetDevice> device)
{
    NS_ABORT_MSG_IF(m_finished || device->m_fabric, "the fabric is finished, or the device is already in one");
    device->m_fabricNode = fabric_add_host(GetFabric());
    device->m_fabric = this;
    m_devices.resize(device->m_fabricNode + 1);
    m_devices[device->m_fabricNode] = device;
}

void
RnicFabric::AddSwitch(Ptr<RnicSwitch> sw)
{
    char err[200];
    NS_ABORT_MSG_IF(m_finished || sw->m_node != UINT32_MAX, "the fabric is finished, or the switch is already in one");
    NS_ABORT_MSG_IF(switch_params_check(&sw->m_params, err, sizeof err) != SIM_OK, err);
    sw->m_node = fabric_add_switch(GetFabric(), &sw->m_params);
    m_devices.resize(sw->m_node + 1);
}

void
RnicFabric::Join(uint32_t a, uint32_t b, Ptr<RnicChannel> link)
{
    NS_ABORT_MSG_IF(m_finished, "the fabric is finished");
    NS_ABORT_MSG_IF(fabric_connect(GetFabric(), a, b, &link->m_params, nullptr, nullptr) != SIM_OK,
                    "these two cannot be linked: are both in this fabric?");
    for (uint32_t node : {a, b})
    {
        if (m_devices[node])
        {
            link->m_devices.push_back(m_devices[node]);
            m_devices[node]->m_channel = link;
        }
    }
}

void
RnicFabric::Connect(Ptr<RnicNetDevice> a, Ptr<RnicNetDevice> b, Ptr<RnicChannel> link)
{
    Join(a->m_fabricNode, b->m_fabricNode, link);
}

void
RnicFabric::Connect(Ptr<RnicNetDevice> host, Ptr<RnicSwitch> sw, Ptr<RnicChannel> link)
{
    Join(host->m_fabricNode, sw->m_node, link);
}

void
RnicFabric::Connect(Ptr<RnicSwitch> a, Ptr<RnicSwitch> b, Ptr<RnicChannel> link)
{
    Join(a->m_node, b->m_node, link);
}

void
RnicFabric::Finish()
{
    char err[400] = "";
    NS_ABORT_MSG_IF(m_finished, "the fabric is already finished");
    NS_ABORT_MSG_IF(fabric_finish(GetFabric(), err, sizeof err) != SIM_OK, err);
    m_finished = true;
    for (auto& device : m_devices)
    {
        if (device)
        {
            device->Open();
        }
    }
}

bool
RnicFabric::IsFinished() const
{
    return m_finished;
}

bool
RnicFabric::Audit(std::string* text) const
{
    char out[300];
    bool ok = fabric_audit_check(GetFabric(), out, sizeof out);
    *text = out;
    return ok;
}

uint64_t
RnicFabric::Digest() const
{
    return sim_digest(Sim());
}

void
RnicFabric::OnTrace(void* ctx, const struct sim_trace* t)
{
    auto self = static_cast<RnicFabric*>(ctx);
    if (t->point == SIM_TRACE_DROP)
    {
        auto p = static_cast<const struct pkt*>(t->obj);
        self->m_drop(t->node, fabric_drop_name[t->a], p ? p->frame_len : 0);
        return;
    }
    if ((t->point != SIM_TRACE_FRAME_TX && t->point != SIM_TRACE_FRAME_RX) || t->node >= self->m_devices.size())
    {
        return;
    }
    if (const auto& device = self->m_devices[t->node])
    {
        (t->point == SIM_TRACE_FRAME_TX ? device->m_macTx : device->m_macRx)((uint32_t)t->a, (uint32_t)t->b);
    }
}

} // namespace ns3
