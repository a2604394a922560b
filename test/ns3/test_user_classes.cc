/* SPDX-License-Identifier: GPL-2.0-only */
/* What an ns-3 user touches: attributes derived from the parameter tables, devices, queue pairs, trace sources, lifetimes. */
#include "../../helper/rnic-helper.h"
#include "../../model/ns3/param-attributes.h"
#include "../../model/roce/roce.h"
#include "checks.h"

#include "ns3/core-module.h"
#include "ns3/network-module.h"

#include <cstring>
#include <map>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint64_t VA = 0x10000;

void
Choose(bool ours)
{
    GlobalValue::Bind("SimulatorImplementationType",
                      StringValue(ours ? "ns3::RnicSimulatorImpl" : "ns3::DefaultSimulatorImpl"));
}

template <typename T>
bool
AttributesMirror(const struct param_table* table)
{
    bool good = true;
    TypeId tid = T::GetTypeId();
    for (size_t i = 0; i < table->count; i++)
    {
        const struct param* row = &table->rows[i];
        TypeId::AttributeInformation info;
        if (!tid.LookupAttributeByName(ParamAttributeName(row), &info))
        {
            std::printf("no attribute %s\n", ParamAttributeName(row).c_str());
            good = false;
            continue;
        }
        good &= info.help.find(row->meaning) != std::string::npos && info.help.find(row->source) != std::string::npos;
        /* the default as text reads back as the row's default */
        Ptr<T> object = CreateObject<T>();
        Ptr<AttributeValue> v = info.checker->Create();
        good &= info.accessor->Get(PeekPointer(object), *v);
        good &= info.accessor->Set(PeekPointer(object), *v);
        if (row->kind == PARAM_TIME && row->def < 1e18)
        {
            good &= DynamicCast<TimeValue>(v)->Get().GetPicoSeconds() == (int64_t)row->def;
        }
        if (row->kind == PARAM_COUNT || row->kind == PARAM_BYTES)
        {
            good &= DynamicCast<IntegerValue>(v)->Get() == (int64_t)row->def;
        }
        if (row->kind == PARAM_RATE)
        {
            good &= DynamicCast<DataRateValue>(v)->Get().GetBitRate() == (uint64_t)row->def;
        }
        if (row->kind == PARAM_FRACTION || row->kind == PARAM_NUMBER)
        {
            good &= DynamicCast<DoubleValue>(v)->Get() == row->def;
        }
        if (!good)
        {
            std::printf("%s %s\n", table->name, row->field);
            return false;
        }
        object->Dispose();
    }
    return good;
}

void
AttributesComeFromTheTables()
{
    CHECK(AttributesMirror<RnicChannel>(&link_params_table));
    CHECK(AttributesMirror<RnicSwitch>(&switch_params_table));
    CHECK(AttributesMirror<RnicNetDevice>(&host_params_table));
    CHECK(AttributesMirror<RnicQueuePair>(&roce_params_table));
    Ptr<RnicChannel> link = CreateObject<RnicChannel>();
    CHECK(link->SetAttributeFailSafe("Propagation", StringValue("1500ps")));
    TimeValue t;
    link->GetAttribute("Propagation", t);
    CHECK(t.Get().GetPicoSeconds() == 1500);
    CHECK(!link->SetAttributeFailSafe("Propagation", StringValue("2s"))); /* above the row's range */
    CHECK(!link->SetAttributeFailSafe("Loss", DoubleValue(1.5)));
    CHECK(!link->SetAttributeFailSafe("Rate", StringValue("fast")));
    Ptr<RnicQueuePair> qp = CreateObject<RnicQueuePair>();
    CHECK(qp->SetAttributeFailSafe("Retry", StringValue("go-back-0")));
    CHECK(!qp->SetAttributeFailSafe("Retry", StringValue("go-back-1")));
    CHECK(!qp->SetAttributeFailSafe("Mtu", IntegerValue(9000)));
}

struct Run
{
    std::vector<RnicCompletion> completions;
    std::map<uint32_t, uint32_t> tx, rx; //!< frames by length
    uint32_t drops = 0;
    std::string cause, audit;
    uint64_t digest = 0;

    void OnCompletion(const RnicCompletion& c)
    {
        completions.push_back(c);
    }

    void OnTx(uint32_t bytes, uint32_t)
    {
        tx[bytes]++;
    }

    void OnRx(uint32_t bytes, uint32_t)
    {
        rx[bytes]++;
    }

    void OnDrop(uint32_t, const std::string& why, uint32_t)
    {
        drops++;
        cause = why;
    }
};

