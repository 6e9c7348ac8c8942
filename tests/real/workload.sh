# Something of everything that the probes of test_values.py look at. busybox's sh, as root, ends by itself.
# What needs Python is left out where there is none.
cd /tmp || exit 1
printf 'first line\nsecond line\n' >values-a
printf 'caf\303\251 \377\376 tab\tquote" end' >values-b
dd if=/dev/zero of=values-zero bs=1000 count=3 2>/dev/null
dd if=values-zero of=/dev/null bs=700 2>/dev/null
cat values-a values-b /proc/version /proc/self/comm >/dev/null
head -c 64 /usr/bin/busybox >values-elf
cat /tmp /no/such/file 2>/dev/null
mkdir values-d values-d 2>/dev/null
mv values-a values-d/renamed
ln -s renamed values-d/link
cat values-d/link >/dev/null
readlink /proc/self/exe >/dev/null
rm -r values-d values-zero values-b values-elf
rmdir /tmp/values-none 2>/dev/null
sleep 5 & kill -USR1 $! ; wait
sleep 0.1
nc -w 1 127.0.0.1 9 </dev/null 2>/dev/null
command -v python3 >/dev/null || exit 0
python3 -I -S - <<'PYTHON'
import mmap, os, socket
with open("/proc/self/comm", "w") as file:
    file.write("two words-7 [001]")
one, other = socket.socketpair()
one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
one.send(b"x" * 40)
other.recv(100)
datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagram.bind(("127.0.0.1", 0))
datagram.sendto(b"hello\r\nthere", datagram.getsockname())
area = mmap.mmap(-1, 8192)
area[4096] = 1
for flags, fd in ((os.O_RDONLY, -1), (os.O_WRONLY | os.O_CREAT | os.O_EXCL, 3)):
    try:
        os.open("/tmp" if fd == -1 else "/tmp", flags)
    except OSError:
        pass
try:
    os.read(os.open("/tmp", os.O_RDONLY), 10)
except IsADirectoryError:
    pass
PYTHON
