import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { COMMAND_REPORT_BYTES_MAX, readCommandEnd } from '../port/command-end.ts'
import { readGuestTrouble, TROUBLE_BYTES_MAX, TROUBLE_OFFSET_BYTES } from '../port/guest-trouble.ts'
import type { CommandEnd, GuestTrouble, MachineStatus } from '../port/machines.ts'
import { isAlive } from './host-process.ts'
import { COMMAND_REPORT } from './launch.ts'
import type { MachineState, MachineStore } from './machine-store.ts'

/** Tells what machines are, from what is written down of them and what the kernel says of their first processes. */
export function createMachineStatus(store: MachineStore) {
  /** The machine's first process, and whether its command still waits; null when it does not run. */
  async function firstProcess(id: string) {
    const state = await store.readState(id)
    if (state?.phase !== 'running' || !isAlive(state.first_process)) return null
    const { first_process: process, started_at, waits = false } = state
    return { process, started_at: new Date(started_at), waits }
  }

  /** What an agent reported: the bytes of it from an offset on, and when; null where there is nothing. */
  async function reported(
    id: string,
    offset: number,
    bytesMax: number,
  ): Promise<{ text: string; at: Date } | null> {
    const path = join(store.paths(id).run, COMMAND_REPORT)
    // A machine writes to it, so it is never followed elsewhere, and never read further than a report is long.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => null)
    if (!file) return null
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytesMax), 0, bytesMax, offset)
      const { mtime } = await file.stat()
      return { text: buffer.toString('utf8', 0, bytesRead), at: mtime }
    } finally {
      await file.close()
    }
  }

  /** What an agent reported of its command's end, of a machine that started then. */
  async function commandEnd(id: string, started_at: Date): Promise<CommandEnd | null> {
    const report = await reported(id, 0, COMMAND_REPORT_BYTES_MAX)
    return report && readCommandEnd(report.text, { started_at, ended_at: report.at, now: new Date() })
  }

  /** What is amiss in a machine that boots a system of its own. */
  async function guestTrouble(id: string): Promise<GuestTrouble | null> {
    const report = await reported(id, TROUBLE_OFFSET_BYTES, TROUBLE_BYTES_MAX)
    return report && readGuestTrouble(report.text)
  }

  /** What is to be written down of a machine that ended by itself: whether that was since its command did. */
  async function ended(id: string): Promise<Extract<MachineState, { phase: 'stopped' }>> {
    const [record, state] = await Promise.all([store.readRecord(id), store.readState(id)])
    if (state?.phase === 'stopped') return state
    if (!state || !record?.spec.command || record.spec.on_command_end !== 'stop') return { phase: 'stopped' }
    const end = await commandEnd(id, new Date(state.started_at))
    return end ? { phase: 'stopped', cause: 'command_ended', exit_code: end.exit_code } : { phase: 'stopped' }
  }

  return {
    firstProcess,
    ended,
    /** What the machine is now. */
    async status(id: string): Promise<MachineStatus> {
      if (!MACHINE_ID_PATTERN.test(id)) return { state: 'absent' }
      const record = await store.readRecord(id)
      if (!record) {
        // Not gone before its folder is; a folder of which nobody began the removal is one half made.
        return (await store.traceOf(id)) === 'half_removed' ? { state: 'created' } : { state: 'absent' }
      }
      const running = await firstProcess(id)
      if (running) {
        const { started_at, waits } = running
        if (waits) return { state: 'running', started_at, waits }
        const guest_trouble = record.has_guest ? await guestTrouble(id) : null
        const runs = { state: 'running' as const, started_at, ...(guest_trouble && { guest_trouble }) }
        // One that ends with its command is about to.
        if (record.spec.on_command_end === 'stop' && record.spec.command) return runs
        // An image's own command ends unnoticed.
        const command_end = record.spec.command ? await commandEnd(id, started_at) : null
        return { ...runs, ...(command_end && { command_end }) }
      }
      if (!(await store.readState(id))) return { state: 'created' }
      const { cause, exit_code = null } = await ended(id)
      return { state: 'stopped', exit_code, ...(cause && { cause }) }
    },
  }
}
