# Installs the tool, the runtime's libraries and headers, and what find_package(wick) reads. Imported targets: wick::runtime,
# wick::kernels, wick::module, wick::backends, wick::backend_xnnpack, wick::cortex_m_kernels and the libraries that they
# depend on.

function(wick_libraries_below folder out)
  get_property(found DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  set(libraries)
  foreach(target ${found})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(STATIC|INTERFACE)_LIBRARY$")
      list(APPEND libraries ${target})
    endif()
  endforeach()
  foreach(subfolder ${below})
    wick_libraries_below("${subfolder}" deeper)
    list(APPEND libraries ${deeper})
  endforeach()
  set(${out} ${libraries} PARENT_SCOPE)
endfunction()

wick_libraries_below("${PROJECT_SOURCE_DIR}/common" wick_common_libraries)
wick_libraries_below("${PROJECT_SOURCE_DIR}/runtime" wick_runtime_libraries)
set(wick_installed ${wick_common_libraries} ${wick_runtime_libraries})
wick_libraries_below("${PROJECT_SOURCE_DIR}/backends" wick_backend_libraries)
# The compile halves of backends are not installed.
list(FILTER wick_backend_libraries EXCLUDE REGEX "_(compiler|passes)$|^wick_cuda_(text|nvrtc|twin)$")
foreach(target ${wick_backend_libraries})
  if(TARGET ${target})
    list(APPEND wick_installed ${target})
  endif()
endforeach()
# The readers of the schemas are compiled in; their headers are not installed.
list(FILTER wick_installed EXCLUDE REGEX "^wick_schema")

foreach(target ${wick_installed})
  string(REGEX REPLACE "^wick_" "" name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  if(NOT TARGET wick::${name})
    add_library(wick::${name} ALIAS ${target})
  endif()
endforeach()

install(TARGETS ${wick_installed} EXPORT wick ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/wick" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(EXPORT wick NAMESPACE wick:: FILE wickTargets.cmake DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/wick")

# The XNNPACK that Wick built is installed as well. A system copy is found again at its place.
set(wick_xnnpack_libraries)
if(WICK_HAS_XNNPACK AND WICK_XNNPACK STREQUAL "system")
  get_target_property(wick_xnnpack_libraries wick::xnnpack_library INTERFACE_LINK_LIBRARIES)
elseif(WICK_HAS_XNNPACK)
  foreach(archive libXNNPACK.a libmicrokernels-prod.a libpthreadpool.a)
    install(FILES "${WICK_XNNPACK_PREFIX}/lib/${archive}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/wick")
    list(APPEND wick_xnnpack_libraries "\${PACKAGE_PREFIX_DIR}/${CMAKE_INSTALL_LIBDIR}/wick/${archive}")
  endforeach()
  list(APPEND wick_xnnpack_libraries Threads::Threads m)
  install(FILES "${WICK_XNNPACK_PREFIX}/LICENSE.xnnpack" "${WICK_XNNPACK_PREFIX}/LICENSE.pthreadpool"
          DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()

include(CMakePackageConfigHelpers)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/wickConfig.cmake.in" "${CMAKE_BINARY_DIR}/wickConfig.cmake"
                              INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/wick")
# Until 1.0 a minor version may change the interface.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/wickConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/wickConfig.cmake" "${CMAKE_BINARY_DIR}/wickConfigVersion.cmake"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/wick")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

foreach(tool wick wick_cli)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()

# Installs what runs programs on boards in QEMU at the place where the tool looks for it: the instruction counter, and
# the firmwares if `make devices` has built them.
if(TARGET wick_instruction_counter)
  install(TARGETS wick_instruction_counter LIBRARY DESTINATION lib/wick)
  foreach(preset cortex-m55 cortex-m4 cortex-m3)
    foreach(file wick_runner wick_runner_parts.o wick_runner_parts_gcc.o)
      install(FILES "${CMAKE_BINARY_DIR}/../${preset}/bin/${file}" DESTINATION "lib/wick/devices/${preset}" OPTIONAL)
    endforeach()
  endforeach()
endif()
