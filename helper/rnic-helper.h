/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNICSIM_HELPER_RNIC_HELPER_H
#define RNICSIM_HELPER_RNIC_HELPER_H

#include "../model/ns3/rnic-fabric.h"
#include "../model/ns3/rnic-net-device.h"
#include "../model/ns3/rnic-queue-pair.h"

#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/object-factory.h"

#include <string>
#include <utility>

namespace ns3
{

/**
 * Puts RDMA cards into nodes, links them and connects queue pairs.
 *
 *     Time::SetResolution(Time::PS);
 *     GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RnicSimulatorImpl"));
 *     RnicHelper rnic;
 *     rnic.SetChannelAttribute("Rate", DataRateValue(DataRate("100Gbps")));
 *     NetDeviceContainer devices = rnic.Install(nodes);
 *     auto [a, b] = rnic.Connect(devices.Get(0), devices.Get(1));
 */
class RnicHelper
{
  public:
    RnicHelper();

    /** A named host profile (`rnicsim describe`): sets the device attributes it knows; SetDeviceAttribute() after it wins. */
    void SetHostProfile(const std::string& name);
    void SetDeviceAttribute(const std::string& name, const AttributeValue& value);
    void SetChannelAttribute(const std::string& name, const AttributeValue& value);
    void SetSwitchAttribute(const std::string& name, const AttributeValue& value);
    void SetQueuePairAttribute(const std::string& name, const AttributeValue& value);

    /** A fabric of its own: two nodes by a link, more by links to one switch. Finished. */
    NetDeviceContainer Install(NodeContainer nodes);
    /** One more card in a fabric under construction; the caller connects it. */
    Ptr<RnicNetDevice> Install(Ptr<Node> node, Ptr<RnicFabric> fabric);
    Ptr<RnicSwitch> CreateSwitch(Ptr<RnicFabric> fabric);
    Ptr<RnicChannel> CreateChannel();

    /** A reliable connection between two cards of one finished fabric. */
    std::pair<Ptr<RnicQueuePair>, Ptr<RnicQueuePair>> Connect(Ptr<NetDevice> a, Ptr<NetDevice> b);
    /** Random streams of the queue pairs connected from now on count from this; returns how many have been given out. */
    int64_t AssignStreams(int64_t stream);

  private:
    ObjectFactory m_device;
    ObjectFactory m_channel;
    ObjectFactory m_switch;
    ObjectFactory m_queuePair;
    int64_t m_stream;
    int64_t m_given;
};

} // namespace ns3

#endif