/* A write, a read, and a send with its receive between nodes 0 and last of n, from 3 us on. */
Run
Exchange(bool ours, uint32_t n, double loss, bool keep)
{
    static std::vector<Ptr<Object>> kept;
    Run run;
    Choose(ours);
    NodeContainer nodes(n);
    RnicHelper rnic;
    rnic.SetChannelAttribute("Loss", DoubleValue(loss));
    rnic.SetQueuePairAttribute("LocalAckTimeout", IntegerValue(4));
    NetDeviceContainer devices = rnic.Install(nodes);
    auto [a, b] = rnic.Connect(devices.Get(0), devices.Get(n - 1));
    uint32_t akey = a->GetDevice()->RegisterMemory(VA, 65536, RNIC_LOCAL_WRITE);
    uint32_t bkey = b->GetDevice()->RegisterMemory(VA, 65536, RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE | RNIC_REMOTE_READ);
    a->TraceConnectWithoutContext("Completion", MakeCallback(&Run::OnCompletion, &run));
    b->TraceConnectWithoutContext("Completion", MakeCallback(&Run::OnCompletion, &run));
    a->GetDevice()->TraceConnectWithoutContext("MacTx", MakeCallback(&Run::OnTx, &run));
    b->GetDevice()->TraceConnectWithoutContext("MacRx", MakeCallback(&Run::OnRx, &run));
    a->GetDevice()->GetFabric()->TraceConnectWithoutContext("Drop", MakeCallback(&Run::OnDrop, &run));
    CHECK(b->PostRecv(4, VA, bkey, 2048) == 0);
    Simulator::Schedule(MicroSeconds(3), [a = a, akey, bkey] {
        CHECK(a->PostWrite(1, VA, akey, 1024, VA, bkey) == 0);
        CHECK(a->PostRead(2, VA, akey, 5000, VA, bkey) == 0);
        CHECK(a->PostSend(3, VA, akey, 2048) == 0);
    });
    Simulator::Stop(MilliSeconds(50));
    Simulator::Run();
    Ptr<RnicFabric> fabric = a->GetDevice()->GetFabric();
    CHECK(fabric->Audit(&run.audit));
    run.digest = fabric->Digest();
    CHECK(a->GetDevice()->GetChannel()->GetNDevices() == (n == 2 ? 2u : 1u));
    Simulator::Destroy();
    CHECK(!a->GetQp());
    CHECK(a->PostSend(5, VA, akey, 1) < 0);
    CHECK(!devices.Get(0)->IsLinkUp());
    if (keep)
    {
        kept.push_back(a); /* objects may outlive the simulator */
        kept.push_back(fabric);
    }
    return run;
}

/* WRITE ONLY of 1024 B is a frame of 1102 B, its ACK one of 66 B; 8 B of preamble each, 1 us of cable each way, hosts cost
 * nothing: 3 us + 88.8 ns + 1 us + 5.92 ns + 1 us. */
void
CheckWriteTime(const Run& run)
{
    int found = 0;
    for (const auto& c : run.completions)
    {
        if (c.wrId == 1)
        {
            found++;
            CHECK(!c.isReceive && c.status == "success" && c.bytes == 1024);
            CHECK(c.at.GetPicoSeconds() == 5094720);
        }
    }
    CHECK(found == 1);
    CHECK(run.tx.count(1102) && run.tx.at(1102) >= 1);
}

void
VerbsWorkOnBothDrivers()
{
    for (uint32_t n : {2u, 3u})
    {
        for (double loss : {0.0, 0.2})
        {
            Run ours = Exchange(true, n, loss, true);
            Run stock = Exchange(false, n, loss, false);
            size_t good = 0;
            for (const auto& c : ours.completions)
            {
                good += c.success;
            }
            CHECK(good == 4);
            CHECK(ours.audit == "ok");
            CHECK(ours.digest == stock.digest && ours.digest != 0);
            CHECK(ours.completions.size() == stock.completions.size());
            CHECK(ours.tx == stock.tx && ours.rx == stock.rx && ours.drops == stock.drops);
            CHECK((ours.drops > 0) == (loss > 0));
            CHECK(loss == 0 || ours.cause == "injected");
            if (loss == 0 && n == 2)
            {
                CheckWriteTime(ours);
            }
        }
    }
}

void
HelperKnowsProfiles()
{
    Choose(true);
    NodeContainer nodes(2);
    RnicHelper rnic;
    rnic.SetHostProfile("rnic-roce");
    rnic.SetDeviceAttribute("Cores", IntegerValue(3));
    NetDeviceContainer devices = rnic.Install(nodes);
    struct host_params want;
    host_profile_apply(host_profile_find("rnic-roce"), &want);
    want.cores = 3;
    auto device = DynamicCast<RnicNetDevice>(devices.Get(0));
    CHECK(std::memcmp(host_params(device->GetHost()), &want, sizeof want) == 0);
    CHECK(!device->Send(Create<Packet>(100), device->GetBroadcast(), 0x800));
    Simulator::Destroy();
}

} // namespace

int
main()
{
    Time::SetResolution(Time::PS);
    AttributesComeFromTheTables();
    VerbsWorkOnBothDrivers();
    HelperKnowsProfiles();
    return ChecksDone();
}
