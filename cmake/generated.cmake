# Sources made at build time, in ${TEGULA_GENERATED_DIR}:
#
#     templates.h  templates.c           the texts of templates/
#     report_files.h  report_files.c     the styles, scripts and frames of templates/report/
#     gallery_files.h  gallery_files.c   the sources and YAML files of examples/, as the user wrote them
#     build_id.h                         TG_BUILD_ID, TG_BUILD_COMMIT
#
# The target tegula_generated makes them all.
set(TEGULA_GENERATED_DIR ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(TEGULA_SCRIPT_DIR ${CMAKE_CURRENT_LIST_DIR})

# Embeds files into ${name}.c and ${name}.h as the table tg_${name}; their names start below `root`.
function(tegula_embed name root)
    set(out ${TEGULA_GENERATED_DIR}/${name})
    string(JOIN "|" files ${ARGN}) # a semicolon would split the argument
    add_custom_command(
        OUTPUT ${out}.c ${out}.h
        COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DROOT=${root} "-DFILES=${files}" -DOUT=${out}
                -P ${TEGULA_SCRIPT_DIR}/embed.cmake
        DEPENDS ${ARGN} ${TEGULA_SCRIPT_DIR}/embed.cmake
        COMMENT "Embedding ${name}"
        VERBATIM)
endfunction()

file(GLOB template_files LIST_DIRECTORIES false CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/templates/*)
tegula_embed(templates ${CMAKE_CURRENT_SOURCE_DIR}/templates ${template_files})

file(GLOB report_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/templates/report/*)
tegula_embed(report_files ${CMAKE_CURRENT_SOURCE_DIR}/templates/report ${report_files})

file(GLOB example_files CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_SOURCE_DIR}/examples/*.c ${CMAKE_CURRENT_SOURCE_DIR}/examples/*.yaml)
tegula_embed(gallery_files ${CMAKE_CURRENT_SOURCE_DIR} ${example_files})

# Runs at every build, since a commit changes no source; it touches the header only when the text differs.
add_custom_target(tegula_build_id
    COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_CURRENT_SOURCE_DIR} -DOUT=${TEGULA_GENERATED_DIR}/build_id.h
            -P ${TEGULA_SCRIPT_DIR}/build_id.cmake
    BYPRODUCTS ${TEGULA_GENERATED_DIR}/build_id.h
    VERBATIM)

add_custom_target(tegula_generated DEPENDS
    ${TEGULA_GENERATED_DIR}/templates.c ${TEGULA_GENERATED_DIR}/report_files.c
    ${TEGULA_GENERATED_DIR}/gallery_files.c)
add_dependencies(tegula_generated tegula_build_id)
