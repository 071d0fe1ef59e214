import type { Readable } from 'node:stream'
import type { CallData } from '@berth/contract/call'
import type { FileListing, planUpload, UploadState, uploadPiece } from '@berth/contract/files'
import { DOWNLOAD_TICKET_MS } from '@berth/contract/limits'
import type { Logger } from 'pino'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Instances } from '../../instances/instances.ts'
import type { MachineWays } from '../machine-ways.ts'
import type { Tickets } from '../tickets.ts'
import { MAKE_FOLDER_SCRIPT, REMOVE_SCRIPT, RENAME_SCRIPT } from './change-scripts.ts'
import { MachineGone } from './file-errors.ts'
import { FILE_LIMITS, type FileLimits } from './file-limits.ts'
import { nameOf, partOf } from './file-paths.ts'
import { type Download, type DownloadRange, openDownload } from './open-download.ts'
import { LIST_SCRIPT, PLAN_SCRIPT, readListing, readPlan } from './read-folder.ts'
import { askMachine, pathLine } from './run-script.ts'
import { createSlots, type FileSubject, type Slots } from './slots.ts'
import { type Piece, uploadPieceTo } from './upload-piece.ts'

/** A file of somebody's instance. */
export interface FileTarget extends FileSubject {
  path: string
}

/** A download that a ticket opened. */
export interface TakenDownload extends Download {
  name: string
}

/**
 * Files of customers' running instances, through whichever gateway reaches the machine. Each throws ApiError `not_found`
 * for what is not theirs, `instance_not_running`, `unavailable`, `transfer_limit`, and the code that says what the machine
 * found wrong.
 */
export interface Files {
  list(subject: FileSubject, page: { path?: string | undefined; from: number }): Promise<FileListing>
  plan(
    subject: FileSubject,
    files: { path: string; size: number; modified_at: number }[],
  ): Promise<CallData<typeof planUpload>>
  /** @param body Nothing of it was read. */
  upload(subject: FileSubject, piece: Piece, body: Readable): Promise<CallData<typeof uploadPiece>>
  makeFolder(target: FileTarget): Promise<void>
  rename(target: FileTarget, to: string): Promise<void>
  remove(target: FileTarget, withContent: boolean): Promise<void>
  /** A ticket for one download. */
  startDownload(target: FileTarget): Promise<{ ticket: string; name: string; expiresAt: Date }>
  /** Uses a ticket up, for the path that it is for. @throws ApiError `download_ticket_invalid`. */
  takeDownload(ticket: string, path: string, range: DownloadRange | null): Promise<TakenDownload>
  /** Begins to end what belongs to sessions that are no longer open. @returns The way to stop. */
  watch(): Promise<() => void>
  /** Ends every transfer; another gateway goes on where it was. */
  shutdown(): void
}

export interface FilesDeps {
  ways: Pick<MachineWays, 'run'>
  instances: Pick<Instances, 'findRunning'>
  identity: {
    isSessionOpen(sessionId: string): Promise<boolean>
    watchSessions(onChange: () => void): Promise<() => void>
  }
  tickets: Tickets
  /** Gigabytes of one file that is uploaded. */
  uploadGbMax: number
  log: Logger
  limits?: Partial<FileLimits> | undefined
}

const GB = 1_000_000_000

