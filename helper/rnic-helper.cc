/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-helper.h"

#include "../model/ns3/param-attributes.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/string.h"

#include <cstring>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RnicHelper");

RnicHelper::RnicHelper()
    : m_device("ns3::RnicNetDevice"),
      m_channel("ns3::RnicChannel"),
      m_switch("ns3::RnicSwitch"),
      m_queuePair("ns3::RnicQueuePair"),
      m_stream(1),
      m_given(0)
{
}

void
RnicHelper::SetHostProfile(const std::string& name)
{
    const struct host_profile* profile = host_profile_find(name.c_str());
    NS_ABORT_MSG_UNLESS(profile, "there is no host profile named " << name);
    struct host_params p;
    host_profile_apply(profile, &p);
    for (size_t i = 0; i < host_params_table.count; i++)
    {
        const struct param* row = &host_params_table.rows[i];
        int64_t whole;
        double real;
        std::memcpy(&whole, (const char*)&p + row->offset, sizeof whole);
        std::memcpy(&real, &whole, sizeof real);
        bool isReal = row->kind == PARAM_FRACTION || row->kind == PARAM_NUMBER;
        m_device.Set(ParamAttributeName(row), StringValue(ParamAttributeText(row, isReal ? real : (double)whole)));
    }
}

void
RnicHelper::SetDeviceAttribute(const std::string& name, const AttributeValue& value)
{
    m_device.Set(name, value);
}

void
RnicHelper::SetChannelAttribute(const std::string& name, const AttributeValue& value)
{
    m_channel.Set(name, value);
}

void
RnicHelper::SetSwitchAttribute(const std::string& name, const AttributeValue& value)
{
    m_switch.Set(name, value);
}

void
RnicHelper::SetQueuePairAttribute(const std::string& name, const AttributeValue& value)
{
    m_queuePair.Set(name, value);
}

Ptr<RnicNetDevice>
RnicHelper::Install(Ptr<Node> node, Ptr<RnicFabric> fabric)
{
    Ptr<RnicNetDevice> device = m_device.Create<RnicNetDevice>();
    node->AddDevice(device);
    fabric->AddHost(device);
    return device;
}

Ptr<RnicSwitch>
RnicHelper::CreateSwitch(Ptr<RnicFabric> fabric)
{
    Ptr<RnicSwitch> sw = m_switch.Create<RnicSwitch>();
    fabric->AddSwitch(sw);
    return sw;
}

Ptr<RnicChannel>
RnicHelper::CreateChannel()
{
    return m_channel.Create<RnicChannel>();
}

NetDeviceContainer
RnicHelper::Install(NodeContainer nodes)
{
    NS_ABORT_MSG_IF(nodes.GetN() < 2, "a fabric has two nodes or more");
    Ptr<RnicFabric> fabric = CreateObject<RnicFabric>();
    NetDeviceContainer devices;
    for (uint32_t i = 0; i < nodes.GetN(); i++)
    {
        devices.Add(Install(nodes.Get(i), fabric));
    }
    if (nodes.GetN() == 2)
    {
        fabric->Connect(DynamicCast<RnicNetDevice>(devices.Get(0)),
                        DynamicCast<RnicNetDevice>(devices.Get(1)),
                        CreateChannel());
    }
    else
    {
        Ptr<RnicSwitch> sw = CreateSwitch(fabric);
        for (uint32_t i = 0; i < nodes.GetN(); i++)
        {
            fabric->Connect(DynamicCast<RnicNetDevice>(devices.Get(i)), sw, CreateChannel());
        }
    }
    fabric->Finish();
    return devices;
}

std::pair<Ptr<RnicQueuePair>, Ptr<RnicQueuePair>>
RnicHelper::Connect(Ptr<NetDevice> a, Ptr<NetDevice> b)
{
    Ptr<RnicNetDevice> deviceA = DynamicCast<RnicNetDevice>(a);
    Ptr<RnicNetDevice> deviceB = DynamicCast<RnicNetDevice>(b);
    NS_ABORT_MSG_UNLESS(deviceA && deviceB && deviceA != deviceB && deviceA->GetFabric() == deviceB->GetFabric(),
                        "connect two RDMA devices of one fabric");
    auto qpA = m_queuePair.Create<RnicQueuePair>();
    auto qpB = m_queuePair.Create<RnicQueuePair>();
    RnicQueuePair::Connect(qpA, deviceA, (uint32_t)m_stream, qpB, deviceB, (uint32_t)m_stream + 1);
    m_stream += 2;
    m_given += 2;
    return {qpA, qpB};
}

int64_t
RnicHelper::AssignStreams(int64_t stream)
{
    m_stream = stream;
    return m_given;
}

} // namespace ns3
