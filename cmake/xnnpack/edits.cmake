# Wick's changes to the unpacked sources of XNNPACK and pthreadpool, each with its reason.

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
  # Matmul kernels with tiles of up to 16 rows read the quantization parameters of up to 15 rows that do not exist. The
  # library reserves room for only 10, and the last row gets wrong results.
  wick_edit_source("${folder}/xnnpack/include/xnnpack.h" "#define XNN_EXTRA_QUANTIZATION_PARAMS 10"
                   "#define XNN_EXTRA_QUANTIZATION_PARAMS 15" rows)
  # The number of times that a waiting thread polls before it sleeps: polling takes about as long as waking a thread.
  # With the original number it keeps its core busy far longer, which the thread that it waits for may need.
  wick_edit_source("${folder}/pthreadpool/src/threadpool-common.h" "#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 1000000"
                   "#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 300" spin)
  # Loops of several callers at a time: busy_pool.h has the reason.
  set(pool "${folder}/pthreadpool/src/pthreads.c")
  wick_edit_source("${pool}" "PTHREADPOOL_INTERNAL void pthreadpool_parallelize(\n"
                   "#include \"busy_pool.h\"\n\nPTHREADPOOL_INTERNAL void pthreadpool_parallelize(\n" lone_loop)
  wick_edit_source("${pool}" "\t/* Protect the global threadpool structures */\n\tpthread_mutex_lock(&threadpool->execution_mutex);\n\n\t#if !PTHREADPOOL_USE_FUTEX\n\t\t/* Lock the command variables to ensure"
                   "\t/* Protect the global threadpool structures */\n\tif (pthread_mutex_trylock(&threadpool->execution_mutex) != 0) {\n\t\twick_parallelize_alone(thread_function, params, params_size, task, context, linear_range, flags);\n\t\treturn;\n\t}\n\n\t#if !PTHREADPOOL_USE_FUTEX\n\t\t/* Lock the command variables to ensure" never_waits)
  file(COPY "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/busy_pool.h" DESTINATION "${folder}/pthreadpool/src")
  # Matmuls with large weights: columns_first.h has the reason.
  set(run "${folder}/xnnpack/src/operator-run.c")
  wick_edit_source("${run}" "#include \"pthreadpool.h\"\n" "#include \"pthreadpool.h\"\n#include \"columns_first.h\"\n" include)
  wick_edit_source("${run}" "    switch (op->compute[i].type) {\n"
    "    if (wick_run_columns_first(op, &op->compute[i], threadpool, flags)) continue;\n    switch (op->compute[i].type) {\n" columns)
  file(COPY "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/columns_first.h" DESTINATION "${folder}/xnnpack/src")
  # The planner of intermediate values never used the room before the first block in use.
  set(planner "${folder}/xnnpack/src/memory-planner.c")
  wick_edit_source("${planner}" "  if (num_mem_blocks == 1) {\n    return live_mem_blocks[0].end;\n  }\n" "" one_block)
  wick_edit_source("${planner}" "  return live_mem_blocks[smallest_gap_index].end;\n"
    "  if (live_mem_blocks[0].start >= to_alloc_size && live_mem_blocks[0].start <= smallest_gap_size) return 0;\n  return live_mem_blocks[smallest_gap_index].end;\n"
    first_gap)
  # It also compared each value with all earlier ones through pointers, which takes a large part of the set-up of graphs
  # with thousands of values.
  wick_edit_source("${planner}" "  size_t mem_arena_size = 0;\n  for (size_t i = 0; i < num_values_to_alloc; ++i) {\n"
    "  struct wick_life { uint32_t first, last; }* lives = xnn_allocate_zero_memory(sizeof(struct wick_life) * num_values_to_alloc);\n  size_t mem_arena_size = 0;\n  for (size_t i = 0; i < num_values_to_alloc; ++i) {\n"
    lives)
  wick_edit_source("${planner}" "    struct xnn_usage_record* current = sorted_usage[i];\n    for (size_t j = 0; j < i; ++j) {\n      const struct xnn_usage_record* allocated = sorted_usage[j];\n      if (value_lifecycle_overlap(current, allocated)) {\n"
    "    struct xnn_usage_record* current = sorted_usage[i];\n    const struct wick_life life = {current->first_node, current->last_node};\n    lives[i] = life;\n    for (size_t j = 0; j < i; ++j) {\n      if (life.first <= lives[j].last && lives[j].first <= life.last) {\n        const struct xnn_usage_record* allocated = sorted_usage[j];\n"
    overlaps)
  wick_edit_source("${planner}" "  xnn_release_memory(sorted_usage);\n" "  xnn_release_memory(sorted_usage);\n  xnn_release_memory(lives);\n" released)
  # Wick's cache of packed weights returns zeroed memory, so clearing it again is needless.
  wick_edit_source("${folder}/xnnpack/src/operator-utils.c" "  memset(weights_ptr, padding_byte, aligned_weights_size);\n"
    "  if (padding_byte != 0 || !use_weights_cache(op)) memset(weights_ptr, padding_byte, aligned_weights_size);\n" zeroed)
  # A softmax with the flag 0x40000000 gives 0 for rows of -inf, as attention requires for masked rows.
  wick_edit_source("${folder}/xnnpack/src/xnnpack/compute.h" "struct floating_point_softmax_context {\n"
                   "struct floating_point_softmax_context {\n  bool zero_rows;\n" zero_rows)
  wick_edit_source("${folder}/xnnpack/src/operators/softmax-nc.c" "    .compute_reciprocal = compute_reciprocal,\n"
    "    .compute_reciprocal = compute_reciprocal,\n    .zero_rows = log2_element_size == XNN_LOG2_SIZEOF_FLOAT && (softmax_op->flags & 0x40000000) != 0,\n"
    zero_rows_wanted)
  wick_edit_source("${run}" "  context->rmax_ukernel(n, x, &x_max, &context->rmax_params);\n\n  // Second pass: reduce-add & store exp(x-x_max)\n"
    "  context->rmax_ukernel(n, x, &x_max, &context->rmax_params);\n  if (context->zero_rows && x_max.as_float == -INFINITY) {\n    memset(y, 0, n);\n    return;\n  }\n\n  // Second pass: reduce-add & store exp(x-x_max)\n"
    zero_rows_given)
  # Parameters of rows quantized at run time. If the smallest and the largest element of a row are opposite, the zero
  # point lies halfway between two integers. It must then be computed with the same operations as eager's: by division
  # and, with the flag 0x20000000, from the smallest element, as torchao does. The scale of such a row is eager's as
  # well. A row of zeros has eager's smallest scale, because matmuls with groups of weights round sums that should
  # cancel.
  set(quantization "${folder}/xnnpack/src/xnnpack/quantization.h")
  wick_edit_source("${quantization}" "xnn_qd8_asymmetric_quantization_params(\n    float min, float max)\n{\n  struct xnn_qd8_quantization_params quantization_params;\n"
    "xnn_qd8_asymmetric_quantization_params(\n    float min, float max, bool of_least)\n{\n  struct xnn_qd8_quantization_params quantization_params;\n"
    row_parameters)
  wick_edit_source("${quantization}" "  const float scale = rmin == rmax ? 1.f : (qmax - qmin) / (rmax - rmin);\n  const float descaled_min = rmin * scale;\n  const float descaled_max = rmax * scale;\n"
    "  float scale = (rmax - rmin) / (qmax - qmin);\n  if (scale == 0.f) scale = 1.f;\n  const float descaled_min = rmin / scale;\n  const float descaled_max = rmax / scale;\n"
    row_scale)
  wick_edit_source("${quantization}" "  zero_point = math_max_f32(zero_point, qmin);\n"
    "  if (of_least) zero_point = qmin - rintf(descaled_min);\n  zero_point = math_max_f32(zero_point, qmin);\n" row_zero)
  wick_edit_source("${quantization}" "    float min, float max)\n{\n  struct xnn_qd8_quantization_params params = xnn_qd8_asymmetric_quantization_params(min, max);\n  params.inv_scale = 1.f / params.inv_scale;\n  return params;\n"
    "    float min, float max, bool of_least)\n{\n  struct xnn_qd8_quantization_params params = xnn_qd8_asymmetric_quantization_params(min, max, of_least);\n  if (min == 0.f && max == 0.f) params.inv_scale = 0x1p-23f;\n  return params;\n"
    row_f32)
  wick_edit_source("${quantization}" "    xnn_float16 min, xnn_float16 max, xnn_float16* f16_scale)\n{\n  struct xnn_qd8_quantization_params params = xnn_qd8_asymmetric_quantization_params(xnn_float16_to_float(min), xnn_float16_to_float(max));\n  *f16_scale = xnn_float16_from_float(params.inv_scale);\n  params.inv_scale = 1.f / params.inv_scale;\n"
    "    xnn_float16 min, xnn_float16 max, xnn_float16* f16_scale, bool of_least)\n{\n  struct xnn_qd8_quantization_params params = xnn_qd8_asymmetric_quantization_params(xnn_float16_to_float(min), xnn_float16_to_float(max), of_least);\n  *f16_scale = xnn_float16_from_float(1.f / params.inv_scale);\n  if (xnn_float16_to_float(min) == 0.f && xnn_float16_to_float(max) == 0.f) params.inv_scale = 0x1p-23f;\n"
    row_f16)
  wick_edit_source("${run}" "xnn_f16_qd8_asymmetric_quantization_params(minmax[0], minmax[1], &f16_scale)" "xnn_f16_qd8_asymmetric_quantization_params(minmax[0], minmax[1], &f16_scale, context->of_least)" row_f16_run)
  wick_edit_source("${run}" "xnn_f32_qd8_asymmetric_quantization_params(minmax[0], minmax[1])" "xnn_f32_qd8_asymmetric_quantization_params(minmax[0], minmax[1], context->of_least)" row_f32_run)
  set(rows_made ON)
  foreach(type f16 f32)
    wick_edit_source("${folder}/xnnpack/src/xnnpack/compute.h" "struct ${type}_qd8_convert_context {\n" "struct ${type}_qd8_convert_context {\n  bool of_least;\n" declared)
    wick_edit_source("${folder}/xnnpack/src/operators/unary-elementwise-nc.c" "(struct ${type}_qd8_convert_context) {\n"
      "(struct ${type}_qd8_convert_context) {\n    .of_least = (convert_op->flags & 0x20000000) != 0,\n" set)
    if(NOT (declared AND set))
      set(rows_made OFF)
    endif()
  endforeach()
  # 4-bit weights in groups without AVX2: the sums of weights are aligned to 8 bytes, but the kernels load them as if
  # aligned to 16.
  file(GLOB kernels "${folder}/xnnpack/src/qd8-f32-qb4w-gemm/gen/*.c")
  set(misaligned 0)
  foreach(kernel ${kernels})
    wick_edit_source("${kernel}" "const __m128 vksum = _mm_load_ps(" "const __m128 vksum = _mm_loadu_ps(" unaligned)
    if(unaligned)
      math(EXPR misaligned "${misaligned} + 1")
    endif()
  endforeach()
  if(misaligned EQUAL 24 AND row_parameters AND row_scale AND row_zero AND row_f32 AND row_f16 AND row_f16_run AND row_f32_run AND rows_made
     AND zero_rows AND zero_rows_wanted AND zero_rows_given AND lone_loop AND never_waits AND lives AND overlaps AND released AND zeroed AND rows AND spin AND include AND columns AND one_block AND first_gap)
    set(${done} TRUE PARENT_SCOPE)
  endif()
endfunction()
