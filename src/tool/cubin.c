/* cubin.c -- registers and stack from the section .nv.info of a cubin.
 *
 * A cubin is an ELF file of 64 bits.  .nv.info is a row of attributes: one byte of form, one of name, two of
 * value or size; with form 4 so many bytes follow.  Of those, REGCOUNT and FRAME_SIZE are pairs (symbol, number).
 * Names and forms as binary utilities print them. */
#include "tool/cubin.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum { FORM_SIZED = 4, FRAME_SIZE = 0x11, REGCOUNT = 0x2f };

typedef struct bytes {
    const unsigned char *at;
    size_t n;
} bytes;

/* True and the bytes when they lie inside. */
static bool slice(bytes whole, uint64_t from, uint64_t n, bytes *out) {
    if (from > whole.n || n > whole.n - from) {
        return false;
    }
    *out = (bytes){whole.at + from, (size_t)n};
    return true;
}

static bool read_section(bytes file, const Elf64_Ehdr *header, unsigned i, Elf64_Shdr *out) {
    bytes at;
    if (!slice(file, header->e_shoff + (uint64_t)i * sizeof *out, sizeof *out, &at)) {
        return false;
    }
    memcpy(out, at.at, sizeof *out);
    return true;
}

static bool is_named(bytes file, const Elf64_Shdr *names, const Elf64_Shdr *section, const char *name) {
    bytes all, word;
    const size_t n = strlen(name) + 1;
    return slice(file, names->sh_offset, names->sh_size, &all) && slice(all, section->sh_name, n, &word) &&
           memcmp(word.at, name, n) == 0;
}

static bool find_section(bytes file, const char *name, bytes *out) {
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    bytes at;
    if (!slice(file, 0, sizeof header, &at)) {
        return false;
    }
    memcpy(&header, at.at, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof section || !read_section(file, &header, header.e_shstrndx, &names)) {
        return false;
    }
    for (unsigned i = 0; i < header.e_shnum; i++) {
        if (read_section(file, &header, i, &section) && is_named(file, &names, &section, name)) {
            return slice(file, section.sh_offset, section.sh_size, out);
        }
    }
    return false;
}

static uint32_t word_at(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

bool cubin_read(const void *image, size_t size, cubin_usage *out) {
    bytes info;
    bool has_registers = false;
    *out = (cubin_usage){0};
    if (!find_section((bytes){image, size}, ".nv.info", &info)) {
        return false;
    }
    for (size_t i = 0; i + 4 <= info.n;) {
        const unsigned char *at = info.at + i;
        const size_t n = at[0] == FORM_SIZED ? (size_t)(at[2] | at[3] << 8) : 0;
        if (n > info.n - i - 4) {
            return false;
        }
        if (n == 8 && at[1] == REGCOUNT) {
            if (has_registers) {
                return false; /* more than one kernel */
            }
            has_registers = true;
            out->registers = (int)(word_at(at + 8) & 0xffff);
        } else if (n == 8 && at[1] == FRAME_SIZE) {
            out->stack_bytes = (int)(word_at(at + 8) & 0x7fffffff);
        }
        i += 4 + n;
    }
    return has_registers;
}
