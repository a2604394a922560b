/* SPDX-License-Identifier: GPL-2.0-only */
/* Two nodes with an RDMA card each, a cable, one RDMA write, its completion.
 *
 *     ns3-two-rnics [--bytes=65536] [--profile=NAME] [--stock]
 */
#include "../helper/rnic-helper.h"

#include "ns3/core-module.h"
#include "ns3/network-module.h"

#include <iostream>

using namespace ns3;

namespace
{

void
OnCompletion(const RnicCompletion& c)
{
    std::cout << "completion of work request " << c.wrId << ": " << c.status << ", " << c.bytes << " B, at "
              << c.at.As(Time::US) << std::endl;
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t bytes = 65536;
    std::string profile;
    bool stock = false;
    CommandLine cmd(__FILE__);
    cmd.AddValue("bytes", "length of the write", bytes);
    cmd.AddValue("profile", "host profile; none: hosts cost nothing", profile);
    cmd.AddValue("stock", "run on ns-3's own simulator implementation", stock);
    cmd.Parse(argc, argv);

    /* First of all: the models count in ps, and the implementation is chosen before anything uses it. */
    Time::SetResolution(Time::PS);
    if (!stock)
    {
        GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RnicSimulatorImpl"));
    }

    NodeContainer nodes(2);
    RnicHelper rnic;
    if (!profile.empty())
    {
        rnic.SetHostProfile(profile);
    }
    rnic.SetChannelAttribute("Rate", StringValue("100Gbps"));
    rnic.SetChannelAttribute("Propagation", StringValue("1us"));
    rnic.SetQueuePairAttribute("Mtu", IntegerValue(4096));
    NetDeviceContainer devices = rnic.Install(nodes);
    auto [local, remote] = rnic.Connect(devices.Get(0), devices.Get(1));

    /* What the peer registers for remote writes it tells us by other means: address and key. */
    const uint64_t va = 0x10000;
    uint32_t lkey = local->GetDevice()->RegisterMemory(va, bytes, RNIC_LOCAL_WRITE);
    uint32_t rkey = remote->GetDevice()->RegisterMemory(va, bytes, RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE);

    local->TraceConnectWithoutContext("Completion", MakeCallback(&OnCompletion));
    Simulator::Schedule(MicroSeconds(5), [local = local, lkey, rkey, bytes] {
        NS_ABORT_MSG_IF(local->PostWrite(1, va, lkey, bytes, va, rkey) != 0, "the write was not taken");
    });

    Simulator::Run();
    std::string audit;
    bool ok = local->GetDevice()->GetFabric()->Audit(&audit);
    std::cout << "audit: " << audit << std::endl;
    Simulator::Destroy();
    return ok ? 0 : 1;
}
