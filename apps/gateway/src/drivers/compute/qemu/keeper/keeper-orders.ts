import type { CommandEndRule } from '../../port/machines.ts'

/** Open files of the hypervisor, each one end of a socket whose other end the keeper has. */
export const HYPERVISOR_FDS = { monitor: 3, serial: 4, guest_agent: 5, report: 6 } as const

/** Names of the ports by which a guest finds who speaks with it. */
export const GUEST_AGENT_PORT = 'org.qemu.guest_agent.0'
/** The port of the guest's agent, in the hypervisor's own words. */
export const GUEST_AGENT_DEVICE = 'guest-agent-port'
export const REPORT_PORT = 'berth.report.0'

/** Where it stands how the guest's SSH server is come in by (`GuestAccess`), if the machine was made with that. */
export const GUEST_ACCESS_FILE = '/vm/access.json'

/** The network card's name in the hypervisor. */
export const NETWORK = 'net0'

/** What the keeper of a virtual machine is told, as its one argument, in JSON. Paths are as it sees them. */
export interface KeeperOrders {
  /** The hypervisor with all its arguments. */
  hypervisor: string[]
  /** What makes and changes disks. */
  disk_tool: string
  disk: { path: string; bytes: number; base: { path: string; format: 'raw' | 'qcow2' } }
  on_command_end: CommandEndRule
  /** How long a guest may be silent once it runs before that is said, in ms. */
  silentMs: number
}
