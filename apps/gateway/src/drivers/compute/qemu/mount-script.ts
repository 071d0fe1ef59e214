import type { VolumeMount } from '../port/volumes.ts'
import { shellQuote } from '../sandbox/enter-script.ts'

/** As many bytes of a disk that are all zero say that nobody has written to it. */
const BLANK_BYTES = 1_048_576

/**
 * What a guest does at each start with the disks that it has for volumes: finds each by its name, makes a file system on
 * one that nobody has written to, and mounts it. What holds anything is never written to: a disk that cannot be mounted is
 * told of and left as it is. One that the guest's own table has mounted stays so.
 */
export function mountScript(volumes: readonly VolumeMount[]): string {
  if (volumes.length === 0) return ''
  const calls = volumes.map(
    ({ id, path, read_only }) => `volume ${shellQuote(id)} ${shellQuote(path)} ${read_only ? 'ro' : 'rw'}\n`,
  )
  return `${FUNCTIONS}\n${calls.join('')}`
}

const FUNCTIONS = `
blank() {
  if command -v blkid > /dev/null; then
    blkid -p "$1" > /dev/null 2>&1
    [ $? = 2 ] && return 0
  fi
  [ -z "$(head -c ${BLANK_BYTES} "$1" | tr -d '\\0' | head -c 1)" ]
}
volume() {
  device=
  for block in /sys/block/*; do
    [ "$(cat "$block/serial" 2>/dev/null)" = "$1" ] && device=/dev/\${block##*/}
  done
  [ -n "$device" ] || { report "setup failed the disk for $2 is not there"; return; }
  grep -q " $2 " /proc/mounts && return
  mkdir -p "$2"
  mount -o "$3" "$device" "$2" 2>/dev/null && return
  blank "$device" || { report "setup failed the disk for $2 cannot be mounted, and was left as it is"; return; }
  said=$(PATH="$PATH:/usr/sbin:/sbin" mkfs.ext4 -q -F -m 0 "$device" 2>&1 && mount -o "$3" "$device" "$2" 2>&1) ||
    report "setup failed no file system could be made for $2: $(printf '%s' "$said" | tr '\\n' ' ' | cut -c 1-200)"
}`
