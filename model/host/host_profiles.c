/* SPDX-License-Identifier: GPL-2.0-only */
/* The named host profiles. End-to-end figures are measured ones; how they divide among the stages is ours. */
#include <string.h>

#include "host_params.h"

#define PARAM_STRUCT struct host_params
PARAM_TABLE(host_params, HOST_PARAMS)
#undef PARAM_STRUCT

#define NS(x) ((int64_t)(x) * 1000)
#define GBPS(x) ((int64_t)(x) * INT64_C(1000000000))

static void set_ideal(struct host_params *p)
{
    (void)p;
}

/* The stages that a message meets in an RNIC, for a small message and a polling peer. */
static void set_rnic(struct host_params *p)
{
    p->cores = 4;
    p->post_ps = NS(50);
    p->doorbell_latency_ps = NS(200);
    p->dma_latency_ps = NS(180);
    p->cqe_ps = NS(40);
    p->pcie_rate_bps = GBPS(220);
    p->irq_latency_ps = NS(600);
    p->irq_ps = NS(500);
    p->wakeup_ps = NS(1500);
    p->wakeup_cpu_ps = NS(700);
}

static void set_rnic_roce(struct host_params *p)
{
    set_rnic(p);
    p->wqe_ps = NS(10);
    p->tx_latency_ps = NS(160);
    p->tx_packet_ps = NS(6);
    p->rx_latency_ps = NS(160);
    p->rx_packet_ps = NS(6);
}

static void set_rnic_iwarp(struct host_params *p)
{
    set_rnic(p);
    p->wqe_ps = NS(40);
    p->tx_latency_ps = NS(480);
    p->tx_packet_ps = NS(12);
    p->rx_latency_ps = NS(480);
    p->rx_packet_ps = NS(12);
}

/* PCIe lanes x GT/s x 128/130. WQEs and CQEs: mlx5's block of 64 bytes (MLX5_SEND_WQE_BB) and least CQE (mlx5dv_create_cq(3)); the same for Chelsio is
 * from memory. */
static void set_pcie(struct host_params *p, double gigabits)
{
    p->pcie_rate_bps = (int64_t)(gigabits * 1e9);
    p->pcie_max_payload_bytes = 256;
    p->wqe_read_bytes = 64;
    p->cqe_write_bytes = 64;
    p->dma_read_ps = NS(700);
}

/* Alike in all profiles, so that a comparison of them is of protocols. */
static void set_contexts(struct host_params *p)
{
    p->contexts = 450;
    p->context_size_bytes = 375;
    p->context_replacement = HOST_CONTEXT_RANDOM;
    p->context_fetches = 8;
}

static void set_kernel_tcp(struct host_params *p)
{
    p->tcp_tx_ps = NS(700);
    p->tcp_rx_ps = NS(650);
    p->tcp_ack_ps = NS(350);
    p->napi_packet_ps = NS(120);
}

static void set_connectx(struct host_params *p, double pcie_gigabits)
{
    set_rnic_roce(p);
    set_pcie(p, pcie_gigabits);
    set_contexts(p);
}

static void set_connectx5(struct host_params *p) { set_connectx(p, 126.03); }

static void set_connectx6(struct host_params *p)
{
    set_connectx(p, 252.06);
    p->wqe_ps = p->tx_packet_ps = p->rx_packet_ps = 4651;       /* 215 million a second */
}

static void set_connectx7(struct host_params *p)
{
    set_connectx6(p);
    set_pcie(p, 504.12);
    p->tx_fifo_bytes = 65536;
}

static void set_chelsio_t6(struct host_params *p)
{
    set_rnic_iwarp(p);
    set_pcie(p, 126.03);
    p->tx_latency_ps = NS(400);
    p->rx_latency_ps = NS(400);
    set_contexts(p);
    p->max_connections = 32768;
    p->reassembly_memory = HOST_REASSEMBLY_CARD;
    set_kernel_tcp(p);                /* of connections in software */
}

