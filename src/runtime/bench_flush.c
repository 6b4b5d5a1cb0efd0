/* bench_flush.c -- see bench_flush.h.
 *
 * The reader is PTX, not a kernel of the language, so that cold mode needs libcuda only. */
#include "runtime/bench_flush.h"

#include "runtime/error.h"

enum { THREADS = 256, BLOCKS_PER_SM = 8, VECTOR = 16, LEAST_BYTES = 1 << 20 };

/* Thread i reads vectors i, i + stride, ..; the sum is stored only if it is an unlikely number, so that no read
 * can be left out. */
static const char reader[] = ".version 6.3\n"
                             ".target sm_75\n"
                             ".address_size 64\n"
                             ".visible .entry tegula_flush(.param .u64 memory, .param .u32 vectors) {\n"
                             "    .reg .pred %p<3>;\n"
                             "    .reg .b32 %r<12>;\n"
                             "    .reg .b64 %a<3>;\n"
                             "    ld.param.u64 %a0, [memory];\n"
                             "    ld.param.u32 %r0, [vectors];\n"
                             "    cvta.to.global.u64 %a0, %a0;\n"
                             "    mov.u32 %r1, %ctaid.x;\n"
                             "    mov.u32 %r2, %ntid.x;\n"
                             "    mov.u32 %r3, %tid.x;\n"
                             "    mad.lo.u32 %r4, %r1, %r2, %r3;\n"
                             "    mov.u32 %r5, %nctaid.x;\n"
                             "    mul.lo.u32 %r5, %r5, %r2;\n"
                             "    mov.u32 %r6, 0;\n"
                             "next:\n"
                             "    setp.ge.u32 %p0, %r4, %r0;\n"
                             "    @%p0 bra done;\n"
                             "    mul.wide.u32 %a1, %r4, 16;\n"
                             "    add.u64 %a1, %a0, %a1;\n"
                             "    ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%a1];\n"
                             "    xor.b32 %r7, %r7, %r8;\n"
                             "    xor.b32 %r9, %r9, %r10;\n"
                             "    add.u32 %r6, %r6, %r7;\n"
                             "    add.u32 %r6, %r6, %r9;\n"
                             "    add.u32 %r4, %r4, %r5;\n"
                             "    bra next;\n"
                             "done:\n"
                             "    setp.ne.u32 %p1, %r6, 305419897;\n"
                             "    @%p1 bra end;\n"
                             "    st.global.u32 [%a0], %r6;\n"
                             "end:\n"
                             "    ret;\n"
                             "}\n";

static int driver_call(const bench_flush *f, const char *name, api_result code) {
    return code == 0 ? TG_OK : api_driver_failed(f->driver, name, code);
}

int bench_flush_open(const api_driver *driver, int ordinal, bench_flush *f) {
    device_info device;
    *f = (bench_flush){.driver = driver, .rounds = 1};
    int code = device_describe(ordinal, &device);
    if (code != TG_OK) {
        return code;
    }
    f->bytes = 2 * (size_t)(device.l2_bytes > LEAST_BYTES ? device.l2_bytes : LEAST_BYTES);
    f->blocks = (unsigned)(device.sms > 0 ? device.sms : 1) * BLOCKS_PER_SM;
    code = driver_call(f, "cuMemAlloc", driver->memory_alloc(&f->memory, f->bytes));
    if (code == TG_OK) {
        code = driver_call(f, "cuModuleLoadDataEx", driver->module_load(&f->module, reader, 0, NULL, NULL));
    }
    if (code == TG_OK) {
        code = driver_call(f, "cuModuleGetFunction",
                           driver->module_function(&f->reader, f->module, "tegula_flush"));
    }
    if (code != TG_OK) {
        bench_flush_close(f);
    }
    return code == TG_OK ? TG_OK : error_prefix(code, "emptying the L2 cache between samples: ");
}

void bench_flush_close(bench_flush *f) {
    if (f->module) {
        f->driver->module_unload(f->module);
    }
    if (f->memory) {
        f->driver->memory_free(f->memory);
    }
    *f = (bench_flush){0};
}

int bench_flush_enqueue(const bench_flush *f, void *stream) {
    api_address memory = f->memory;
    unsigned vectors = (unsigned)(f->bytes / VECTOR);
    void *arguments[] = {&memory, &vectors};
    const api_launch launch = {.grid = {f->blocks, 1, 1}, .block = {THREADS, 1, 1}, .stream = stream};
    api_result code = 0;
    for (int i = 0; i < f->rounds && !code; i++) {
        code = f->driver->memory_set(f->memory, (unsigned char)i, f->bytes, stream);
        code = code ? code : f->driver->launch((const void *)&launch, f->reader, arguments, NULL);
    }
    return driver_call(f, "emptying the L2 cache", code);
}
