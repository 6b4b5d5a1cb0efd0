// host_main.cpp -- runs one emitted kernel on the CPU: the grid block by block, the threads of a block as fibers.
//
// The first argument names the kernel, one of host_kernels.  Reads from its standard input, as 64-bit integers unless said
// otherwise, and in the machine's byte order:
//
//     grid x y z   block x y z   n
//     n times:     1 for a tensor or 0, the number of bytes, the bytes: contents, or a scalar's value
//
// Tensors are handed over by address.  Writes them in the same order, then what the kernel printed.
#include "host_cuda.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#undef printf
thread_local uint3 threadIdx, blockIdx;
extern "C" {
alignas(128) thread_local unsigned char shared_memory[256 * 1024];
}

namespace {

enum { STACK = 256 * 1024, WARP = 32 };

[[noreturn]] void fail(const char *why) {
    fflush(stdout);
    fprintf(stderr, "host_cuda: %s (block %u %u %u, thread %u %u %u)\n", why, blockIdx.x, blockIdx.y, blockIdx.z,
            threadIdx.x, threadIdx.y, threadIdx.z);
    exit(3);
}

// ---- fibers -----------------------------------------------------------------------------------------------------

enum fiber_state { READY, AT_BARRIER, AT_MEETING, ENDED };

struct host_flight {
    char *to;
    const char *from;
    int bytes, valid;
    long group;
};

struct fiber {
    ucontext_t context;
    fiber_state state;
    uint3 index;
    uint64_t posted[2]; // by the parity of `meetings`: the last two values shown to others
    long meetings;      // of the lanes of a warp, shuffles and barriers, how many it has come to
    uint64_t mask;
    std::vector<host_flight> flights; // copies that have not arrived
    long groups;                      // committed
};

std::vector<fiber> fibers;
ucontext_t scheduler;
size_t running;
std::vector<char> printed;
const host_kernel *kernel;
std::vector<const void *> values; // of the arguments: where each lies

void enter() {
    kernel->call(values.data(), values.size());
    fibers[running].state = ENDED;
}

void give_way() {
    const size_t self = running;
    swapcontext(&fibers[self].context, &scheduler);
    threadIdx = fibers[self].index;
}

void resume(size_t i) {
    running = i;
    threadIdx = fibers[i].index;
    swapcontext(&scheduler, &fibers[i].context);
}

uint64_t existing_lanes(size_t warp) {
    const size_t n = fibers.size() - warp * WARP;
    return n >= WARP ? 0xffffffffu : (1ULL << n) - 1;
}

// May the fiber go on?  At a meeting: when all lanes of its warp have come to as many.
bool can_run(const fiber &f, size_t i) {
    if (f.state == READY)
        return true;
    if (f.state != AT_MEETING)
        return false;
    const size_t first = i / WARP * WARP;
    for (size_t lane = first; lane < first + WARP && lane < fibers.size(); lane++)
        if (fibers[lane].meetings < f.meetings)
            return false;
    return true;
}

void release_barrier() {
    for (const fiber &f : fibers)
        if (f.state != AT_BARRIER)
            fail("a barrier or a shuffle is not met by all threads");
    for (fiber &f : fibers)
        f.state = READY;
}

// As far as the warp comes without the others, so that what it should have waited for is not there.  Has it ended?
bool run_warp(size_t first) {
    bool progress = true, all_ended = false;
    while (progress) {
        progress = false;
        all_ended = true;
        for (size_t i = first; i < first + WARP && i < fibers.size(); i++) {
            if (can_run(fibers[i], i)) {
                fibers[i].state = READY;
                resume(i);
                progress = true;
            }
            all_ended &= fibers[i].state == ENDED;
        }
    }
    return all_ended;
}

void run_block(char *stacks) {
    for (size_t i = 0; i < fibers.size(); i++) {
        fiber &f = fibers[i];
        f.state = READY;
        f.meetings = 0;
        f.flights.clear();
        f.groups = 0;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = stacks + i * STACK;
        f.context.uc_stack.ss_size = STACK;
        f.context.uc_link = &scheduler;
        makecontext(&f.context, enter, 0);
    }
    for (;;) {
        bool all_ended = true;
        for (size_t first = 0; first < fibers.size(); first += WARP)
            all_ended &= run_warp(first);
        if (all_ended)
            return;
        release_barrier();
    }
}

// ---- arguments --------------------------------------------------------------------------------------------------

struct argument {
    bool is_tensor;
    std::vector<char> bytes;
    void *address;
};
std::vector<argument> arguments;

int64_t read_number() {
    int64_t x;
    if (fread(&x, sizeof x, 1, stdin) != 1)
        fail("input too short");
    return x;
}

void read_arguments() {
    arguments.resize((size_t)read_number());
    for (argument &a : arguments) {
        a.is_tensor = read_number() != 0;
        a.bytes.resize((size_t)read_number());
        if (fread(a.bytes.data(), 1, a.bytes.size(), stdin) != a.bytes.size())
            fail("input too short");
        a.address = nullptr;
        if (posix_memalign(&a.address, 256, a.bytes.size() + 256) != 0)
            fail("no memory");
        memcpy(a.address, a.bytes.data(), a.bytes.size());
    }
}

} // namespace

