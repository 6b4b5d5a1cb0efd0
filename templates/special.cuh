?infinity constexpr float infinity = __builtin_huge_valf();
?nan constexpr float not_a_number = __builtin_nanf("");
