# Compiling a file of the compiler consists mostly of templates that its neighbours need as well. So the files of a
# GROUPED library, of the tool, and of tests are compiled in groups: one source includes the files of a group.
#   wick_group_sources(OUT TARGET FILES ..)   sets OUT to the sources to compile instead of FILES
# The names in unnamed namespaces of such a target must differ from file to file, or lie in namespaces that do
# (scripts/check_one_definition.py). Files with flags of their own and generated files are not grouped. Of the runtime's
# libraries only delegates are grouped, because they need all their objects. From the other libraries a program links
# only the objects that it needs. A group includes its files by their paths in the repository, and its source lies in
# the build folder, so that presets and checkouts share ccache's entries. The preset "tidy" compiles without groups and
# so finds sources that rely on their neighbours.

option(WICK_GROUP_SOURCES "Compile the files of a library of the compiler some at a time" ON)
set(WICK_GROUP_SIZE 12 CACHE STRING "Files of a group at most")
mark_as_advanced(WICK_GROUP_SIZE)

function(wick_group_sources out target)
  set(apart)
  set(grouped)
  foreach(source IN LISTS ARGN)
    get_filename_component(path "${source}" ABSOLUTE)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${path}" generated)
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${path}")
    get_source_file_property(flags "${source}" COMPILE_OPTIONS)
    if(WICK_GROUP_SOURCES AND NOT flags AND NOT generated AND path MATCHES "^[^.].*\\.cpp$" AND EXISTS "${PROJECT_SOURCE_DIR}/${path}")
      list(APPEND grouped "${path}")
    else()
      list(APPEND apart "${source}")
    endif()
  endforeach()
  if(grouped)
    list(JOIN grouped " " line)
    set_property(GLOBAL APPEND PROPERTY WICK_GROUPS "${target} ${line}")
  endif()
  list(LENGTH grouped count)
  set(first 0)
  while(first LESS count)
    list(SUBLIST grouped ${first} ${WICK_GROUP_SIZE} files)
    math(EXPR first "${first} + ${WICK_GROUP_SIZE}")
    list(LENGTH files length)
    if(length EQUAL 1)
      list(APPEND apart "${PROJECT_SOURCE_DIR}/${files}")
      continue()
    endif()
    list(TRANSFORM files REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN files "" text)
    set(group "${CMAKE_CURRENT_BINARY_DIR}/${target}_${first}.cpp")
    file(CONFIGURE OUTPUT "${group}" CONTENT "${text}" @ONLY)  # left as it is where nothing changed
    list(APPEND apart "${group}")
  endwhile()
  set(${out} ${apart} PARENT_SCOPE)
endfunction()
