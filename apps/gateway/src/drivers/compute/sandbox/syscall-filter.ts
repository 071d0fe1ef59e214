import { constants } from 'node:os'
import { FilterProgram } from './filter-program.ts'

/**
 * Which calls to the kernel a machine may not make. A sandbox shares the kernel of its computer, so each part of it
 * that machines do not reach is a part whose faults are of no use to them. What is not named here is allowed, up to
 * the newest call that was looked at; what the kernel learned since is refused until somebody has looked.
 *
 * It stands behind the machine's lack of rights, not in place of it: most of what is refused asks for rights that
 * nobody in a machine has. docs/decisions/0032 says how the list came about.
 */

/** Numbers of one call, as x86-64 and arm64 know it; null where the processor's kernel has no such call. */
type Numbers = readonly [x64: number | null, arm64: number | null]

interface Group {
  why: string
  /** `EPERM` where programs are to see that they may not; `ENOSYS` where they have another way and look for it. */
  answer: 'EPERM' | 'ENOSYS'
  calls: Readonly<Record<string, Numbers>>
}

const same = (number: number): Numbers => [number, number]

export const REFUSED: readonly Group[] = [
  {
    why: 'They change what is mounted where, and parse file systems; a machine gets its view once, from outside.',
    answer: 'EPERM',
    calls: {
      mount: [165, 40],
      umount2: [166, 39],
      pivot_root: [155, 41],
      chroot: [161, 51],
      open_tree: same(428),
      move_mount: same(429),
      fsopen: same(430),
      fsconfig: same(431),
      fsmount: same(432),
      fspick: same(433),
      mount_setattr: same(442),
      sysfs: [139, null],
      ustat: [136, null],
    },
  },
  {
    why: 'With it a process enters other namespaces; nobody in a machine has any to enter.',
    answer: 'EPERM',
    calls: { setns: [308, 268] },
  },
  {
    why: 'Its flags lie in memory, where a filter cannot see them; C libraries then use clone, whose flags it sees.',
    answer: 'ENOSYS',
    calls: { clone3: same(435) },
  },
  {
    why: 'Work that the kernel does for a process past its own checks of calls, and a steady source of holes.',
    answer: 'ENOSYS',
    calls: { io_uring_setup: same(425), io_uring_enter: same(426), io_uring_register: same(427) },
  },
  {
    why: 'Keyrings are kept by user id and know nothing of namespaces.',
    answer: 'EPERM',
    calls: { add_key: [248, 217], request_key: [249, 218], keyctl: [250, 219] },
  },
  {
    why: 'Programs that run in the kernel, and measurements of it.',
    answer: 'EPERM',
    calls: { bpf: [321, 280], perf_event_open: [298, 241], lookup_dcookie: [212, 18] },
  },
  {
    why: 'With it a process stops the kernel in the middle of a copy for as long as it likes, which exploits are made of.',
    answer: 'EPERM',
    calls: { userfaultfd: [323, 282] },
  },
  {
    why: 'They load code into the kernel, or another one in its place.',
    answer: 'EPERM',
    calls: {
      init_module: [175, 105],
      finit_module: [313, 273],
      delete_module: [176, 106],
      create_module: [174, null],
      query_module: [178, null],
      get_kernel_syms: [177, null],
      kexec_load: [246, 104],
      kexec_file_load: [320, 294],
    },
  },
  {
    why: 'They concern the whole computer: its clock, name, swap, quotas, log, terminals and power.',
    answer: 'EPERM',
    calls: {
      reboot: [169, 142],
      settimeofday: [164, 170],
      clock_settime: [227, 112],
      sethostname: [170, 161],
      setdomainname: [171, 162],
      swapon: [167, 224],
      swapoff: [168, 225],
      acct: [163, 89],
      quotactl: [179, 60],
      quotactl_fd: same(443),
      syslog: [103, 116],
      vhangup: [153, 58],
    },
  },
  {
    why: 'They speak to devices past their drivers.',
    answer: 'EPERM',
    calls: { iopl: [172, null], ioperm: [173, null] },
  },
  {
    why: 'Files by number in place of a name lie outside of every view, and events of a whole mount do, too.',
    answer: 'EPERM',
    calls: { open_by_handle_at: [304, 265], fanotify_init: [300, 262] },
  },
  {
    why: 'They reach into other processes: the agent’s open files, memory on other nodes, where the kernel keeps things.',
    answer: 'EPERM',
    calls: { pidfd_getfd: same(438), kcmp: [312, 272], move_pages: [279, 239], migrate_pages: [256, 238] },
  },
  {
    why: 'Left over from old kernels; no program of today asks for them.',
    answer: 'ENOSYS',
    calls: { uselib: [134, null], _sysctl: [156, null], nfsservctl: [180, 42] },
  },
]

