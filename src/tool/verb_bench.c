#include "tool/tool.h"
int verb_bench(const options *o) {
    return verb_not_yet(o);
}