void host_barrier() {
    fibers[running].state = AT_BARRIER;
    give_way();
}

void host_barrier_warp() {
    fibers[running].meetings++;
    fibers[running].state = AT_MEETING;
    give_way();
}

uint64_t host_shuffle(uint64_t mask, uint64_t bits, int lanes) {
    const size_t self = running, warp = self / WARP, partner = self ^ (size_t)lanes;
    if (mask != existing_lanes(warp))
        fail("the mask of a shuffle is not the lanes that exist");
    if (partner / WARP != warp || partner >= fibers.size())
        fail("a shuffle asks a lane that does not exist");
    fiber &f = fibers[self];
    f.posted[++f.meetings & 1] = bits;
    f.state = AT_MEETING;
    const long turn = f.meetings;
    give_way();
    return fibers[partner].posted[turn & 1];
}

void host_copy(void *to, const void *from, int bytes, int valid) {
    if ((uintptr_t)to % (uintptr_t)bytes != 0 || (uintptr_t)from % (uintptr_t)bytes != 0)
        fail("an asynchronous copy is not aligned");
    if (valid < 0 || valid > bytes)
        fail("an asynchronous copy takes more or less than there is");
    fiber &f = fibers[running];
    f.flights.push_back({(char *)to, (const char *)from, bytes, valid, f.groups});
    memset(to, 0xff, (size_t)bytes);
}

void host_copy_commit() {
    fibers[running].groups++;
}

void host_copy_wait(int groups) {
    fiber &f = fibers[running];
    size_t n = 0;
    for (; n < f.flights.size() && f.flights[n].group < f.groups - groups; n++) {
        const host_flight &x = f.flights[n];
        memset(x.to, 0, (size_t)x.bytes);
        memcpy(x.to, x.from, (size_t)x.valid);
    }
    f.flights.erase(f.flights.begin(), f.flights.begin() + (long)n);
}

int host_printf(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    printed.insert(printed.end(), line, line + (n < (int)sizeof line ? n : (int)sizeof line - 1));
    return n;
}

int main(int argc, char **argv) {
    for (kernel = host_kernels; kernel->name && (argc < 2 || strcmp(kernel->name, argv[1]) != 0); kernel++) {
    }
    if (!kernel->name)
        fail("no kernel of that name");
    int64_t grid[3], block[3];
    for (int64_t &x : grid)
        x = read_number();
    for (int64_t &x : block)
        x = read_number();
    read_arguments();
    fibers = std::vector<fiber>((size_t)(block[0] * block[1] * block[2]));
    for (size_t i = 0; i < fibers.size(); i++) {
        const size_t x = (size_t)block[0], y = (size_t)block[1];
        fibers[i].index = {(unsigned)(i % x), (unsigned)(i / x % y), (unsigned)(i / x / y)};
    }
    const size_t size = fibers.size() * STACK;
    void *stacks = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED)
        fail("no memory");
    for (const argument &a : arguments)
        values.push_back(a.is_tensor ? (const void *)&a.address : a.address);
    for (int64_t z = 0; z < grid[2]; z++)
        for (int64_t y = 0; y < grid[1]; y++)
            for (int64_t x = 0; x < grid[0]; x++) {
                blockIdx = {(unsigned)x, (unsigned)y, (unsigned)z};
                run_block((char *)stacks);
            }
    for (const argument &a : arguments)
        if (a.is_tensor)
            fwrite(a.address, 1, a.bytes.size(), stdout);
    fwrite(printed.data(), 1, printed.size(), stdout);
    return fflush(stdout) == 0 ? 0 : 4;
}
