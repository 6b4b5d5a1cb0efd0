# The install target: headers, both libraries, the tool, CMake package files, a pkg-config file.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tegula)

install(DIRECTORY include/tegula DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS tegula_shared tegula_static EXPORT tegulaTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TEGULA_TOOL)
    install(TARGETS tegula_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT tegulaTargets NAMESPACE tegula:: DESTINATION ${package_dir})
configure_package_config_file(cmake/tegulaConfig.cmake.in tegulaConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(tegulaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tegulaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tegulaConfigVersion.cmake
    DESTINATION ${package_dir})

# From the folder of tegula.pc back to the prefix, so that the installed tree may be moved.
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/tegula.pc.in tegula.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tegula.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
