/* Versions of the C library's functions that also older systems have (x86-64).
 *
 * glibc 2.32 and 2.34 moved these functions into libc.so and gave them new versions; a module that
 * is linked on a newer system would ask for those, though the old ones, which it still has, do the
 * same.  `make wheels` includes this file in front of every source, so that its wheels run where
 * glibc 2.17 or newer is.  A module that is built on the machine that it is for does not need it.
 */
#if defined(__x86_64__) && defined(__linux__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dlclose, dlclose@GLIBC_2.2.5");
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_detach, pthread_detach@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.2.5");
#endif
