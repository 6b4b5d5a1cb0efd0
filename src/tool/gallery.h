/* gallery.h -- the kernels that the command knows: those built in, and those of -k FILE.
 *
 * gallery_run() is how every verb reaches user code: sources are compiled, then a child process loads
 * everything and works. */
#ifndef TOOL_GALLERY_H
#define TOOL_GALLERY_H

#include <tegula/tegula.h>

#include "tool/options.h"
#include "tool/rows.h"

typedef struct gallery_kernel {
    const char *name;
    tg_builder *build;
    const tg_kernel_record *record; /* file and line */
    const row *row;                 /* NULL: no YAML */
    void *library;                  /* dlopen's handle; that of the command itself for built-in kernels */
} gallery_kernel;

typedef struct gallery {
    arena memory;
    int n, capacity;
    gallery_kernel *item;
    int nlibraries;
    void *libraries[OPTIONS_MAX_FILES + 1];
} gallery;

typedef int gallery_work(const options *o, gallery *g);
int gallery_run(const options *o, gallery_work *work);

/* NULL after a message with the nearest name. */
const gallery_kernel *gallery_find(const gallery *g, const char *name);

/* The kernel's reference in double precision; NULL when it has none.  A reference that YAML names must be
 * there: false otherwise, after a message. */
typedef void reference_function(const tg_config *config, void *const args[]);
bool gallery_reference(const gallery_kernel *k, reference_function **out);
/* The kernel's NAME_inputs, of the same form: makes something sensible of random arguments.  Mostly NULL. */
reference_function *gallery_inputs(const gallery_kernel *k);

#endif
