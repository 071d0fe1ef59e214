import type { OuterS3Place } from '../../../platform/outer-s3/outer-s3.ts'
import type { Capability } from './capability.ts'
import type { Part } from './part.ts'

/**
 * Storage that outlives machines, each piece by an id of the caller's. A volume is attached by naming it in the spec of
 * a machine (`volumes`), and detached by a spec that does not name it: both when the machine starts next.
 */
export interface VolumeStore {
  /** Whether a volume that may grow holds no more than its size. */
  readonly size_limit: Capability

  /** Whether one of a fixed size does. */
  readonly fixed_size_limit: Capability

  /**
   * Whether several running machines may have a volume, all of them writing: what one has written the others read, and two
   * that write one file at once must agree among themselves. Else `start` fails with `failed` while another runs with it.
   */
  readonly sharing: Sharing

  /** Makes a volume. There already: it keeps what it holds. */
  make(volume: VolumeSpec): Promise<void>

  /** Makes room for more; one that is as large already stays as it is. Fails with `not_found`. */
  grow(volume: VolumeSpec): Promise<void>

  /** Removes a volume and what it holds. Absent: returns. Fails with `failed` while a machine has it attached. */
  delete(id: string): Promise<void>

  /**
   * How much a volume holds now; null where its files are too many to count in the time that a driver allows itself. Whoever
   * counts is no thread of the gateway's. Fails with `not_found`.
   */
  measure(id: string): Promise<VolumeUse | null>

  /**
   * Where what a volume holds lies as files on the gateway's own computer, for whoever serves them beside machines; or why
   * that is not to be had. Machines may change it at any moment, links in it included. Fails with `not_found`.
   */
  folder(id: string): Promise<Part<{ path: string }>>

  /**
   * Where what a volume holds are objects of an outer server that speaks S3: then no machine has one. Left out: they are files.
   */
  readonly objects?: VolumeObjects

  /** How a volume is made of another one; or why that is not to be had. */
  readonly copies: Part<VolumeCopies>

  /** Ids of every volume of this cloud on the engine. */
  list(): Promise<string[]>
}

export interface VolumeObjects {
  /** The bucket that is a volume, and the operator's key to it. Fails with `not_found`. */
  at(id: string): Promise<OuterS3Place & { bucket: string }>
}

/** Copies of volumes, which are volumes like any other. */
export interface VolumeCopies {
  /**
   * Makes a volume of all that another one holds now: files with their bytes, holes, owners, rights, times and names, links and
   * empty folders. Machines may go on with the other one: what they write meanwhile is in the copy or is not, each file for
   * itself. Until the copy is whole it is in `list` and can be deleted, and nothing else finds it. Whoever copies is no thread
   * of the gateway's, and ends with the gateway.
   * There already, and whole: it keeps what it holds. Given up or failed: nothing of it is left, or all of it is removed by the
   * next call for its id.
   * Fails with `not_found` where the other one is not there, and with `failed` where it holds too much, or while it is copied.
   * @param signal Gives it up.
   * @returns What the copy holds.
   */
  copy(order: CopyOrder, signal: AbortSignal): Promise<VolumeUse>
}

export interface CopyOrder {
  /** The volume that is copied. */
  from: string
  /** The one that is made. */
  id: string
  /** More than this is not copied. */
  bytes_max: number
}

/** What a volume holds. */
export interface VolumeUse {
  /** What it takes of its engine's disk: a file with holes takes as much as was written to it. */
  used_bytes: number
}

/** Whether several running machines may have one volume, or why not, in words for operators. */
export type Sharing = { offered: true } | { offered: false; why: string }

export interface VolumeSpec {
  /** `[a-z0-9-]`, at most 40 characters. */
  id: string
  /** Whose it is, as that of a machine: an engine may give it to that customer's machines alone. Left out: nobody says. */
  tenant?: string
  size_gb: number
  /** It is never grown, and one machine alone has it: an engine may hold it to its size by that. */
  fixed?: true
}

/** A volume as a machine sees it. */
export interface VolumeMount {
  id: string
  /** An absolute path; see `checkMounts` for which. */
  path: string
  read_only: boolean
  /** Of one that is this machine's alone: what it was given with it. A volume of several counts for nobody. */
  size_gb?: number
}
