#include <tegula/kernel.h>

KERNEL(names_that_cpp_has_are_numbered) {
    tensor(threadIdx, F32, 32);
    tensor(f16_, F32, 32);
    const tg_buf cpp_class = tg_tensor(tg_now(), TG_HERE, "class", F32, 0, TG_INDEX_(32));
    const tg_buf odd = tg_tensor(tg_now(), TG_HERE, "2nd value!", F32, 0, TG_INDEX_(32));
    grid(blockDim, 1) threads(operator, 32) {
        let(expf, at(threadIdx, operator));
        let(mask, add(exp_of(expf), f32(blockDim)));
        let(total, allreduce(SUM, mask, operator));
        set(at(cpp_class, operator), mul(total, at(odd, operator)));
        set(at(f16_, operator), mask);
    }
}
