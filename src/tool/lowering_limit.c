/* lowering_limit.c -- see lowering_limit.h. */
#include "tool/lowering_limit.h"

#include <string.h>

#include "dsl/diag.h"

int lowering_limit_us(const tg_kernel_record *kernel) {
    return strcmp(diag_base(kernel->file), "gemv.c") == 0 ? LOWERING_GEMV_US : LOWERING_OTHER_US;
}
