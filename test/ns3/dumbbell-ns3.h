/* SPDX-License-Identifier: GPL-2.0-only */
/** ns-3's TcpSocketBase in the dumbbell. */
#ifndef RNICSIM_TEST_NS3_DUMBBELL_NS3_H
#define RNICSIM_TEST_NS3_DUMBBELL_NS3_H

#include "dumbbell.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

/** Loses packets with payload as DumbbellLoss says. */
class LossModel : public ns3::ErrorModel
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("rnicsim::LossModel").SetParent<ns3::ErrorModel>();
        return tid;
    }

    explicit LossModel(const Dumbbell& d)
        : m_loss(d)
    {
    }

    uint64_t m_lost = 0;

  private:
    bool DoCorrupt(ns3::Ptr<ns3::Packet> p) override
    {
        bool lost = p->GetSize() > 200 && m_loss.Loses();
        m_lost += lost;
        return lost;
    }

    void DoReset() override
    {
    }

    DumbbellLoss m_loss;
};

class Ns3Dumbbell
{
  public:
    explicit Ns3Dumbbell(const Dumbbell& d)
        : m_d(d)
    {
    }

    DumbbellResult Run();

  private:
    void Defaults();
    void Cwnd(uint32_t, uint32_t now);
    void Alpha(uint32_t, uint32_t, double alpha);
    void Rx(ns3::Ptr<const ns3::Packet> p, const ns3::Address&);
    void Hook();
    void Slice();
    void Dropped(ns3::Ptr<const ns3::Packet>);
    void DiscDropped(ns3::Ptr<const ns3::QueueDiscItem>);
    void Marked(ns3::Ptr<const ns3::QueueDiscItem>, const char*);

    const Dumbbell m_d;
    DumbbellResult m_r;
    uint64_t m_counted = 0, m_slice = 0;
};

inline void
Ns3Dumbbell::Defaults()
{
    using namespace ns3;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(m_d.ns3_type)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(m_d.prr ? TcpPrrRecovery::GetTypeId() : TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(DUMBBELL_SEGMENT));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(8192000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(8192000));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(m_d.delayed_acks));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(m_d.min_rto_s)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(m_d.mark_above_s > 0 ? "On" : "Off"));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false)); /* ours starts as Reno, RFC 9438 4.10 */
    Config::SetDefault("ns3::CoDelQueueDisc::UseEcn", BooleanValue(m_d.mark_above_s > 0));
    if (m_d.mark_above_s > 0)
    {
        Config::SetDefault("ns3::CoDelQueueDisc::CeThreshold", TimeValue(Seconds(m_d.mark_above_s)));
    }
}

inline void
Ns3Dumbbell::Cwnd(uint32_t, uint32_t now)
{
    m_r.cwnd.emplace_back(ns3::Simulator::Now().GetSeconds(), (double)now / DUMBBELL_SEGMENT);
}

inline void
Ns3Dumbbell::Alpha(uint32_t, uint32_t, double alpha)
{
    m_r.alpha.emplace_back(ns3::Simulator::Now().GetSeconds(), alpha);
}

inline void
Ns3Dumbbell::Rx(ns3::Ptr<const ns3::Packet> p, const ns3::Address&)
{
    if (ns3::Simulator::Now().GetSeconds() >= m_d.from_s)
    {
        m_counted += p->GetSize();
    }
    m_slice += p->GetSize();
}

inline void
Ns3Dumbbell::Hook()
{
    using namespace ns3;
    std::string socket = "/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/";
    Config::ConnectWithoutContext(socket + "CongestionWindow", MakeCallback(&Ns3Dumbbell::Cwnd, this));
    if (m_d.cc == "dctcp")
    {
        Config::ConnectWithoutContext(socket + "CongestionOps/$ns3::TcpDctcp/CongestionEstimate",
                                      MakeCallback(&Ns3Dumbbell::Alpha, this));
    }
}

inline void
Ns3Dumbbell::Slice()
{
    double now = ns3::Simulator::Now().GetSeconds();
    if (now > m_d.from_s + DUMBBELL_SLICE_S / 2)
    {
        m_r.mbps.push_back((double)m_slice * 8 / DUMBBELL_SLICE_S / 1e6);
    }
    m_slice = 0;
    ns3::Simulator::Schedule(ns3::Seconds(DUMBBELL_SLICE_S), &Ns3Dumbbell::Slice, this);
}

