import { ComputeError } from './compute-error.ts'

/**
 * Waits for an engine or a store, but not for ever. What it does goes on, and is done once more.
 * @param patienceMs How long.
 * @throws ComputeError `failed` when that is over.
 */
export async function answerInTime<T>(asking: Promise<T>, patienceMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new ComputeError('failed', `no answer within ${patienceMs} ms`)),
      patienceMs,
    )
  })
  try {
    return await Promise.race([asking, late])
  } finally {
    clearTimeout(timer)
  }
}
