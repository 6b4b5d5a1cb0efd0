# Turns files into C source: a table of (name, text) that the program carries with it.
#
#     cmake -DNAME=templates -DROOT=/src/templates -DFILES="a|b" -DOUT=/build/generated/templates -P embed.cmake
#
# leaves OUT.h and OUT.c.  A file f16.cuh becomes `const char tg_template_f16_cuh[]` (the singular of NAME, then
# the path below ROOT) and one row of tg_templates; the row after the last is {NULL, NULL}.
# Character initialisers, not string literals: ISO C promises only 4095 characters of a literal.
string(REGEX REPLACE "s$" "" singular ${NAME})
string(REPLACE "|" ";" FILES "${FILES}")

set(declarations "")
set(definitions "")
set(rows "")
set(count 0)
foreach(path ${FILES})
    file(RELATIVE_PATH name ${ROOT} ${path})
    string(REGEX REPLACE "[^A-Za-z0-9]" "_" identifier ${name})
    set(symbol tg_${singular}_${identifier})

    file(READ ${path} bytes HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1', " bytes "${bytes}")
    string(REPLACE "'\\x0a', " "'\\x0a',\n    " bytes "${bytes}") # one line of C for one of the file
    string(APPEND declarations "extern const char ${symbol}[];\n")
    string(APPEND definitions "const char ${symbol}[] = {\n    ${bytes}'\\0'};\n\n")
    string(APPEND rows "    {\"${name}\", ${symbol}},\n")
    math(EXPR count "${count} + 1")
endforeach()

string(TOUPPER TG_${NAME}_H guard)
set(header "/* ${NAME}.h -- files carried inside the program.  Made by embed.cmake. */
#ifndef ${guard}
#define ${guard}

struct tg_${singular} {
    const char *name; /* the file's path */
    const char *text; /* its contents, NUL-terminated */
};

extern const struct tg_${singular} tg_${NAME}[]; /* ends with {NULL, NULL} */
extern const int tg_${NAME}_n;

${declarations}
#endif
")
set(source "/* ${NAME}.c -- made by embed.cmake. */
#include \"${NAME}.h\"

#include <stddef.h>

${definitions}const struct tg_${singular} tg_${NAME}[] = {
${rows}    {NULL, NULL},
};
const int tg_${NAME}_n = ${count};
")
file(WRITE ${OUT}.h "${header}")
file(WRITE ${OUT}.c "${source}")
