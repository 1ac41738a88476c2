# What Wick changes in the unpacked sources of XNNPACK and pthreadpool, each with its reason.

# Replaces a piece of a file that occurs once; `done` is false if it does not.
function(wick_edit_source file from to done)
  file(READ "${file}" text)
  string(REPLACE "${from}" "" without "${text}")
  string(LENGTH "${text}" length)
  string(LENGTH "${without}" length_without)
  string(LENGTH "${from}" length_from)
  math(EXPR found "${length} - ${length_without}")
  if(NOT found EQUAL length_from)
    set(${done} FALSE PARENT_SCOPE)
    return()
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  file(WRITE "${file}" "${text}")
  set(${done} TRUE PARENT_SCOPE)
endfunction()

# `folder` holds xnnpack/ and pthreadpool/. `done` is false if these are not the expected sources.
function(wick_edit_xnnpack folder done)
  set(${done} FALSE PARENT_SCOPE)
  # Matrix products of up to 16 rows read the quantization parameters of 15 rows that do not exist; the library keeps room
  # for 10, and the last row comes out wrong.
  wick_edit_source("${folder}/xnnpack/include/xnnpack.h" "#define XNN_EXTRA_QUANTIZATION_PARAMS 10"
                   "#define XNN_EXTRA_QUANTIZATION_PARAMS 15" rows)
  # How often a thread looks for another before it sleeps: some ten microseconds, what waking it costs. As it comes it keeps
  # its core busy for tens of milliseconds, which the thread that it waits for may need.
  wick_edit_source("${folder}/pthreadpool/src/threadpool-common.h" "#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 1000000"
                   "#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 300" spin)
  # Products with large weights: columns_first.h has the reason.
  set(run "${folder}/xnnpack/src/operator-run.c")
  wick_edit_source("${run}" "#include \"pthreadpool.h\"\n" "#include \"pthreadpool.h\"\n#include \"columns_first.h\"\n" include)
  wick_edit_source("${run}" "    switch (op->compute[i].type) {\n"
    "    if (wick_run_columns_first(op, &op->compute[i], threadpool, flags)) continue;\n    switch (op->compute[i].type) {\n" columns)
  file(COPY "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/columns_first.h" DESTINATION "${folder}/xnnpack/src")
  # The planner of intermediate values never used the room in front of the first block that is in use.
  set(planner "${folder}/xnnpack/src/memory-planner.c")
  wick_edit_source("${planner}" "  if (num_mem_blocks == 1) {\n    return live_mem_blocks[0].end;\n  }\n" "" one_block)
  wick_edit_source("${planner}" "  return live_mem_blocks[smallest_gap_index].end;\n"
    "  if (live_mem_blocks[0].start >= to_alloc_size && live_mem_blocks[0].start <= smallest_gap_size) return 0;\n  return live_mem_blocks[smallest_gap_index].end;\n"
    first_gap)
  if(rows AND spin AND include AND columns AND one_block AND first_gap)
    set(${done} TRUE PARENT_SCOPE)
  endif()
endfunction()
