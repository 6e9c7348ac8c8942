"""Hold the parts of the playbook that are equal for all probes: scripts for the remote host, and the tasks."""

LOOK = """\
uname -srm
for place in /sys/kernel/debug/tracing /sys/kernel/tracing; do
  if [ -w "$place/dynamic_events" ]; then echo tracefs; exit 0; fi
done
echo 'no tracefs that can be written: as root, mount -t tracefs nodev /sys/kernel/tracing' >&2
exit 3
"""
"""Script for the remote host that checks kernel and tracefs, and changes nothing."""

BEGIN = """\
# begin SCRIPT SECONDS BYTES: prints the folder, and ends when all is armed
umask 077
folder=/tmp/probewright-$$
mkdir "$folder" && cd "$folder" || exit 1
echo "$folder"
printf %s "$1" >script
(
  # The connection may be lost, or the file full: the clean-up runs in both cases.
  trap '' HUP XFSZ
  ulimit -f $(($3 / 512))
  sh -c 'echo $$ >pid; exec sh ./script "$1"' sh "$2" >out 2>err
  code=$?
  [ "$(wc -c <out)" -lt $(($3 / 512 * 512)) ] || echo "the events are cut off at probewright_most_bytes: $3" >>err
  echo "$code" >ended && mv ended status
  # Whoever does not come for it any more leaves nothing behind either.
  passed=0
  while [ -d "$folder" ] && [ "$passed" -lt 600 ]; do sleep 1; passed=$((passed + 1)); done
  rm -rf "$folder"
) </dev/null >/dev/null 2>&1 &
passed=0
until [ -e ready ] || [ -e status ]; do
  [ "$passed" -lt 120 ] || { echo 'not armed in two minutes' >&2; exit 1; }
  sleep 1
  passed=$((passed + 1))
done
if [ -e status ] && [ ! -e ready ]; then
  cat err >&2
  exit 1
fi
"""

WAIT = """\
# wait FOLDER: for a minute at most
passed=0
until [ -e "$1/status" ]; do
  [ "$passed" -lt 60 ] || exit 1
  sleep 1
  passed=$((passed + 1))
done
"""

FETCH = """\
# fetch FOLDER: as hexadecimal digits, which no terminal and no code page changes
cd "$1" || exit 1
if command -v gzip >/dev/null 2>&1; then gzip -c out; else cat out; fi | od -An -v -tx1
"""

END = """\
# end FOLDER: whatever has happened
cd "$1" 2>/dev/null || exit 0
[ -e status ] || kill -TERM "$(cat pid)" 2>/dev/null
passed=0
until [ -e status ]; do
  [ "$passed" -lt 60 ] || { echo "left behind: $1 is still at work"; exit 1; }
  sleep 1
  passed=$((passed + 1))
done
cat err
cd / && rm -rf "$1"
"""

UNPACK = """\
import gzip, io, os, sys
path, most = sys.argv[1], int(sys.argv[2])
data = bytes.fromhex(sys.stdin.read())
if data[:2] == b"\\x1f\\x8b":
    data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(most + 65536)
with open(path + ".part", "wb") as file:
    file.write(data)
os.replace(path + ".part", path)
"""
"""Python code for the controller, run by Ansible's own Python."""

TASKS = """\
- name: Record events of the kernel
  hosts: "{{ probewright_hosts | default('all') }}"
  gather_facts: false
  become: true
  vars:
@VALUES@
    probewright_folder: "{{ probewright_begun.stdout | default('') | regex_search('/tmp/probewright-[0-9]+') }}"
    probewright_file: "{{ inventory_hostname | regex_replace('[^A-Za-z0-9._-]+', '_') }}.txt"
  tasks:
    - name: The time and the size are numbers
      ansible.builtin.assert:
        that:
          - probewright_seconds | string is match('[1-9][0-9]*$')
          - probewright_most_bytes | string is match('[1-9][0-9]*$')
        fail_msg: "probewright_seconds and probewright_most_bytes are numbers, without a unit"
        quiet: true

    - name: Look at the kernel
      ansible.builtin.raw: sh -c {{ probewright_look | quote }}
      register: probewright_looked
      changed_when: false
      check_mode: false

    - name: It is the kernel that the probes are made for
      ansible.builtin.assert:
        that: >-
          probewright_any_kernel | bool
          or probewright_kernel in (probewright_looked.stdout_lines | map('trim'))
        fail_msg: >-
          {{ probewright_looked.stdout_lines | first | default('nothing') | trim }}: the probes are made for
          {{ probewright_kernel }}; export them for this kernel, or say -e probewright_any_kernel=true
        quiet: true

    - name: Record
      block:
        - name: Arm the probes
          ansible.builtin.raw: >-
            sh -c {{ probewright_begin | quote }} begin {{ probewright_script | quote }}
            {{ probewright_seconds | int }} {{ probewright_most_bytes | int }}
          register: probewright_begun

        - name: Wait until the time is over
          ansible.builtin.raw: sh -c {{ probewright_wait | quote }} wait {{ probewright_folder | quote }}
          register: probewright_waited
          changed_when: false
          until: probewright_waited.rc | default(0) == 0
          retries: "{{ probewright_seconds | int // 60 + 2 }}"
          delay: 1

        - name: Fetch the events
          ansible.builtin.raw: sh -c {{ probewright_fetch | quote }} fetch {{ probewright_folder | quote }}
          register: probewright_fetched
          changed_when: false

        - name: Make the folder on the controller
          ansible.builtin.file:
            path: "{{ probewright_into }}"
            state: directory
            mode: "0700"
          delegate_to: localhost
          become: false

        - name: Write the events on the controller
          ansible.builtin.command:
            argv:
              - "{{ ansible_playbook_python }}"
              - "-c"
              - "{{ probewright_unpack }}"
              - "{{ probewright_into }}/{{ probewright_file }}"
              - "{{ probewright_most_bytes | int }}"
            stdin: "{{ probewright_fetched.stdout | default('') }}"
          delegate_to: localhost
          become: false
          changed_when: true

      always:
        - name: Take the probes away
          ansible.builtin.raw: sh -c {{ probewright_end | quote }} end {{ probewright_folder | quote }}
          register: probewright_ended
          changed_when: false
          when: probewright_begun.stdout is defined and probewright_folder | default('', true) | length > 0

        - name: What was lost or left
          ansible.builtin.debug:
            msg: "{{ probewright_ended.stdout_lines }}"
          when: probewright_ended.stdout_lines | default([]) | length > 0
"""