static void set_kernel(struct host_params *p)
{
    p->cores = 4;
    p->tx_latency_ps = NS(400);       /* doorbell, descriptor and payload fetch, pipeline */
    p->tx_packet_ps = NS(6);
    p->rx_latency_ps = NS(300);
    p->rx_packet_ps = NS(6);
    p->dma_latency_ps = NS(180);
    p->pcie_rate_bps = GBPS(220);
    p->completion = HOST_EVENT;
    p->cqe_ps = NS(40);
    p->irq_latency_ps = NS(600);
    p->irq_ps = NS(500);
    p->wakeup_ps = NS(1300);
    p->wakeup_cpu_ps = NS(500);
    p->syscall_ps = NS(350);
    p->copy_rate_bps = GBPS(80);
    set_kernel_tcp(p);
}

const struct host_profile host_profiles[] = {
    { "ideal", "no host cost at all: latency is the fabric's alone (oracles, comparisons with published simulations)", set_ideal },
    { "rnic-roce",
      "ConnectX-like. Measured: round trip 1.63 us direct and 2.17 us through a switch, so about 0.8 us one way without the wire. "
      "Guess: how that divides among doorbell, pipelines, DMA and polling; packet and message rates; PCIe 4.0 x16 payload rate; "
      "interrupt and wake-up costs, which only the event modes meet", set_rnic_roce },
    { "rnic-iwarp",
      "Chelsio T5-like. Measured: about 1.5 us end to end one way. Guess: the division; longer pipelines than rnic-roce are the TCP "
      "offload engine; rates, PCIe, interrupt and wake-up costs", set_rnic_iwarp },
    { "connectx5-like",
      "Vendor: PCIe 3.0 x16 (docs.nvidia.com, ConnectX-5 Interfaces): 126.03 Gb/s each way. Measured: Max_Payload_Size 256 (an lspci listing); latency as "
      "rnic-roce. From memory, papers not reread: fewer than 450 connections at peak rate (StaR, ICNP'21), 375 B a connection (eRPC, NSDI'19). Guess: 700 ns a DMA read, random replacement, "
      "8 fetches at a time, all rates, the division", set_connectx5 },
    { "connectx6-like",
      "Vendor: PCIe 4.0 x16: 252.06 Gb/s; 215 million messages a second; below 0.8 us (docs.nvidia.com, ConnectX-6 EN manual and product brief). "
      "Guess: contexts and DMA reads as connectx5-like, the division", set_connectx6 },
    { "connectx7-like",
      "Vendor: PCIe 5.0 x16: 504.12 Gb/s, ports up to 400 Gb/s (docs.nvidia.com, ConnectX-7 manual). Guess: all else, as connectx6-like", set_connectx7 },
    { "chelsio-t6-like",
      "Vendor: below 1 us through the hardware (chelsio.com, Terminator 6). Measured: nothing of its own that we know of; T5 about 1.5 us end to end. Guess: PCIe 3.0 "
      "x16, contexts as connectx5-like (so that a comparison is of protocols), 32,768 connections, reassembly on the card, the division, all rates", set_chelsio_t6 },
    { "kernel",
      "Linux kernel TCP with interrupts. Measured: ping-pong 12 us a round trip (RDMA on the same kind of host 2.9 us), so about 6 us one way. "
      "Guess: the division among system call, stack, interrupt, softirq and wake-up, all copy and per-segment costs", set_kernel },
};
const size_t host_profile_count = sizeof host_profiles / sizeof host_profiles[0];

const struct host_profile *host_profile_find(const char *name)
{
    for (size_t i = 0; i < host_profile_count; i++)
        if (strcmp(host_profiles[i].name, name) == 0)
            return &host_profiles[i];
    return NULL;
}

void host_profile_apply(const struct host_profile *profile, struct host_params *p)
{
    param_defaults(&host_params_table, p);
    profile->set(p);
}
