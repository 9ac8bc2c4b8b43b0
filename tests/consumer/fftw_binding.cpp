// Proves that fftw_* in a program with Weft means FFTW, although MKL, which Weft links too, exports
// functions of the same names. The dynamic linker takes the first library that has the name, so it
// is enough to ask it which one that is.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

int main() {
  int failures = 0;
  for (const char* name : {"fftw_plan_many_dft", "fftw_execute_dft", "fftw_plan_guru64_dft",
                           "fftw_destroy_plan", "fftwf_plan_many_dft", "fftwf_execute_dft"}) {
    Dl_info where = {};
    void* function = dlsym(RTLD_DEFAULT, name);
    if (function == nullptr || dladdr(function, &where) == 0) {
      std::printf("%s: not found in this program\n", name);
      ++failures;
    } else if (std::strstr(where.dli_fname, "libfftw3") == nullptr) {
      std::printf("%s: bound to %s instead of FFTW\n", name, where.dli_fname);
      ++failures;
    }
  }
  return failures;
}