inline void
Ns3Dumbbell::Dropped(ns3::Ptr<const ns3::Packet>)
{
    m_r.lost++;
}

inline void
Ns3Dumbbell::DiscDropped(ns3::Ptr<const ns3::QueueDiscItem>)
{
    m_r.lost++;
}

inline void
Ns3Dumbbell::Marked(ns3::Ptr<const ns3::QueueDiscItem>, const char*)
{
    m_r.marked++;
}

inline DumbbellResult
Ns3Dumbbell::Run()
{
    using namespace ns3;
    Defaults();
    NodeContainer n;
    n.Create(4); /* sender, two routers, receiver */
    PointToPointHelper access, neck;
    access.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize("100000p")));
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t)m_d.access_bps)));
    access.SetChannelAttribute("Delay", TimeValue(MicroSeconds(1)));
    NetDeviceContainer left = access.Install(n.Get(0), n.Get(1)), right = access.Install(n.Get(2), n.Get(3));
    neck.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, m_d.codel ? 3 : m_d.queue_packets)));
    neck.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t)m_d.access_bps)));
    neck.SetChannelAttribute("Delay", TimeValue(Seconds(m_d.rtt_s / 2)));
    NetDeviceContainer middle = neck.Install(n.Get(1), n.Get(2));
    middle.Get(0)->SetAttribute("DataRate", DataRateValue(DataRate((uint64_t)m_d.rate_bps)));
    Ptr<LossModel> loss = CreateObject<LossModel>(m_d);
    middle.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(loss));
    InternetStackHelper stack;
    stack.Install(n);
    /* Without a queueing discipline what the full device cannot take is dropped above it. */
    n.Get(1)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", MakeCallback(&Ns3Dumbbell::Dropped, this));
    Ipv4AddressHelper address;
    const char* base[] = {"10.1.1.0", "10.1.2.0", "10.1.3.0"};
    const NetDeviceContainer* pairs[] = {&left, &middle, &right};
    Ipv4Address to;
    if (m_d.codel)
    {
        TrafficControlHelper tc;
        tc.SetRootQueueDisc("ns3::CoDelQueueDisc",
                            "MaxSize",
                            QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, m_d.queue_packets)));
        if (m_d.device_hold_s > 0)
        {
            tc.SetQueueLimits("ns3::DynamicQueueLimits", "HoldTime", TimeValue(Seconds(m_d.device_hold_s)));
        }
        QueueDiscContainer q = tc.Install(middle.Get(0));
        q.Get(0)->TraceConnectWithoutContext("Drop", MakeCallback(&Ns3Dumbbell::DiscDropped, this));
        q.Get(0)->TraceConnectWithoutContext("Mark", MakeCallback(&Ns3Dumbbell::Marked, this));
    }
    for (int i = 0; i < 3; i++)
    {
        address.SetBase(base[i], "255.255.255.0");
        to = address.Assign(*pairs[i]).GetAddress(1);
        TrafficControlHelper none;
        for (uint32_t k = 0; k < 2; k++)
        {
            if (!(m_d.codel && i == 1 && k == 0))
            {
                none.Uninstall(pairs[i]->Get(k));
            }
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(to, 7));
    ApplicationContainer source = bulk.Install(n.Get(0));
    source.Start(Seconds(m_d.start_s));
    PacketSinkHelper sinks("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 7));
    ApplicationContainer sink = sinks.Install(n.Get(3));
    sink.Start(Seconds(0));
    sink.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Ns3Dumbbell::Rx, this));
    Simulator::Schedule(Seconds(m_d.start_s) + MicroSeconds(1), &Ns3Dumbbell::Hook, this);
    Simulator::Schedule(Seconds(m_d.from_s), &Ns3Dumbbell::Slice, this);
    Simulator::Stop(Seconds(m_d.stop_s));
    Simulator::Run();
    Simulator::Destroy();
    m_r.lost += loss->m_lost;
    m_r.throughput_bps = (double)m_counted * 8 / (m_d.stop_s - m_d.from_s);
    return m_r;
}

inline DumbbellResult
RunNs3(const Dumbbell& d)
{
    return Ns3Dumbbell(d).Run();
}

#endif
