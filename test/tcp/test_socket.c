/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel sockets between two hosts: each side hears once that the other has closed, whoever closed first; bytes come meanwhile. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../model/tcp/socket.h"
#include "../host/two_hosts.h"

struct side { struct tcp_socket *s; uint64_t got; unsigned closed, connected; int error; };

static void connected(void *ctx, struct tcp_socket *s)
{
    (void)s;
    ((struct side *)ctx)->connected++;
}
static void received(void *ctx, struct tcp_socket *s, uint64_t off, uint64_t len)
{
    struct side *e = ctx;
    (void)s;
    assert_int_equal(off, e->got);
    e->got += len;
}
static void closed(void *ctx, struct tcp_socket *s, int error)
{
    struct side *e = ctx;
    (void)s;
    e->closed++;
    e->error = error;
}
static const struct tcp_socket_events events = { .connected = connected, .received = received, .closed = closed };

struct pairing { struct two_hosts w; struct tcp_params tcp; struct host_params host; struct side e[2]; };

static void open_both(struct pairing *p)
{
    *p = (struct pairing){ 0 };
    param_defaults(&tcp_params_table, &p->tcp);
    param_defaults(&host_params_table, &p->host);
    two_hosts_open(&p->w, &p->host, &p->host);
    for (int i = 0; i < 2; i++) {
        p->e[i].s = tcp_socket_new(p->w.h[i], 0, &p->tcp, cc_find("reno"), NULL, (uint32_t)i, 0, 0);
        assert_non_null(p->e[i].s);
        tcp_socket_on(p->e[i].s, &events, &p->e[i]);
    }
    assert_int_equal(tcp_socket_accept(p->e[1].s, host_addr(p->w.h[0]), 1000, 7), SIM_OK);
    assert_int_equal(tcp_socket_connect(p->e[0].s, host_addr(p->w.h[1]), 7, 1000), SIM_OK);
    sim_run(p->w.s, SIM_PS_PER_MS);
    assert_int_equal(p->e[0].connected, 1);
    assert_int_equal(p->e[1].connected, 1);
}

static void close_both(struct pairing *p)
{
    for (int i = 0; i < 2; i++)
        tcp_socket_free(p->e[i].s);
    two_hosts_close(&p->w);
}

static void step(struct pairing *p, int64_t ms) { sim_run(p->w.s, sim_now(p->w.s) + ms * SIM_PS_PER_MS); }

static void who_closes_first_hears_of_the_peers_close(void **state)
{
    struct pairing p;
    (void)state;
    open_both(&p);
    tcp_socket_close(p.e[0].s);
    step(&p, 1);
    assert_int_equal(p.e[1].closed, 1);
    assert_int_equal(p.e[0].closed, 0);
    assert_int_equal(tcp_socket_send(p.e[1].s, "", 0, 100000, 5), SIM_OK);   /* half closed: the other way stays open */
    step(&p, 1);
    assert_int_equal(p.e[0].got, 100000);
    tcp_socket_close(p.e[1].s);
    step(&p, 1);
    assert_int_equal(p.e[0].closed, 1);
    assert_int_equal(p.e[0].error, 0);
    assert_int_equal(p.e[1].closed, 1);
    step(&p, 100000);
    assert_int_equal(p.e[0].closed, 1);
    assert_int_equal(tcp_state(tcp_socket_conn(p.e[0].s)), TCP_CLOSED);
    close_both(&p);
}

static void both_close_at_once(void **state)
{
    struct pairing p;
    (void)state;
    open_both(&p);
    tcp_socket_close(p.e[0].s);
    tcp_socket_close(p.e[1].s);
    step(&p, 100000);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(p.e[i].closed, 1);
        assert_int_equal(p.e[i].error, 0);
    }
    close_both(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(who_closes_first_hears_of_the_peers_close), cmocka_unit_test(both_close_at_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
