"""Map error numbers to names: include/uapi/asm-generic/errno.h and kernel-internal ones of include/linux/errno.h."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from events.format import ErrorForm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from events.format import EventFormat, Field

MAX_ERRNO: Final = 4095
"""Largest error number (include/linux/err.h)."""
_BASE = (
    "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST "
    "EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM "
    "ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP - ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG "
    "EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT - EBFONT ENOSTR ENODATA ETIME ENOSR ENONET "
    "ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG "
    "ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE "
    "EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE "
    "EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN "
    "ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL "
    "EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED EOWNERDEAD "
    "ENOTRECOVERABLE ERFKILL EHWPOISON"
)
_KERNEL = {
    512: "ERESTARTSYS",
    513: "ERESTARTNOINTR",
    514: "ERESTARTNOHAND",
    515: "ENOIOCTLCMD",
    516: "ERESTART_RESTARTBLOCK",
    517: "EPROBE_DEFER",
    518: "EOPENSTALE",
    519: "ENOPARAM",
    521: "EBADHANDLE",
    522: "ENOTSYNC",
    523: "EBADCOOKIE",
    524: "ENOTSUPP",
    525: "ETOOSMALL",
    526: "ESERVERFAULT",
    527: "EBADTYPE",
    528: "EJUKEBOX",
    529: "EIOCBQUEUED",
    530: "ERECALLCONFLICT",
    531: "ENOGRACE",
}
_NAMES = {number: name for number, name in enumerate(_BASE.split(), 1) if name != "-"} | _KERNEL
_NUMBERS = {f"-{name}": -number for number, name in _NAMES.items()}


def errno_name(value: int) -> str | None:
    """Return the name of a negative error number, `-EAGAIN` for -11; None: no error has this number."""
    name = _NAMES.get(-value)
    return f"-{name}" if name else None


def errno_of(name: str) -> int | None:
    """Return the negative number of an error name, -11 for `-EAGAIN`; None: there is no such error."""
    return _NUMBERS.get(name)


def returned_field(fmt: EventFormat) -> Field | None:
    """Return the field with the return value in which an error is looked for; None: the event has none."""
    return next((field for field in fmt.fields if field.errors is not ErrorForm.NONE), None)


def error_in(value: int, field: Field) -> int:
    """Return the negative error number in a number of a field; 0: it is none."""
    if field.errors is ErrorForm.NONE:
        return 0
    bits = 32 if field.errors is ErrorForm.REGISTER and value >> 31 == 1 else 8 * field.width
    number = value - (1 << bits) if value >> (bits - 1) == 1 else value
    return number if -MAX_ERRNO <= number < 0 else 0


def error_numbers(values: NDArray[Any], field: Field) -> NDArray[np.int64]:
    """Return the result of `error_in` for each number in a column of a field."""
    import numpy as np

    numbers = values.view(f"i{values.dtype.itemsize}").astype(np.int64)
    if field.errors is ErrorForm.REGISTER:
        numbers = np.where(numbers >> 31 == 1, numbers - (1 << 32), numbers)
    is_error = (numbers < 0) & (numbers >= -MAX_ERRNO) & (field.errors is not ErrorForm.NONE)
    return np.where(is_error, numbers, 0)


def errno_names() -> tuple[str, ...]:
    """Return all error names, without the minus."""
    return tuple(_NAMES.values())