/** The newest call that was looked at (`mseal`, Linux 6.10); from 424 on all processors count alike. */
const NEWEST_KNOWN = 462

/** Calls of which some uses are refused. */
const CLONE: Numbers = [56, 220]
const UNSHARE: Numbers = [272, 97]
const IOCTL: Numbers = [16, 29]
const SOCKET: Numbers = [41, 198]
const PERSONALITY: Numbers = [135, 92]

/** Mount, control group, name, IPC, user, process and network namespaces. */
const NEW_NAMESPACES =
  0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
/** A time namespace; to `clone` this bit is part of a signal. */
const NEW_TIME = 0x80

/** Types a character into the terminal of whoever looks, and the same by the text console. */
const TIOCSTI = 0x5412
const TIOCLINUX = 0x541c

const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10
const AF_NETLINK = 16
const NETLINK_ROUTE = 0

/** The plain one and those that `setarch` and `linux32` ask for; others weaken the layout of memory. */
const PERSONALITIES = [0, 0x8, 0x20000, 0x20008, 0xffffffff]

/** How the kernel names the processor and calls made by the rules of another one (AUDIT_ARCH_*). */
const PROCESSORS = { x64: 0xc000003e, arm64: 0xc00000b7 } as const

/** On x86-64, calls by the rules of x32 have this bit; almost no kernel has any use for them. */
const X32_BIT = 0x40000000

/**
 * The filter as the kernel takes it.
 * @param processor As Node names it. Null is returned for one whose numbers are not known.
 */
export function assembleFilter(processor: string): Buffer | null {
  if (processor !== 'x64' && processor !== 'arm64') return null
  const of = (numbers: Numbers) => numbers[processor === 'x64' ? 0 : 1]
  const { EPERM, ENOSYS, EAFNOSUPPORT } = constants.errno
  const program = new FilterProgram()

  // A program of another processor would pass by all numbers below.
  program.loadProcessor().unlessEqual(PROCESSORS[processor], filter => filter.kill())
  program.loadCall()
  if (processor === 'x64') program.ifAtLeast(X32_BIT, filter => filter.refuse(ENOSYS))
  program.ifAtLeast(NEWEST_KNOWN + 1, filter => filter.refuse(ENOSYS))

  for (const { answer, calls } of REFUSED) {
    for (const numbers of Object.values(calls)) {
      const number = of(numbers)
      if (number !== null) program.ifEqual(number, filter => filter.refuse(constants.errno[answer]))
    }
  }
  const when = (numbers: Numbers, then: (filter: FilterProgram) => void) => {
    const number = of(numbers)
    if (number !== null) program.ifEqual(number, filter => then(filter))
  }
  when(CLONE, filter =>
    filter
      .loadArgument(0)
      .ifAnyBit(NEW_NAMESPACES, on => on.refuse(EPERM))
      .allow(),
  )
  when(UNSHARE, filter =>
    filter
      .loadArgument(0)
      .ifAnyBit(NEW_NAMESPACES | NEW_TIME, on => on.refuse(EPERM))
      .allow(),
  )
  // The kernel looks at the lower half of the request alone, and so does this.
  when(IOCTL, filter => {
    filter.loadArgument(1)
    for (const request of [TIOCSTI, TIOCLINUX]) filter.ifEqual(request, on => on.refuse(EPERM))
    filter.allow()
  })
  when(SOCKET, filter => {
    filter.loadArgument(0)
    for (const family of [AF_UNIX, AF_INET, AF_INET6]) filter.ifEqual(family, on => on.allow())
    // Programs ask by it for the network's interfaces; its other protocols are for those who rule the network.
    filter.ifEqual(AF_NETLINK, on =>
      on
        .loadArgument(2)
        .ifEqual(NETLINK_ROUTE, route => route.allow())
        .refuse(EAFNOSUPPORT),
    )
    filter.refuse(EAFNOSUPPORT)
  })
  when(PERSONALITY, filter => {
    filter.loadArgument(0)
    for (const persona of PERSONALITIES) filter.ifEqual(persona, on => on.allow())
    filter.refuse(EPERM)
  })
  return program.allow().toBuffer()
}
