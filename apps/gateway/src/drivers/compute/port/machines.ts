import type { ImageRecipe } from './images.ts'
import type { VolumeMount } from './volumes.ts'

/** Making and ending machines. A restart is a stop, a start and a beginning: nothing of it is the engine's own. */
export interface Machines {
  /**
   * Makes the machine without starting it. One of that id that exists and does not run keeps what it stored and
   * the image that it was made from, and takes on everything else of the spec: processors, memory, GPUs, ports,
   * volumes, environment, command and hostname. One that runs is left as it is. Cut short, it leaves a machine that has all
   * that it stored, and the next call goes on.
   */
  create(spec: MachineSpec, signal: AbortSignal): Promise<void>

  /**
   * Whether a machine that was started runs nothing of its customer's before `begin`. Where it does not wait, what its
   * customer left in it runs from `start` on.
   */
  readonly wait_to_begin: boolean

  /** Starts a created or stopped machine and returns when its first process runs. Started already: returns. */
  start(id: string, signal: AbortSignal): Promise<void>

  /**
   * Returns when a machine that was started answers: by the word of what its customer can neither change nor hold up.
   * Fails with `not_found` or `not_running`.
   */
  probe(id: string, signal: AbortSignal): Promise<void>

  /** Lets a machine that waits run its command. Begun already: returns. Fails with `not_found` or `not_running`. */
  begin(id: string, signal: AbortSignal): Promise<void>

  /**
   * Stops every process of the machine; its home stays. Stopped already, or absent: returns.
   * @param options.at_once They are not asked first: nothing in there has begun, or nobody wants its end in good order.
   */
  stop(id: string, signal: AbortSignal, options?: { at_once?: boolean }): Promise<void>

  /** Removes the machine and all that it stored. Absent: returns. */
  remove(id: string, signal: AbortSignal): Promise<void>

  /** Every machine of this cloud on the engine, for the orphan sweep. */
  list(): Promise<MachineListing[]>
}

export interface MachineSpec {
  /** The instance id: `[a-z0-9-]`, at most 40 characters. */
  id: string
  hostname: string
  /**
   * Whose it is, by an id that says nothing else: an engine may keep what is one customer's apart from all others. What it was
   * first made with stays. Left out: nobody says.
   */
  tenant?: string
  image: ImageRecipe
  cpu_count: number
  memory_mb: number
  disk_gb: number
  /** Real GPUs to pass in, by uuid; empty for none or simulated. */
  gpu_uuids: string[]
  env: Record<string, string>
  /** Replaces the image's own command; null keeps it (the machine then idles until it is used). */
  command: string[] | null
  /** What happens when that command ends; left out for `keep`. An image's own command ends unnoticed. */
  on_command_end?: CommandEndRule
  /** Ports that the customer asked to reach; a driver that must publish ports beforehand publishes these. */
  ports: number[]
  /** UDP ports likewise; left out for none. */
  udp_ports?: number[]
  /**
   * Public keys of SSH, in OpenSSH's form of one line, which the user that an image logs people in as lets in from its
   * first start on; left out for none. Machines that boot no system of their own have no use for them.
   */
  ssh_keys?: string[]
  /**
   * How such a machine's SSH server is come in by: the key that lets in as root, in the form of `ssh_keys`, with its private
   * half, and the server's own key, both from the machine's first start on. Left out for none.
   */
  ssh_access?: { key: string; private_key: string; host_key: { private: string; public: string } }
  /** Volumes to attach; left out for none. Fails with `not_found` at start or before where one is not there. */
  volumes?: VolumeMount[]
}

/**
 * What happens when a machine's command has ended: the machine goes on, with its shells; the command is run again, after
 * a pause that doubles from one second to a minute and begins anew once it has run for a minute; or the machine ends.
 */
export type CommandEndRule = 'keep' | 'restart' | 'stop'

/** The last end of a command since its machine started. It is the machine's own word: who lies harms nobody else. */
export interface CommandEnd {
  /** As shells say it: 127 where there is no such program, 126 where it cannot be run, 128 and more for a signal. */
  exit_code: number
  ended_at: Date
  /** How many times it has ended. */
  count: number
  /** When it is run again, or was; null where it is not. */
  again_at: Date | null
}

/**
 * What is amiss in a machine that boots a system of its own, by its own word or for lack of any: it has shown no sign of
 * life since it was let begin, or what prepares it for its customer failed.
 */
export interface GuestTrouble {
  code: 'guest_silent' | 'guest_unprepared'
  /** What it says itself, in one line without controls. */
  detail: string
}

/**
 * A machine runs on a computer that is being taken out of service, where its engine has several: it runs on until that ends it.
 * `movable`: started anew, it comes up on another one with all that it has stored, if there is room. `fixed`: what it has stored
 * lies on that one alone, or no other one takes it.
 */
export type HostDrain = 'movable' | 'fixed'

export type MachineStatus =
  | { state: 'absent' }
  | { state: 'created' }
  /** `waits`: it runs nothing of its customer's before `begin`. `command_end` is of a machine that went on all the same. */
  | {
      state: 'running'
      started_at: Date
      waits?: true
      command_end?: CommandEnd
      guest_trouble?: GuestTrouble
      host_drain?: HostDrain
    }
  /**
   * `cause` where that is known: the disk of its computer was nearly full, and it took most of that; or its command
   * ended, and it was to end with it; or its memory was used up; or its computer needed what it took, or was lost.
   */
  | { state: 'stopped'; exit_code: number | null; cause?: StopCause }

export type StopCause = 'disk_full' | 'command_ended' | 'out_of_memory' | 'evicted' | 'node_lost'

export interface MachineListing {
  id: string
  state: Exclude<MachineStatus['state'], 'absent'>
}
