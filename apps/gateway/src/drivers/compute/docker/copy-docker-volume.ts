import { copiedBytes, copyScript } from '../copy-script.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { CopyOrder, VolumeUse } from '../port/volumes.ts'
import type { VolumeHelper } from './volume-helper.ts'

/** Whoever asks gives it up earlier. */
const COPY_TIMEOUT_MS = 86_400_000

/** What reads may see whatever it is, and what writes gives every file to whoever had it. */
const RIGHTS = ['DAC_READ_SEARCH', 'DAC_OVERRIDE', 'CHOWN', 'FOWNER', 'FSETID', 'MKNOD']

/** What copying needs of an engine's volumes. */
export interface DockerCopyDeps {
  run: VolumeHelper
  /** What a whole volume holds. */
  count(id: string): Promise<VolumeUse | null>
  isThere(id: string): Promise<boolean>
  /** Whether it is a copy that is not whole. */
  isPartial(id: string): Promise<boolean>
  /** Makes it anew, empty, and not whole from before it is there. */
  begin(id: string): Promise<void>
  /** From here on it is whole. */
  end(id: string): Promise<void>
  remove(id: string): Promise<void>
}

/**
 * Copies a volume beside the engine.
 * @throws ComputeError `not_found` or `failed`, or what dockerode throws.
 */
export async function copyDockerVolume(
  deps: DockerCopyDeps,
  { from, id, bytes_max }: CopyOrder,
  signal: AbortSignal,
): Promise<VolumeUse> {
  if ((await deps.isThere(id)) && !(await deps.isPartial(id))) {
    const use = await deps.count(id)
    if (!use) throw new ComputeError('failed', `what ${id} holds could not be counted`)
    return use
  }
  if (!(await deps.isThere(from)) || (await deps.isPartial(from))) {
    throw new ComputeError('not_found', `no volume ${from}`)
  }
  try {
    signal.throwIfAborted()
    await deps.begin(id)
    const { exitCode, output } = await deps.run({
      id,
      script: `cd /to || exit 1
${copyScript('/from', bytes_max)}`,
      mounts: [
        { volume: from, at: '/from', readOnly: true },
        { volume: id, at: '/to', readOnly: false },
      ],
      rights: RIGHTS,
      timeoutMs: COPY_TIMEOUT_MS,
      signal,
    })
    if (exitCode === null)
      throw new ComputeError('failed', 'the copy was given up, or needed too much memory')
    const used_bytes = copiedBytes(output)
    await deps.end(id)
    return { used_bytes }
  } catch (error) {
    // What cannot be removed now is by whoever copies to it next, or deletes it.
    await deps.remove(id).catch(() => undefined)
    throw signal.aborted ? new ComputeError('failed', 'the copy was given up', { cause: error }) : error
  }
}