/** Makes the way to files. */
export function createFiles(deps: FilesDeps): Files {
  const { ways, instances, identity, tickets, log, uploadGbMax } = deps
  const limits = { ...FILE_LIMITS, ...deps.limits }
  const transfers = createSlots(limits.transfers)
  const questions = createSlots(limits.questions)
  /** Pieces that are under way, by the part that they go to. */
  const pieces = new Map<string, { abort: AbortController; over: Promise<void> }>()

  const runIn = (instanceId: string) => (options: Parameters<MachineWays['run']>[1]) =>
    ways.run(instanceId, options)

  /** Does something with a machine of the customer's own that runs, where there is room for one more. */
  async function during<T>(
    slots: Slots,
    subject: FileSubject,
    work: (stop: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { userId, instanceId } = subject
    await instances.findRunning(userId, instanceId)
    const slot = slots.take(subject)
    try {
      return await work(slot.signal)
    } catch (error) {
      throw await reasonOf(error, subject)
    } finally {
      slot.free()
    }
  }

  /** A machine that hung up has stopped, as far as is known of it; else it may be right in a moment. */
  async function reasonOf(error: unknown, { userId, instanceId }: FileSubject): Promise<unknown> {
    if (!(error instanceof MachineGone)) return error
    return instances.findRunning(userId, instanceId).then(
      () => new ApiError('unavailable', { cause: error }),
      (found: unknown) => found,
    )
  }

  function checkSize({ size }: { size: number }): void {
    if (size > uploadGbMax * GB) throw new ApiError('file_too_large', { values: { limit: uploadGbMax } })
  }

  const ask = (subject: FileSubject, script: string, input: string) =>
    during(questions, subject, () => askMachine(runIn(subject.instanceId), script, input, limits))

  /** Of two who send the same file, the one that came last does: the other one's connection may be dead. */
  async function alone<T>(
    key: string,
    stop: AbortSignal,
    work: (stop: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const before = pieces.get(key)
    before?.abort.abort(new ApiError('file_out_of_step'))
    const abort = new AbortController()
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const mine = { abort, over }
    pieces.set(key, mine)
    try {
      await before?.over
      return await work(AbortSignal.any([stop, abort.signal]))
    } finally {
      if (pieces.get(key) === mine) pieces.delete(key)
      resolve()
    }
  }

  async function checkSessions(): Promise<void> {
    for (const sessionId of new Set([...transfers.sessions(), ...questions.sessions()])) {
      if (await identity.isSessionOpen(sessionId)) continue
      for (const slots of [transfers, questions])
        slots.end('login_expired', one => one.sessionId === sessionId)
    }
  }

  return {
    async list(subject, { path, from }) {
      const { entriesMax } = limits
      const input = `${from}\n${entriesMax}\n${path === undefined ? '\n' : pathLine(path)}`
      return readListing(await ask(subject, LIST_SCRIPT, input), { from, entriesMax })
    },
    async plan(subject, files) {
      for (const file of files) checkSize(file)
      const input = files.map(file => pathLine(file.path) + pathLine(partOf(file))).join('')
      const states: UploadState[] = readPlan(await ask(subject, PLAN_SCRIPT, input), files)
      return { files: states }
    },
    async upload(subject, piece, body) {
      const end = piece.offset + piece.length
      const verifyFrom = piece.verify_from ?? piece.offset
      if (end > piece.size || piece.path === '/' || verifyFrom > piece.offset) {
        throw new ApiError('file_out_of_step')
      }
      checkSize(piece)
      const { instanceId } = subject
      await during(transfers, subject, stop =>
        alone(`${instanceId} ${partOf(piece)}`, stop, eitherStop =>
          uploadPieceTo(runIn(instanceId), body, piece, { idleMs: limits.idleMs, stop: eitherStop }),
        ),
      )
      return { have_bytes: end, is_done: end === piece.size }
    },
    async makeFolder({ path, ...subject }) {
      await ask(subject, MAKE_FOLDER_SCRIPT, pathLine(path))
    },
    async rename({ path, ...subject }, to) {
      if (path === '/') throw new ApiError('file_denied')
      await ask(subject, RENAME_SCRIPT, pathLine(path) + pathLine(to))
    },
    async remove({ path, ...subject }, withContent) {
      if (path === '/') throw new ApiError('file_denied')
      await ask(subject, REMOVE_SCRIPT, `${pathLine(path)}${withContent ? 1 : 0}\n`)
    },
    async startDownload({ path, userId, sessionId, instanceId }) {
      if (path === '/') throw new ApiError('file_denied')
      await instances.findRunning(userId, instanceId)
      const issued = await tickets.issue({ userId, sessionId, instanceId }, path, DOWNLOAD_TICKET_MS)
      return { ...issued, name: nameOf(path) }
    },
    async takeDownload(ticket, path, range) {
      const subject = await tickets.redeem(ticket, path)
      // A ticket is worth no more than the session that asked for it, which may have ended since.
      if (!subject || !(await identity.isSessionOpen(subject.sessionId))) {
        throw new ApiError('download_ticket_invalid')
      }
      const { userId, instanceId } = subject
      await instances.findRunning(userId, instanceId)
      const slot = transfers.take(subject)
      try {
        const { idleMs } = limits
        const { file, body } = await openDownload(runIn(instanceId), path, range, {
          idleMs,
          stop: slot.signal,
        })
        if (body.closed) slot.free()
        else body.once('close', slot.free)
        const name = nameOf(path)
        return { file, body, name: file ? name : `${name}.tar` }
      } catch (error) {
        slot.free()
        throw await reasonOf(error, subject)
      }
    },
    async watch() {
      const look = () =>
        void checkSessions().catch(error =>
          log.warn({ err: error }, 'sessions of transfers could not be checked'),
        )
      // A session that runs out is told by nobody.
      const care = setInterval(look, limits.sessionsMs).unref()
      const stop = await identity.watchSessions(look)
      return () => {
        clearInterval(care)
        stop()
      }
    },
    shutdown() {
      for (const slots of [transfers, questions]) slots.end('unavailable', () => true)
    },
  }
}
