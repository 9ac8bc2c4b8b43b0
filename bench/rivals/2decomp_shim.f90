! 2DECOMP&FFT as four C functions, for 2decomp.cpp. Its x axis is the contiguous one; slabs along z become slabs along y.
module twodecomp_shim
   use, intrinsic :: iso_c_binding
   use decomp_2d
   use decomp_2d_constants
   use decomp_2d_fft
   implicit none
   private

   real(mytype), allocatable, target, save :: real_input(:, :, :)
   complex(mytype), allocatable, target, save :: input(:, :, :), output(:, :, :)
   logical, save :: is_real

contains

   ! Bytes of a real number: the library is compiled for one precision.
   integer(c_int) function twodecomp_scalar_bytes() bind(C)
      twodecomp_scalar_bytes = storage_size(0._mytype)/8
   end function

   subroutine twodecomp_make(nx, ny, nz, ranks, real_transform, first_input, input_elements, first_output) bind(C)
      integer(c_int), value :: nx, ny, nz, ranks, real_transform
      type(c_ptr), intent(out) :: first_input, first_output
      integer(c_int64_t), intent(out) :: input_elements
      type(decomp_info), pointer :: physical, spectral
      integer :: rows, columns

      rows = 1
      columns = ranks
      is_real = real_transform /= 0
      decomp_log = D2D_LOG_QUIET  ! else it leaves a file in the working folder
      call decomp_2d_init(nx, ny, nz, rows, columns, complex_pool=.not. is_real)
      call decomp_2d_fft_init(PHYSICAL_IN_X)
      physical => decomp_2d_fft_get_ph()
      spectral => decomp_2d_fft_get_sp()
      input_elements = product(int(physical%xsz, c_int64_t))
      if (is_real) then
         call alloc_x(real_input, physical)
         call alloc_z(output, spectral)
         real_input = 0
         first_input = c_loc(real_input)
      else
         call alloc_x(input, physical)
         call alloc_z(output, physical)
         input = 0
         first_input = c_loc(input)
      end if
      output = 0
      first_output = c_loc(output)
   end subroutine

   subroutine twodecomp_forward() bind(C)
      if (is_real) then
         call decomp_2d_fft_3d(real_input, output)
      else
         call decomp_2d_fft_3d(input, output, DECOMP_2D_FFT_FORWARD)
      end if
   end subroutine

   subroutine twodecomp_backward() bind(C)
      if (is_real) then
         call decomp_2d_fft_3d(output, real_input)
      else
         call decomp_2d_fft_3d(output, input, DECOMP_2D_FFT_BACKWARD)
      end if
   end subroutine

   subroutine twodecomp_free() bind(C)
      call decomp_2d_fft_finalize
      call decomp_2d_finalize
   end subroutine

end module
