import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import type { Engine } from '../../../drivers/compute/port/engine.ts'
import type { PullProgress } from '../../../drivers/compute/port/images.ts'
import type { FoundImage } from '../../images/images.ts'
import { type InstanceRow, PROGRESS, type Progress } from '../rows.ts'
import { StepTimedOut, withDeadline } from './deadline.ts'
import type { Outcome, StepDeps } from './step-deps.ts'

/** Progress is written at most this often: a customer's eye wants no more, and the table has other work. */
const PROGRESS_WRITE_MS = 500
/** Share of a start's progress bar that the pull takes, in percent. */
const PULL_PERCENT = { from: PROGRESS.pulling.percent, to: 70 }

type PullDeps = Pick<StepDeps, 'clock' | 'images' | 'limits' | 'store' | 'transitions' | 'log'> & {
  engine: Engine
}

/**
 * Makes the image available, and notes the bytes on the row while that lasts. A pull whose bytes stand still is
 * given up.
 * @throws What the driver throws, StepTimedOut or StepSuperseded; ComputeError `registry_slow` when the time was over
 *   while bytes were still to come.
 */
export async function pullImage(deps: PullDeps, row: InstanceRow, superseded: AbortSignal): Outcome {
  const { engine, limits, transitions } = deps
  const graceMs = limits.abortGraceMs
  const { recipe, access, kept } = await imageOf(deps.images, row)
  const writer = progressWriter(deps, row)
  let latest: PullProgress | null = null
  const pullUnlessStalled = (superseded: AbortSignal) =>
    withDeadline({ deadlineMs: limits.pullStallMs, superseded, graceMs }, (signal, prolong) => {
      let bytes = -1
      const onProgress = (progress: PullProgress) => {
        if (progress.bytes_done > bytes) prolong()
        bytes = progress.bytes_done
        latest = progress
        writer.write(progress)
      }
      if (kept) return deps.images.bring(kept, engine, onProgress, signal)
      return engine.images.pull(recipe, onProgress, signal, access)
    })
  const deadlineMs = limits.statusMs.pulling ?? limits.pullStallMs
  try {
    await withDeadline({ deadlineMs, superseded, graceMs }, pullUnlessStalled)
  } catch (cause) {
    // Engines that pull by themselves wait for as long as a registry likes.
    if (!(cause instanceof StepTimedOut) || !isUnderWay(latest)) throw cause
    throw new ComputeError('registry_slow', `the image does not come: ${cause.message}`, { cause })
  } finally {
    await writer.close()
  }
  return transitions.booting(row)
}

/**
 * How an image is made, and what its pull may show to its registry.
 * @throws ComputeError `image_unavailable` when the catalogue has dropped it.
 */
export async function imageOf(images: StepDeps['images'], row: InstanceRow): Promise<FoundImage> {
  try {
    return await images.ofInstance(row)
  } catch (cause) {
    throw new ComputeError('image_unavailable', `${row.imageId} is not offered any more`, { cause })
  }
}

/** Writes the newest progress, one write at a time and not too often. */
function progressWriter({ clock, store, log }: PullDeps, row: InstanceRow) {
  let last = 0
  let busy: Promise<unknown> = Promise.resolve()
  let writing = false
  let closed = false
  return {
    write(progress: PullProgress): void {
      const now = clock.now().getTime()
      if (writing || closed || now - last < PROGRESS_WRITE_MS) return
      last = now
      writing = true
      busy = store
        .note(row, { progress: shown(progress) })
        .catch(error => log.debug({ err: error, instance: row.id }, 'progress was not written'))
        .finally(() => {
          writing = false
        })
    },
    /** Waits for the write under way, so that it does not come after what follows. */
    async close(): Promise<void> {
      closed = true
      await busy
    },
  }
}

/** Whether bytes came, and more are to come. */
function isUnderWay(progress: PullProgress | null): boolean {
  return progress !== null && (progress.bytes_total === null || progress.bytes_done < progress.bytes_total)
}

function shown({ bytes_done, bytes_total }: PullProgress): Progress {
  const share = bytes_total ? Math.min(1, bytes_done / bytes_total) : 0
  const percent = Math.round(PULL_PERCENT.from + share * (PULL_PERCENT.to - PULL_PERCENT.from))
  return { step: 'pulling', percent, bytes_done, bytes_total }
}
