/* low >> n | high << 32 - n of unsigned words; where the distances do not add up to a word, as written. */
#include <tegula/kernel.h>

KERNEL(a_word_out_of_two_words_is_one_instruction) {
    tensor(x, U32, 65);
    tensor(y, U32, 3, 64);
    grid(pid, 1) threads(i, 64) {
        let(low, at(x, i));
        let(high, at(x, add(i, 1)));
        set(at(y, 0, i), bit_or(shr(low, 12), shl(high, 20)));
        set(at(y, 1, i), bit_and(bit_or(shr(low, 16), shl(high, 16)), 255));
        set(at(y, 2, i), bit_or(shr(low, 12), shl(high, 21)));
    }
}
