// Part of Wick's build of XNNPACK, included in pthreadpool's pthreads.c; edits.cmake puts it there.
//
// In the original, a parallel loop waits while another caller's loop uses the pool. Here it then runs on the calling
// thread, as if there were no pool, so that independent models do not wait for each other. The results do not depend on
// the thread that computes an element.

#define WICK_CACHE_LINE_BITS (8 * 64)

// The arguments of pthreadpool_parallelize.
static void wick_parallelize_alone(thread_function_t thread_function, const void* params, size_t params_size,
                                   void* task, void* context, size_t linear_range, uint32_t flags) {
  // A pool of one thread, as the functions of loops expect it.
  const size_t size = sizeof(struct pthreadpool) + sizeof(struct thread_info);
  struct pthreadpool* alone = __builtin_alloca_with_align(size, WICK_CACHE_LINE_BITS);
  memset(alone, 0, size);
  pthreadpool_store_relaxed_void_p(&alone->task, task);
  pthreadpool_store_relaxed_void_p(&alone->argument, context);
  pthreadpool_store_relaxed_uint32_t(&alone->flags, flags);
  if (params_size != 0) {
    memcpy(&alone->params, params, params_size);
  }
  alone->threads_count = fxdiv_init_size_t(1);
  struct thread_info* thread = &alone->threads[0];
  thread->threadpool = alone;
  pthreadpool_store_relaxed_size_t(&thread->range_end, linear_range);
  pthreadpool_store_relaxed_size_t(&thread->range_length, linear_range);

  struct fpu_state saved_fpu_state = {0};
  if (flags & PTHREADPOOL_FLAG_DISABLE_DENORMALS) {
    saved_fpu_state = get_fpu_state();
    disable_fpu_denormals();
  }
  thread_function(alone, thread);
  if (flags & PTHREADPOOL_FLAG_DISABLE_DENORMALS) {
    set_fpu_state(saved_fpu_state);
  }
}
