"""deny_executable_memory(): no mapping of this process becomes executable (Linux, x86-64)."""

import ctypes
import struct

MMAP, MPROTECT, PROT_EXEC = 9, 10, 4
EPERM = 1


def deny_executable_memory():
    # A seccomp filter: classic BPF over (number, architecture, instruction pointer, arguments).
    load, jump_equal, jump_set, give = 0x20, 0x15, 0x45, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | EPERM
    program = [
        (load, 0, 0, 0),  # the call's number
        (jump_equal, 1, 0, MMAP),
        (jump_equal, 0, 3, MPROTECT),
        (load, 0, 0, 16 + 8 * 2),  # low half of the third argument
        (jump_set, 0, 1, PROT_EXEC),
        (give, 0, 0, refuse),
        (give, 0, 0, allow),
    ]
    code = b"".join(struct.pack("HBBI", *row) for row in program)
    text = ctypes.create_string_buffer(code)
    filter_ = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", len(program), ctypes.addressof(text))
    )
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")
    if libc.prctl(set_seccomp, filter_mode, filter_, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")
