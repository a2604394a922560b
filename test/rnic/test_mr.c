/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory regions under keys of the caller's choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../model/rnic/verbs.h"

static void named_keys(void **state)
{
    (void)state;
    struct rnic_dev *dev = rnic_dev_new(NULL, 1);
    struct rnic_pd *pd = rnic_pd_new(dev);
    struct rnic_mr *own = rnic_mr_reg(pd, 0, 64, RNIC_LOCAL_WRITE, NULL);
    struct rnic_mr *named = rnic_mr_reg_as(pd, 0x976bf200, 4096, 100, RNIC_REMOTE_WRITE, NULL);
    assert_non_null(named);
    assert_int_equal(rnic_mr_key(named), 0x976bf200);
    assert_null(rnic_mr_reg_as(pd, 0x976bf200, 0, 10, 0, NULL)); /* there is one */
    assert_null(rnic_mr_reg_as(pd, rnic_mr_key(own), 0, 10, 0, NULL));
    assert_null(rnic_mr_reg_as(pd, 5, 0, 0, 0, NULL)); /* empty */
    rnic_mr_dereg(named);
    named = rnic_mr_reg_as(pd, 0x976bf200, 0, 10, 0, NULL);
    assert_non_null(named);
    assert_non_null(rnic_mr_reg_as(pd, 0, 0, 10, 0, NULL));
    rnic_mr_dereg(own);
    rnic_dev_free(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(named_keys) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
