import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One control group, by its folder in the kernel's file system. */
export interface ControlGroup {
  version: 1 | 2
  dir: string
}

/** In which groups the kernel counts what a machine uses; null where it counts that in none. */
export interface CountingGroups {
  cpu: ControlGroup | null
  memory: ControlGroup | null
}

/** Where control groups are mounted: version 1 by each controller's name. */
export interface GroupMounts {
  v1: Map<string, string>
  v2: string | null
}

/** Where control groups are mounted on this computer, both versions. */
export function groupMounts(): GroupMounts {
  const v1 = new Map<string, string>()
  let v2: string | null = null
  for (const line of readFileSync('/proc/self/mounts', 'utf8').split('\n')) {
    const [, at = '', type, flags = ''] = line.split(' ')
    if (type === 'cgroup2') v2 = at
    if (type === 'cgroup') for (const flag of flags.split(',')) v1.set(flag, at)
  }
  return { v1, v2 }
}

/**
 * The groups of a process that are called by a name, or lie in one that is.
 * @param membership What `/proc/PID/cgroup` says of the process.
 * @param name Part of the group's own name, such as a container's id: another process is in no group of that name.
 * @returns Null where the process is in no such group that can be seen from here.
 */
export function groupsNamed(membership: string, name: string, mounts: GroupMounts): CountingGroups | null {
  const paths = new Map<string, string>()
  for (const line of membership.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    const own = path === undefined ? null : upTo(path, name)
    if (controllers === undefined || own === null) continue
    for (const controller of controllers.split(',')) paths.set(controller, own)
  }
  const groupOf = (controller: string): ControlGroup | null => {
    const mount = mounts.v1.get(controller)
    const path = paths.get(controller)
    if (mount !== undefined) return path === undefined ? null : { version: 1, dir: join(mount, path) }
    const common = paths.get('')
    return mounts.v2 === null || common === undefined ? null : { version: 2, dir: join(mounts.v2, common) }
  }
  const groups = { cpu: groupOf('cpuacct'), memory: groupOf('memory') }
  return groups.cpu && groups.memory ? groups : null
}

/** A path as far as the group that is so called: a machine may have made more below it. */
function upTo(path: string, name: string): string | null {
  const parts = path.split('/')
  const at = parts.findIndex(part => part.includes(name))
  // Seen from another place in the tree, from which it cannot be reached.
  return at < 0 || parts.includes('..') ? null : parts.slice(0, at + 1).join('/')
}
