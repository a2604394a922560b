/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNICSIM_NS3_RNIC_FABRIC_H
#define RNICSIM_NS3_RNIC_FABRIC_H

#include "../fabric/fabric.h"
#include "../fabric/link_params.h"
#include "../fabric/switch_params.h"

#include "ns3/channel.h"
#include "ns3/traced-callback.h"

#include <vector>

struct sim_trace;

namespace ns3
{

class Node;
class RnicFabric;
class RnicNetDevice;

/** A switch of the fabric. Its attributes are the rows of switch_params. */
class RnicSwitch : public Object
{
  public:
    static TypeId GetTypeId();
    RnicSwitch();
    /** Packets with this DSCP go to this priority. Before RnicFabric::AddSwitch(). */
    void MapDscp(uint8_t dscp, uint8_t priority);

  private:
    friend class RnicFabric;
    static void* Params(ObjectBase* object);

    struct switch_params m_params;
    uint32_t m_node = UINT32_MAX; //!< in the fabric
};

/** A full-duplex link. Its attributes are the rows of link_params. */
class RnicChannel : public Channel
{
  public:
    static TypeId GetTypeId();
    /** Devices at its ends: 2, 1 or 0, the other ends being switches. */
    std::size_t GetNDevices() const override;
    Ptr<NetDevice> GetDevice(std::size_t i) const override;

  private:
    friend class RnicFabric;
    static void* Params(ObjectBase* object);
    void DoDispose() override;

    struct link_params m_params;
    std::vector<Ptr<NetDevice>> m_devices;
};

/**
 * Hosts, switches and links that RDMA traffic crosses. Add everything, then Finish(); then devices can make queue pairs.
 * It lives until Simulator::Destroy(), which ends it if nobody did before.
 */
class RnicFabric : public Object
{
  public:
    static TypeId GetTypeId();
    /** On the simulator in use: choose that and the time resolution (ps) before. */
    RnicFabric();
    ~RnicFabric() override;

    /** The device becomes a host of the fabric. */
    void AddHost(Ptr<RnicNetDevice> device);
    void AddSwitch(Ptr<RnicSwitch> sw);
    void Connect(Ptr<RnicNetDevice> a, Ptr<RnicNetDevice> b, Ptr<RnicChannel> link);
    void Connect(Ptr<RnicNetDevice> host, Ptr<RnicSwitch> sw, Ptr<RnicChannel> link);
    void Connect(Ptr<RnicSwitch> a, Ptr<RnicSwitch> b, Ptr<RnicChannel> link);
    /** Routes, buffers, hosts. An impossible buffer or an unreachable host ends the program with the reason. */
    void Finish();
    bool IsFinished() const;

    /** The audit of every packet: true if sent = delivered + dropped + in flight; text says what it found. */
    bool Audit(std::string* text) const;
    /** Fingerprint of everything that happened: the same for the same scenario on any driver. */
    uint64_t Digest() const;
    /** The simulation, its clock moved to ns-3's: call before each use from ns-3's side. */
    struct sim* Sim() const;
    struct fabric* GetFabric() const;

    /** A packet was lost: at which node of the fabric, why (the name in summary.json), bytes of the frame. */
    typedef void (*DropTracedCallback)(uint32_t node, const std::string& cause, uint32_t bytes);

  private:
    void DoDispose() override;
    void Join(uint32_t a, uint32_t b, Ptr<RnicChannel> link);
    static void OnTrace(void* ctx, const struct sim_trace* t);

    uint32_t m_maxNodes;
    struct fabric* m_fabric;
    bool m_finished;
    std::vector<Ptr<RnicNetDevice>> m_devices; //!< by node of the fabric; null: a switch
    TracedCallback<uint32_t, const std::string&, uint32_t> m_drop;
};

} // namespace ns3

#endif
