# Writes build_id.h:
#
#     TG_BUILD_ID      a hash over every source that decides what is emitted: part of the cache key.  The commit
#                      is no part of it, so that a change of the documents does not empty anybody's cache.
#     TG_BUILD_COMMIT  what git says about the checkout, for people: "" outside a checkout
#
#     cmake -DROOT=/src -DOUT=/build/generated/build_id.h -P build_id.cmake
file(GLOB sources LIST_DIRECTORIES false RELATIVE ${ROOT}
    ${ROOT}/include/tegula/*.h ${ROOT}/src/dsl/* ${ROOT}/src/codegen/* ${ROOT}/templates/*)
list(SORT sources)
set(digests "")
foreach(source ${sources})
    file(SHA256 ${ROOT}/${source} digest)
    string(APPEND digests "${source} ${digest}\n")
endforeach()
string(SHA256 id "${digests}")
string(SUBSTRING ${id} 0 16 id)

set(commit "")
find_program(GIT git)
if(GIT AND EXISTS ${ROOT}/.git)
    execute_process(COMMAND ${GIT} -C ${ROOT} describe --always --dirty --abbrev=12
        OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

set(text "/* build_id.h -- made by build_id.cmake. */
#ifndef TG_BUILD_ID
#define TG_BUILD_ID \"${id}\"
#define TG_BUILD_COMMIT \"${commit}\"
#endif
")
set(old "")
if(EXISTS ${OUT})
    file(READ ${OUT} old)
endif()
if(NOT text STREQUAL old)
    file(WRITE ${OUT} "${text}")
endif()
